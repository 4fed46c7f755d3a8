//! What stands in the certificates of a local authority.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType, SerialNumber,
};
use restante_model::Timestamp;
use rustls::pki_types::ServerName;
use time::OffsetDateTime;

use super::DAY;

/// How long an authority is good for: whoever trusts it does so by hand.
pub(super) const AUTHORITY_DAYS: u32 = 3650;
/// How long a server's certificate is good for: some clients refuse more than 397 days, the hour before its making
/// included.
pub(super) const SERVER_DAYS: u32 = 396;
/// Certificates begin a little before they are made, for clients whose clocks are behind.
const BACKDATED: Duration = Duration::from_hours(1);
/// The first words of the authority's name. They are in every certificate that has been handed out: they never change.
const AUTHORITY_NAME: &str = "restante local authority";

/// The authority's certificate. It has the same name for the same key, so that what the key signs belongs to each.
pub(super) fn authority(key: &KeyPair, now: Timestamp) -> CertificateParams {
    let mut params = params(now, AUTHORITY_DAYS);
    // One key may have several certificates; no two of one authority may have the same number (RFC 5280, 4.1.2.2).
    params.serial_number = Some(SerialNumber::from(now.unix_ms()));
    let mark = params.key_identifier(key)[..4]
        .iter()
        .fold(0, |mark: u32, byte| (mark << 8) | u32::from(*byte));
    let name = format!("{AUTHORITY_NAME} {mark:08x}");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

/// The server's certificate, for these names.
pub(super) fn server(names: &[ServerName<'_>], now: Timestamp) -> CertificateParams {
    let mut params = params(now, SERVER_DAYS);
    params.distinguished_name.push(DnType::CommonName, "restante");
    params.subject_alt_names = names.iter().filter_map(alternative_name).collect();
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    params
}

fn params(now: Timestamp, days: u32) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.not_before = date(now) - BACKDATED;
    params.not_after = date(now.after(DAY * days));
    params
}

fn date(moment: Timestamp) -> OffsetDateTime {
    let seconds = i64::try_from(moment.unix_secs()).expect("a Timestamp is at most the year 9999");
    OffsetDateTime::from_unix_timestamp(seconds).expect("a Timestamp is at most the year 9999")
}

fn alternative_name(name: &ServerName<'_>) -> Option<SanType> {
    match name {
        ServerName::DnsName(name) => Some(SanType::DnsName(name.as_ref().try_into().ok()?)),
        ServerName::IpAddress(address) => Some(SanType::IpAddress((*address).into())),
        _ => None,
    }
}
