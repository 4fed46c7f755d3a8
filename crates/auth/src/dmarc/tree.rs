//! The way from a domain up the tree of names, to its policy and its organisation (RFC 9989 section 4.10).

use super::record::{Place, Record};
use crate::dns::{Dns, DnsFailure};
use crate::name::DomainName;

/// Labels that are left when a long name has taken its first step: nobody makes a receiver ask a hundred times.
const LABELS_ABOVE: usize = 7;

/// The records on the way up.
pub(super) struct Walk {
    /// Each name that has exactly one record, from the lowest to the highest.
    found: Vec<(String, Record)>,
    /// The first trouble on the way, in words.
    pub(super) trouble: Option<String>,
}

impl Walk {
    /// Asks for the records of a domain and of those above it.
    ///
    /// Trouble above the domain does not end the walk, as the record of another name may be all that is needed.
    /// Trouble with its own record does, since nothing above can stand in for that, and so does a server that is
    /// silent: there is no time to find out where else it is.
    pub(super) async fn from(dns: &Dns, domain: &DomainName) -> Self {
        let mut walk = Self {
            found: Vec::new(),
            trouble: None,
        };
        let mut next = Some(domain.as_str());
        while let Some(name) = next {
            let is_first = name == domain.as_str();
            let ends = match dns.txt(&format!("_dmarc.{name}.")).await {
                Ok(texts) => walk.add(name, &texts),
                Err(failure) if failure.is_temporary() => {
                    walk.note(format!("looking up the DMARC record of {name}: {failure}"));
                    is_first || failure == DnsFailure::Timeout
                }
                Err(_) => false,
            };
            next = above(name).filter(|_| !ends);
        }
        walk
    }

    /// Adds the record at a name, and tells whether it ends the walk; several are as good as none (section 4.10 step 2).
    fn add(&mut self, name: &str, texts: &[Vec<u8>]) -> bool {
        let mut records = texts.iter().filter_map(|text| Record::read(text));
        let Some(record) = records.next() else {
            return false;
        };
        if records.next().is_some() {
            self.note(format!("{name} has several DMARC records, and only one is allowed"));
            return false;
        }
        self.found.push((name.to_owned(), record));
        record.place != Place::Unsaid
    }

    fn note(&mut self, trouble: String) {
        self.trouble.get_or_insert(trouble);
    }

    /// The record that holds for the domain where the walk began, and where it stands: its own, that of its
    /// organisation, or that of the registry above (section 4.10.1).
    pub(super) fn policy(&self, domain: &DomainName) -> Option<&(String, Record)> {
        let organisation = self.organisation(domain);
        let at = |name: &str| self.found.iter().find(|(found, _)| found == name);
        at(domain.as_str()).or_else(|| at(organisation)).or(self.found.last())
    }

    /// The organisational domain of the domain where the walk began (section 4.10.2).
    pub(super) fn organisation<'a>(&'a self, domain: &'a DomainName) -> &'a str {
        match self.found.last() {
            Some((name, record)) if record.place == Place::PublicSuffix && name != domain.as_str() => {
                one_label_below(name, domain.as_str())
            }
            Some((name, _)) => name,
            None => domain.as_str(),
        }
    }
}

/// The next name to ask.
fn above(name: &str) -> Option<&str> {
    let (_, parent) = name.split_once('.')?;
    let surplus = (parent.matches('.').count() + 1).saturating_sub(LABELS_ABOVE);
    Some((0..surplus).fold(parent, |name, _| {
        name.split_once('.').map_or(name, |(_, parent)| parent)
    }))
}

/// The end of `domain` that has one label more than `suffix`.
fn one_label_below<'a>(suffix: &str, domain: &'a str) -> &'a str {
    let labels = domain.len().saturating_sub(suffix.len() + 1);
    let start = domain[..labels].rfind('.').map_or(0, |dot| dot + 1);
    &domain[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(name: &str) -> Vec<&str> {
        std::iter::successors(Some(name), |name| above(name)).collect()
    }

    #[test]
    fn the_way_up_has_eight_steps_at_most() {
        assert_eq!(way("a.b.test"), ["a.b.test", "b.test", "test"]);
        let long = way("1.2.3.4.5.6.7.8.9.10");
        assert_eq!(long[..3], ["1.2.3.4.5.6.7.8.9.10", "4.5.6.7.8.9.10", "5.6.7.8.9.10"]);
        assert_eq!(long.len(), 8);
    }

    #[test]
    fn below_a_registry_is_the_customer() {
        assert_eq!(one_label_below("psd.test", "a.b.psd.test"), "b.psd.test");
        assert_eq!(one_label_below("psd.test", "b.psd.test"), "b.psd.test");
    }
}
