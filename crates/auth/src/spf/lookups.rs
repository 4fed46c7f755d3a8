//! What an evaluation asks the DNS; a lookup that finds nothing is an empty answer here.

use std::net::IpAddr;

use mail_auth::hickory_resolver::proto::rr::{Name, RData, Record, RecordType};

use super::error::SpfError;
use super::record::is_spf;
use super::target::Target;
use crate::dns::{Dns, DnsFailure};

/// The texts of a name, the strings of each joined.
///
/// # Errors
/// Whatever the DNS answers instead, "there is none" included: some callers tell why.
pub(super) async fn texts(dns: &Dns, name: &Name) -> Result<Vec<Vec<u8>>, DnsFailure> {
    let records = records(dns, name, RecordType::TXT).await?;
    let texts = records.iter().filter_map(|record| match &record.data {
        RData::TXT(text) => Some(text.txt_data.concat()),
        _ => None,
    });
    Ok(texts.collect())
}

/// The one SPF record of a domain (RFC 7208 sections 4.4 and 4.5).
///
/// # Errors
/// [`SpfError::NoDomain`], [`SpfError::NoRecord`], [`SpfError::SeveralRecords`], [`SpfError::Dns`].
pub(super) async fn record_of(dns: &Dns, domain: &Target) -> Result<Vec<u8>, SpfError> {
    let mut texts = match texts(dns, domain.name()).await {
        Ok(texts) => texts,
        Err(DnsFailure::NoName) => return Err(SpfError::NoDomain(domain.shown())),
        Err(DnsFailure::NoRecord) => return Err(SpfError::NoRecord(domain.shown())),
        Err(failure) => {
            return Err(SpfError::Dns {
                what: "the SPF record",
                name: domain.shown(),
                failure,
            });
        }
    };
    texts.retain(|text| is_spf(text));
    let record = texts.pop().ok_or_else(|| SpfError::NoRecord(domain.shown()))?;
    if !texts.is_empty() {
        return Err(SpfError::SeveralRecords(domain.shown()));
    }
    Ok(record)
}

/// The addresses of a name; of IPv4 or IPv6 only.
pub(super) async fn addresses(dns: &Dns, name: &Name, kind: RecordType) -> Result<Vec<IpAddr>, DnsFailure> {
    let records = or_nothing(records(dns, name, kind).await)?;
    let addresses = records.iter().filter_map(|record| match &record.data {
        RData::A(address) => Some(IpAddr::V4(address.0)),
        RData::AAAA(address) => Some(IpAddr::V6(address.0)),
        _ => None,
    });
    Ok(addresses.collect())
}

/// The mail servers of a name, those that are preferred first.
pub(super) async fn mail_servers(dns: &Dns, name: &Name) -> Result<Vec<Name>, DnsFailure> {
    let records = or_nothing(records(dns, name, RecordType::MX).await)?;
    let servers = records.iter().filter_map(|record| match &record.data {
        RData::MX(server) => Some((server.preference, server.exchange.clone())),
        _ => None,
    });
    let mut servers: Vec<_> = servers.collect();
    servers.sort();
    Ok(servers.into_iter().map(|(_, name)| name).collect())
}

async fn records(dns: &Dns, name: &Name, kind: RecordType) -> Result<Vec<Record>, DnsFailure> {
    let lookup = dns.authenticator().resolver().lookup(name.clone(), kind).await?;
    Ok(lookup.answers().to_vec())
}

fn or_nothing(records: Result<Vec<Record>, DnsFailure>) -> Result<Vec<Record>, DnsFailure> {
    match records {
        Err(failure) if !failure.is_temporary() => Ok(Vec::new()),
        other => other,
    }
}
