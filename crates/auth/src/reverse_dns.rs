//! Reverse DNS with forward confirmation: `iprev` (RFC 8601 section 2.7.3).

use std::net::IpAddr;

use futures_util::future::join_all;
use restante_model::auth::{ReverseDnsResult, Verdict};

use crate::dns::{Dns, DnsFailure};
use crate::name::DomainName;

/// Names of an address that are tried; an address with more has something to hide (RFC 7208 section 5.5 has the same limit).
const MOST_NAMES: usize = 10;

/// Whether a name that `ip` points to points back to it.
pub(crate) async fn check(dns: &Dns, ip: IpAddr) -> ReverseDnsResult {
    let names = match dns.names_of(ip).await {
        Ok(names) => names,
        Err(failure) => return without_names(ip, &failure),
    };
    if names.is_empty() {
        return without_names(ip, &DnsFailure::NoRecord);
    }
    let tried = &names[..names.len().min(MOST_NAMES)];
    let answers = join_all(tried.iter().map(|name| dns.has_address(name, ip))).await;
    confirmed(ip, tried, &answers)
}

/// The result when time was up.
pub(crate) fn late(ip: IpAddr, why: &str) -> ReverseDnsResult {
    result(Verdict::None, ip, None, why.to_owned())
}

fn without_names(ip: IpAddr, failure: &DnsFailure) -> ReverseDnsResult {
    if failure.is_temporary() {
        result(
            Verdict::None,
            ip,
            None,
            format!("looking up the name of {ip}: {failure}"),
        )
    } else {
        result(Verdict::Fail, ip, None, format!("no PTR record for {ip}"))
    }
}

fn confirmed(ip: IpAddr, names: &[DomainName], answers: &[Result<bool, DnsFailure>]) -> ReverseDnsResult {
    let matching = answers.iter().position(|answer| answer == &Ok(true));
    if let Some(name) = matching.and_then(|index| names.get(index)) {
        return result(
            Verdict::Pass,
            ip,
            Some(name),
            format!("{ip} points to {name}, and {name} to {ip}"),
        );
    }
    let first = names.first();
    let trouble = names.iter().zip(answers).find_map(|(name, answer)| match answer {
        Err(failure) if failure.is_temporary() => Some(format!("looking up the address of {name}: {failure}")),
        _ => None,
    });
    match trouble {
        Some(trouble) => result(Verdict::None, ip, first, trouble),
        None => result(Verdict::Fail, ip, first, not_confirmed(ip, names)),
    }
}

fn not_confirmed(ip: IpAddr, names: &[DomainName]) -> String {
    match names {
        [name] => format!("{ip} points to {name}, but {name} does not point back to {ip}"),
        _ => format!("{ip} points to {} names, and none of them points back", names.len()),
    }
}

fn result(verdict: Verdict, ip: IpAddr, name: Option<&DomainName>, details: String) -> ReverseDnsResult {
    ReverseDnsResult {
        verified: None,
        result: verdict,
        ip: Some(ip.to_string()),
        hostname: name.map(ToString::to_string),
        details: Some(details),
    }
}
