//! The terms of an SPF record (RFC 7208 sections 5 and 6, with the grammar of section 12).

use restante_model::auth::SpfVerdict;

use super::macros::{DomainSpec, MacroString, Place};
use super::network::{Lengths, Network};

/// What stands between two spaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Term {
    /// A mechanism with its qualifier.
    Directive(Directive),
    /// `redirect=`: whose record applies if nothing matches.
    Redirect(DomainSpec),
    /// `exp=`: where the reason for a `fail` is.
    Explanation(DomainSpec),
    /// A modifier for others (RFC 7208 section 6).
    Unknown,
}

/// A mechanism, and the result if it matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Directive {
    /// What the qualifier stands for.
    pub(super) verdict: SpfVerdict,
    /// What is compared with the client.
    pub(super) mechanism: Mechanism,
}

/// What is compared with the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mechanism {
    /// `all`: every client.
    All,
    /// `include`: those that another record passes.
    Include(DomainSpec),
    /// `a`: those at the addresses of a name.
    Addresses(DomainSpec, Lengths),
    /// `mx`: those at the addresses of the mail servers of a name.
    MailServers(DomainSpec, Lengths),
    /// `ptr`: those with a name in a domain that points back.
    Names(DomainSpec),
    /// `ip4` and `ip6`: those in a network.
    Network(Network),
    /// `exists`: all, if a name has an address.
    Exists(DomainSpec),
}

impl Term {
    /// Reads a term; None if it is malformed.
    pub(super) fn parse(term: &str) -> Option<Self> {
        match term.split_once('=') {
            Some((name, value)) if is_modifier_name(name) => modifier(name, value),
            _ => directive(term).map(Self::Directive),
        }
    }
}

fn is_modifier_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn modifier(name: &str, value: &str) -> Option<Term> {
    match name.to_ascii_lowercase().as_str() {
        "redirect" => DomainSpec::parse(value).map(Term::Redirect),
        "exp" => DomainSpec::parse(value).map(Term::Explanation),
        _ => MacroString::parse(value, Place::Record).map(|_| Term::Unknown),
    }
}

fn directive(term: &str) -> Option<Directive> {
    let qualified = |qualifier| term.strip_prefix(qualifier);
    let (verdict, rest) = None
        .or_else(|| qualified('+').map(|rest| (SpfVerdict::Pass, rest)))
        .or_else(|| qualified('-').map(|rest| (SpfVerdict::Fail, rest)))
        .or_else(|| qualified('~').map(|rest| (SpfVerdict::Softfail, rest)))
        .or_else(|| qualified('?').map(|rest| (SpfVerdict::Neutral, rest)))
        .unwrap_or((SpfVerdict::Pass, term));
    let mechanism = mechanism(rest)?;
    Some(Directive { verdict, mechanism })
}

fn mechanism(text: &str) -> Option<Mechanism> {
    let end = text.find([':', '/']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    match name.to_ascii_lowercase().as_str() {
        "all" => rest.is_empty().then_some(Mechanism::All),
        "include" => required(rest).map(Mechanism::Include),
        "exists" => required(rest).map(Mechanism::Exists),
        "ptr" => optional(rest).map(Mechanism::Names),
        "a" => with_lengths(rest).map(|(domain, lengths)| Mechanism::Addresses(domain, lengths)),
        "mx" => with_lengths(rest).map(|(domain, lengths)| Mechanism::MailServers(domain, lengths)),
        "ip4" => Network::parse_v4(rest.strip_prefix(':')?).map(Mechanism::Network),
        "ip6" => Network::parse_v6(rest.strip_prefix(':')?).map(Mechanism::Network),
        _ => None,
    }
}

/// `":" domain-spec`.
fn required(rest: &str) -> Option<DomainSpec> {
    DomainSpec::parse(rest.strip_prefix(':')?)
}

/// `[ ":" domain-spec ]`.
fn optional(rest: &str) -> Option<DomainSpec> {
    if rest.is_empty() {
        return Some(DomainSpec::of_record());
    }
    required(rest)
}

/// `[ ":" domain-spec ] [ dual-cidr-length ]`.
fn with_lengths(rest: &str) -> Option<(DomainSpec, Lengths)> {
    let (rest, lengths) = Lengths::split_off(rest)?;
    Some((optional(rest)?, lengths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mechanisms_are_read() {
        for good in [
            "ip4:192.0.2.1",
            "-IP4:192.0.2.0/24",
            "ip6:2001:db8::/32",
            "~ip6:::1",
            "ip4:0.0.0.0/0",
            "a",
            "a/24",
            "A//64",
            "a:mail.example/24//64",
            "a:foo:8080/bar.example",
            "MX",
            "mx:%{d}/24",
            "ptr",
            "ptr:example.test",
            "?all",
            "include:%{d}.example",
            "include:%{l=}.example",
            "exists:%{ir}.example",
        ] {
            assert!(matches!(Term::parse(good), Some(Term::Directive(_))), "{good}");
        }
    }

    #[test]
    fn modifiers_that_are_not_known_are_for_others() {
        for unknown in [
            "unknown-modifier=a:b",
            "moo.cow-far_out=man:dog/cat",
            "ip4=192.0.2.10",
            "all=x",
            "a=",
            "include=example.test",
            "v=spf1",
        ] {
            assert_eq!(Term::parse(unknown), Some(Term::Unknown), "{unknown}");
        }
        assert!(matches!(Term::parse("REDIRECT=a.test"), Some(Term::Redirect(_))));
        assert!(matches!(Term::parse("Exp=a.test"), Some(Term::Explanation(_))));
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in [
            "ip4:192.0.2.999",
            "?ip4:2001:db8::1",
            "ip4",
            "ip6:",
            "include",
            "include:",
            "include:example.test/24",
            "exists",
            "exists:example.test/24",
            "a:",
            "a:museum",
            "a:example.test/33",
            "a:example.test/24/64",
            "a:example.test/24//",
            "a:example.test/",
            "a/",
            "ptr:",
            "ptr/24",
            "all:example",
            "all/8",
            "all.",
            "--all",
            "postcard:example",
            "=x",
            "-moo=x",
            "?redirect=a.test",
            "moo.cow/far_out=man:dog/cat",
            "moo=%{z}",
            "moo=\u{e9}",
            "redirect=",
            "redirect=a.test/24",
            "redirect:a.test",
            "exp=",
            "192.0.2.1",
            "-",
        ] {
            assert_eq!(Term::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_qualifier_says_what_a_match_means() {
        for (term, verdict) in [
            ("all", SpfVerdict::Pass),
            ("+all", SpfVerdict::Pass),
            ("-all", SpfVerdict::Fail),
            ("~all", SpfVerdict::Softfail),
            ("?all", SpfVerdict::Neutral),
        ] {
            let mechanism = Mechanism::All;
            assert_eq!(
                Term::parse(term),
                Some(Term::Directive(Directive { verdict, mechanism }))
            );
        }
    }
}
