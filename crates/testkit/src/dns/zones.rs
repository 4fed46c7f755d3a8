//! Zones read from master files (RFC 1035 section 5), and what they answer.

use std::collections::BTreeMap;
use std::path::Path;

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::{LowerName, Name, RData, Record, RecordType};
use hickory_proto::serialize::txt::Parser;

/// Longest chain of aliases that is followed.
const LONGEST_CHAIN: usize = 8;

/// All records, by name and type.
#[derive(Debug, Default)]
pub(super) struct Zones(BTreeMap<LowerName, BTreeMap<RecordType, Vec<Record>>>);

/// What the zones say to a question.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: ResponseCode,
    pub(super) records: Vec<Record>,
    /// The zone's SOA, if there is nothing else to say: its last field is how long that may be remembered.
    pub(super) authority: Option<Record>,
}

/// A name, absolute whether or not it ends in a dot.
///
/// # Panics
/// If it is none.
pub(super) fn name(text: &str) -> LowerName {
    let mut name = Name::from_ascii(text).unwrap_or_else(|error| panic!("{text} is no name: {error}"));
    name.set_fqdn(true);
    LowerName::new(&name)
}

impl Zones {
    /// Reads all files `*.zone` of a folder.
    ///
    /// # Panics
    /// If one cannot be read, or there is none.
    pub(super) fn read(folder: &Path) -> Self {
        let mut zones = Self::default();
        let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for file in files.map(|file| file.expect("the folder can be read").path()) {
            if file.extension().is_some_and(|extension| extension == "zone") {
                let text = std::fs::read_to_string(&file).expect("a zone file is text");
                zones.add(&text, &file.display().to_string());
            }
        }
        assert!(!zones.0.is_empty(), "no zones in {}", folder.display());
        zones
    }

    /// Adds the records of a master file.
    pub(super) fn add(&mut self, text: &str, place: &str) {
        let parser = Parser::new(text, None, Some(Name::root()));
        let (_, sets) = parser.parse().unwrap_or_else(|error| panic!("{place}: {error}"));
        for (key, set) in sets {
            let records = set.records_without_rrsigs().cloned();
            let types = self.0.entry(key.name).or_default();
            types.entry(key.record_type).or_default().extend(records);
        }
    }

    /// Adds one record.
    pub(super) fn insert(&mut self, record: Record) {
        let types = self.0.entry(LowerName::new(&record.name)).or_default();
        types.entry(record.record_type()).or_default().push(record);
    }

    /// Removes all records of a name.
    pub(super) fn remove(&mut self, name: &LowerName) {
        self.0.remove(name);
    }

    /// Answers a question, aliases followed (RFC 1034 section 4.3.2).
    pub(super) fn answer(&self, question: &LowerName, wanted: RecordType) -> Answer {
        let mut records = Vec::new();
        let mut name = question.clone();
        for _ in 0..LONGEST_CHAIN {
            let Some(types) = self.0.get(&name) else { break };
            if let Some(found) = types.get(&wanted) {
                records.extend(found.iter().cloned());
                return Answer {
                    code: ResponseCode::NoError,
                    records,
                    authority: None,
                };
            }
            let Some(alias) = types.get(&RecordType::CNAME).and_then(|aliases| aliases.first()) else {
                break;
            };
            records.push(alias.clone());
            if let RData::CNAME(target) = &alias.data {
                name = LowerName::new(target);
            }
        }
        Answer {
            code: if self.exists(&name) {
                ResponseCode::NoError
            } else {
                ResponseCode::NXDomain
            },
            records,
            authority: self.start_of_authority(&name),
        }
    }

    /// Whether a name has records, or lies above one that has (RFC 8020).
    fn exists(&self, name: &LowerName) -> bool {
        self.0.keys().any(|known| name.zone_of(known))
    }

    fn start_of_authority(&self, name: &LowerName) -> Option<Record> {
        let zones = self.0.iter().filter(|(zone, _)| zone.zone_of(name));
        let starts = zones.filter_map(|(zone, types)| Some((zone, types.get(&RecordType::SOA)?.first()?)));
        starts
            .max_by_key(|(zone, _)| zone.num_labels())
            .map(|(_, start)| start.clone())
    }
}
