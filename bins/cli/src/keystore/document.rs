//! What the keystore's file says: for each server its inboxes as they are exported, and which is in use.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use restante_client::{ExportedInbox, ImportError, Timestamp};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::VERSION;

/// How long an expired inbox is still shown as such before its entry goes.
const REMEMBERED: Duration = Duration::from_hours(24);
/// More than an entry takes: base64url of two keys, an address, and the names of the fields.
const ENTRY_BYTES: usize = 8192;

/// The whole file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    version: u64,
    servers: BTreeMap<String, ServerInboxes>,
}

/// The inboxes of one server.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServerInboxes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    active: Option<String>,
    inboxes: Vec<Entry>,
}

/// One inbox, with the fields of an export (interface, "Exported inbox data").
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Entry {
    version: u64,
    email_address: String,
    expires_at: Timestamp,
    inbox_hash: String,
    encrypted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server_sig_pk: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret_key: Option<Zeroizing<String>>,
    exported_at: Timestamp,
}

/// The version that a file says it has.
pub(super) fn version(content: &[u8]) -> serde_json::Result<u64> {
    #[derive(Deserialize)]
    struct Stamp {
        version: u64,
    }
    serde_json::from_slice::<Stamp>(content).map(|stamp| stamp.version)
}

impl Default for Document {
    fn default() -> Self {
        Self {
            version: VERSION,
            servers: BTreeMap::new(),
        }
    }
}

impl Document {
    /// The inboxes of a server, if there are any.
    pub(crate) fn server(&self, url: &str) -> Option<&ServerInboxes> {
        self.servers.get(url)
    }

    /// The inboxes of a server.
    pub(crate) fn server_mut(&mut self, url: &str) -> &mut ServerInboxes {
        self.servers.entry(url.to_owned()).or_default()
    }

    /// The content of the file, in one buffer that is wiped: one that grew would leave keys behind.
    pub(super) fn to_json(&self) -> Zeroizing<Vec<u8>> {
        let entries: usize = self.servers.values().map(|server| server.inboxes.len() + 1).sum();
        let mut json = Zeroizing::new(Vec::with_capacity((entries + 1) * ENTRY_BYTES));
        serde_json::to_writer_pretty(&mut *json, self).expect("a vector takes plain data");
        json.push(b'\n');
        json
    }
}

impl ServerInboxes {
    /// All of them, in the order in which they came.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.inboxes
    }

    /// The one at an address, whatever its case.
    pub(crate) fn find(&self, address: &str) -> Option<&Entry> {
        self.inboxes.iter().find(|entry| entry.is_at(address))
    }

    /// The one in use.
    pub(crate) fn active(&self) -> Option<&str> {
        self.active.as_deref()
    }

    /// The one with the address or the hash of an export.
    pub(crate) fn same_as(&self, entry: &Entry) -> Option<&Entry> {
        self.inboxes.iter().find(|known| known.is_same(entry))
    }

    /// Takes one in, in place of those with its address or its hash.
    pub(crate) fn put(&mut self, entry: Entry) {
        self.inboxes.retain(|known| !known.is_same(&entry));
        self.inboxes.push(entry);
    }

    /// Makes the one at an address the one in use.
    pub(crate) fn activate(&mut self, address: &str) {
        self.active = Some(address.to_owned());
    }

    /// Forgets one with its key; whether it was there.
    pub(crate) fn remove(&mut self, address: &str) -> bool {
        let before = self.inboxes.len();
        self.inboxes.retain(|known| !known.is_at(address));
        if self.active().is_some_and(|active| active.eq_ignore_ascii_case(address)) {
            self.active = None;
        }
        self.inboxes.len() < before
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Forgets those that expired more than a day ago: nothing can be opened with their keys any more.
    pub(crate) fn prune(&mut self, now: Timestamp) {
        let is_over = |end: Timestamp| end.after(REMEMBERED) <= now;
        self.inboxes.retain(|entry| !entry.expires_at().is_some_and(is_over));
    }
}

impl Entry {
    /// What an export says, which may be opened again.
    pub(crate) fn of(export: &ExportedInbox) -> Self {
        serde_json::from_str(&export.to_json()).expect("an export has the fields of the interface")
    }

    /// The export; it fails where the file was changed by another hand.
    pub(crate) fn export(&self) -> Result<ExportedInbox, ImportError> {
        let mut json = Zeroizing::new(Vec::with_capacity(ENTRY_BYTES));
        serde_json::to_writer(&mut *json, self).expect("a vector takes plain data");
        ExportedInbox::parse(&json)
    }

    /// Where it takes mail.
    pub(crate) fn address(&self) -> &str {
        &self.email_address
    }

    /// When it ends; `None` if it does not by itself, which an export says with the last moment of all.
    pub(crate) fn expires_at(&self) -> Option<Timestamp> {
        Some(self.expires_at).filter(|end| *end != Timestamp::MAX)
    }

    /// Whether it is over at `now`.
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at().is_some_and(|end| end <= now)
    }

    /// Its name in streams and records, base64url.
    pub(crate) fn hash(&self) -> &str {
        &self.inbox_hash
    }

    /// The server's key that was pinned at its creation, base64url; none of a plain one.
    pub(crate) fn server_sig_pk(&self) -> Option<&str> {
        self.server_sig_pk.as_deref()
    }

    /// Whether its mail is sealed.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    fn is_same(&self, other: &Self) -> bool {
        self.is_at(&other.email_address) || self.inbox_hash == other.inbox_hash
    }

    fn is_at(&self, address: &str) -> bool {
        self.email_address.eq_ignore_ascii_case(address.trim())
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("address", &self.email_address)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
impl Entry {
    /// A plain one.
    pub(crate) fn example(address: &str, expires_at: Timestamp) -> Self {
        Self {
            version: 1,
            email_address: address.to_owned(),
            expires_at,
            inbox_hash: example_hash(address),
            encrypted: false,
            server_sig_pk: None,
            secret_key: None,
            exported_at: Timestamp::from_unix_ms(0),
        }
    }
}

/// 43 characters of base64url, others for each address; the last stands for two bits.
#[cfg(test)]
fn example_hash(address: &str) -> String {
    let name = address.to_lowercase().replace(['@', '.'], "-");
    format!("{name:A<42}A")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_unix_ms(seconds * 1000)
    }

    #[test]
    fn an_address_has_one_entry_whatever_its_case() {
        let mut inboxes = ServerInboxes::default();
        inboxes.put(Entry::example("a@x.test", at(1)));
        inboxes.put(Entry::example("b@x.test", at(1)));
        inboxes.put(Entry::example("A@x.test", at(2)));
        let addresses: Vec<_> = inboxes.entries().iter().map(Entry::address).collect();
        assert_eq!(addresses, ["b@x.test", "A@x.test"]);
        assert_eq!(inboxes.find(" a@X.TEST").unwrap().expires_at(), Some(at(2)));
    }

    #[test]
    fn the_one_in_use_is_forgotten_with_its_inbox() {
        let mut inboxes = ServerInboxes::default();
        inboxes.put(Entry::example("a@x.test", at(1)));
        inboxes.put(Entry::example("b@x.test", at(1)));
        inboxes.activate("a@x.test");
        assert!(inboxes.remove("b@x.test"));
        assert_eq!(inboxes.active(), Some("a@x.test"));
        assert!(inboxes.remove("A@x.test"));
        assert_eq!(inboxes.active(), None);
        assert!(!inboxes.remove("a@x.test"));
    }

    #[test]
    fn an_expired_inbox_is_remembered_for_a_day() {
        let mut inboxes = ServerInboxes::default();
        inboxes.put(Entry::example("a@x.test", at(1000)));
        inboxes.prune(at(1000 + 86_399));
        assert_eq!(inboxes.entries().len(), 1);
        inboxes.prune(at(1000 + 86_400));
        assert!(inboxes.entries().is_empty());
    }

    #[test]
    fn an_inbox_without_an_end_is_never_forgotten() {
        let mut inboxes = ServerInboxes::default();
        let endless = Entry::example("a@x.test", Timestamp::MAX);
        assert_eq!(Entry::of(&endless.export().unwrap()).expires_at(), None);
        inboxes.put(endless);
        inboxes.prune(Timestamp::MAX);
        assert_eq!(inboxes.entries().len(), 1);
        assert!(!inboxes.entries()[0].is_expired(Timestamp::MAX));
    }

    #[test]
    fn an_entry_is_an_export() {
        let entry = Entry::example("a@x.test", at(1000));
        let again = Entry::of(&entry.export().unwrap());
        assert_eq!(again.address(), "a@x.test");
        assert_eq!((again.expires_at(), again.hash()), (Some(at(1000)), entry.hash()));
        let spoiled = Entry {
            encrypted: true,
            ..entry
        };
        assert!(spoiled.export().is_err());
    }
}
