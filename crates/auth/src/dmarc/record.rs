//! A DMARC record (RFC 9989 section 4.7): a tag with a flaw is as good as none, and leaves the others alone.

use restante_model::auth::DmarcPolicy;

/// How much of two domains must be the same (RFC 9989 section 3.2.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// The organisational domain.
    Relaxed,
    /// All of them.
    Strict,
}

/// What a domain says with `psd=` of its place in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// `y`: others register names below it.
    PublicSuffix,
    /// `n`: an organisation.
    Organisation,
    /// `u`, and the default.
    Unsaid,
}

/// What a domain asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    /// `p=`; none where neither that nor a wish for reports can be read, so that the record asks for nothing.
    policy: Option<DmarcPolicy>,
    subdomains: Option<DmarcPolicy>,
    missing: Option<DmarcPolicy>,
    is_test: bool,
    /// `aspf=`
    pub(super) spf: Mode,
    /// `adkim=`
    pub(super) dkim: Mode,
    /// `psd=`
    pub(super) place: Place,
}

/// Whom a policy is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// The domain that the record is at.
    Itself,
    /// A domain below it.
    Subdomain,
    /// A domain below it that does not exist.
    Missing,
}

impl Record {
    /// Reads a TXT record; none if it is not of this version of DMARC, which its first tag must say.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let tags = Tags(text);
        let (name, value) = tags.each().next()?;
        if !name.eq_ignore_ascii_case(b"v") || value != b"DMARC1" {
            return None;
        }
        let has_reports = tags.one("rua").is_some_and(names_a_mailbox);
        Some(Self {
            // Section 4.7: who wants reports and has no readable policy monitors.
            policy: tags.policy("p").or(has_reports.then_some(DmarcPolicy::None)),
            subdomains: tags.policy("sp"),
            missing: tags.policy("np"),
            is_test: tags.is("t", "y"),
            spf: tags.mode("aspf"),
            dkim: tags.mode("adkim"),
            place: match () {
                () if tags.is("psd", "y") => Place::PublicSuffix,
                () if tags.is("psd", "n") => Place::Organisation,
                () => Place::Unsaid,
            },
        })
    }

    /// The policy that holds; one step less while it is tried out (`t=y`).
    pub(super) fn policy_for(self, subject: Subject) -> Option<DmarcPolicy> {
        let own = self.policy?;
        let policy = match subject {
            Subject::Itself => own,
            Subject::Subdomain => self.subdomains.unwrap_or(own),
            Subject::Missing => self.missing.or(self.subdomains).unwrap_or(own),
        };
        Some(match policy {
            DmarcPolicy::Reject if self.is_test => DmarcPolicy::Quarantine,
            DmarcPolicy::Quarantine if self.is_test => DmarcPolicy::None,
            policy => policy,
        })
    }
}

/// The tags of a record.
struct Tags<'a>(&'a [u8]);

impl<'a> Tags<'a> {
    fn each(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        self.0.split(|&byte| byte == b';').filter_map(|tag| {
            let equals = tag.iter().position(|&byte| byte == b'=')?;
            Some((tag[..equals].trim_ascii(), tag[equals + 1..].trim_ascii()))
        })
    }

    /// The value of a tag that stands once: of two, nobody knows which is meant.
    fn one(&self, name: &str) -> Option<&'a [u8]> {
        let mut values = self.each().filter(|(tag, _)| tag.eq_ignore_ascii_case(name.as_bytes()));
        let (_, value) = values.next()?;
        values.next().is_none().then_some(value)
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.one(name)
            .is_some_and(|given| given.eq_ignore_ascii_case(value.as_bytes()))
    }

    fn policy(&self, name: &str) -> Option<DmarcPolicy> {
        match self.one(name)?.to_ascii_lowercase().as_slice() {
            b"none" => Some(DmarcPolicy::None),
            b"quarantine" => Some(DmarcPolicy::Quarantine),
            b"reject" => Some(DmarcPolicy::Reject),
            _ => None,
        }
    }

    fn mode(&self, name: &str) -> Mode {
        if self.is(name, "s") {
            Mode::Strict
        } else {
            Mode::Relaxed
        }
    }
}

/// Whether a list of addresses for reports has one that is well-formed.
fn names_a_mailbox(list: &[u8]) -> bool {
    let mut addresses = list.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    addresses.any(|address| {
        let (scheme, rest) = address.split_at(address.len().min(7));
        scheme.eq_ignore_ascii_case(b"mailto:") && rest.contains(&b'@')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_version_makes_a_record() {
        for record in [
            "v=DMARC1; p=none",
            "v = DMARC1 ; p=none",
            "v=DMARC1",
            "V=DMARC1; P=NONE",
        ] {
            assert!(Record::read(record.as_bytes()).is_some(), "{record}");
        }
        for record in [
            "v=DMARC2; p=none",
            "v=dmarc1; p=none",
            "p=none; v=DMARC1",
            "v=DMARC1 p=none",
            "v=spf1 -all",
            "",
        ] {
            assert!(Record::read(record.as_bytes()).is_none(), "{record}");
        }
    }

    #[test]
    fn a_flaw_in_a_tag_is_as_good_as_no_tag() {
        use DmarcPolicy::{None as Monitor, Quarantine, Reject};
        use Subject::{Itself, Missing, Subdomain};
        for (tags, subject, policy) in [
            ("p=reject", Itself, Some(Reject)),
            ("p=reject; adkim=x; fo=x; junk; rua=x; pct=0", Itself, Some(Reject)),
            ("p=reject; sp=bogus", Subdomain, Some(Reject)),
            ("p=reject; sp=quarantine", Itself, Some(Reject)),
            ("p=reject; sp=quarantine", Subdomain, Some(Quarantine)),
            ("p=reject; sp=quarantine", Missing, Some(Quarantine)),
            ("p=reject; sp=quarantine; np=none", Missing, Some(Monitor)),
            ("p=reject; t=y", Itself, Some(Quarantine)),
            ("p=quarantine; t=y", Itself, Some(Monitor)),
            ("p=foo; rua=mailto:a@x.test", Itself, Some(Monitor)),
            ("rua=MAILTO:a@x.test!10m", Itself, Some(Monitor)),
            ("p=none; p=reject", Itself, None),
            ("p=foo; rua=https://x.test", Itself, None),
            ("", Itself, None),
        ] {
            let record = Record::read(format!("v=DMARC1; {tags}").as_bytes()).expect("a record");
            assert_eq!(record.policy_for(subject), policy, "{tags} {subject:?}");
        }
    }
}
