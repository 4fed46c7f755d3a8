//! What is there after a restart, held against what clients were told.

use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_envelope::{DecapsulationKey, SealedPayload, VerifyingKey, WireProfile, digest};
use serde_json::Value;

use crate::daemon::Daemon;
use crate::ledger::{Change, Digest, Ledger, Mail, Pages};
use crate::peer::without_trace;
use crate::{ADDRESSES, Clients};

/// Whose content is compared: that of every email would take long in every round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// That of emails that were never compared.
    New,
    /// That of every email.
    All,
}

/// The lists of all inboxes.
pub(crate) struct Survey<'a> {
    server: &'a Daemon,
    clients: &'a Clients,
    pinned: VerifyingKey,
    found: BTreeMap<String, Found>,
}

/// An email of a list.
#[derive(Debug)]
struct Found {
    address: &'static str,
    is_read: bool,
}

impl<'a> Survey<'a> {
    /// Reads the lists.
    pub(crate) fn of(server: &'a Daemon, clients: &'a Clients) -> Self {
        let mut found = BTreeMap::new();
        for address in ADDRESSES {
            let emails = server.emails(address);
            let sync = server.get(&format!("/api/inboxes/{address}/sync"));
            assert_eq!(sync["emailCount"], emails.len(), "{address}");
            for email in emails {
                let is_read = email["isRead"].as_bool().unwrap();
                let id = email["id"].as_str().unwrap().to_owned();
                let twice = found.insert(id, Found { address, is_read });
                assert!(twice.is_none(), "{email} is there twice");
            }
        }
        let info = server.get("/api/server-info");
        let pinned = VerifyingKey::from_base64url(info["serverSigPk"].as_str().unwrap()).unwrap();
        Self {
            server,
            clients,
            pinned,
            found,
        }
    }

    /// Compares; afterwards nothing in the ledger is open.
    pub(crate) fn settle(&self, ledger: &Ledger, depth: Depth) {
        ledger.with(|pages| {
            for (id, mail) in &mut pages.mails {
                self.settle_mail(id, mail);
            }
            self.settle_unanswered(pages);
            for (id, mail) in &mut pages.mails {
                if mail.deletion == Change::Never && (depth == Depth::All || !mail.is_compared) {
                    let content = self.content(id);
                    assert!(content == mail.digest, "{id} has changed");
                    mail.is_compared = true;
                }
            }
        });
    }

    /// What was acknowledged holds; what was under way has happened or not.
    fn settle_mail(&self, id: &str, mail: &mut Mail) {
        let Some(found) = self.found.get(id) else {
            assert_ne!(
                mail.deletion,
                Change::Never,
                "{id} was acknowledged and is gone: {mail:?}"
            );
            mail.deletion = Change::Done;
            return;
        };
        assert_ne!(mail.deletion, Change::Done, "{id} was deleted and is back");
        mail.deletion = Change::Never;
        match mail.mark {
            Change::Never => assert!(!found.is_read, "{id}: nobody marked it"),
            Change::Done => assert!(found.is_read, "{id}: the mark is gone"),
            Change::Asked => mail.mark = if found.is_read { Change::Done } else { Change::Never },
        }
        assert_eq!(*mail.address.get_or_insert(found.address), found.address, "{id}");
    }

    /// Messages that nobody answered are at all of their recipients or at none, whole.
    fn settle_unanswered(&self, pages: &mut Pages) {
        let mut arrived = HashMap::<Digest, Vec<&'static str>>::new();
        for (id, found) in &self.found {
            if pages.mails.contains_key(id) {
                continue;
            }
            let content = self.content(id);
            assert!(
                pages.unanswered.contains_key(&content),
                "{id} is no message that was sent"
            );
            assert!(!found.is_read, "{id}: nobody marked it");
            arrived.entry(content).or_default().push(found.address);
            pages.mails.insert(id.clone(), Mail::new(Some(found.address), content));
        }
        for (content, mut addresses) in arrived {
            let mut expected = pages.unanswered.remove(&content).unwrap();
            addresses.sort_unstable();
            expected.sort_unstable();
            assert_eq!(addresses, expected, "a transaction was stored in part");
        }
        pages.unanswered.clear();
    }

    /// The SHA-256 of a message as it was sent.
    fn content(&self, id: &str) -> Digest {
        let address = self.found[id].address;
        let record = self.server.get(&format!("/api/inboxes/{address}/emails/{id}/raw"));
        let raw = match &record["raw"] {
            Value::String(raw) => STANDARD.decode(raw).unwrap(),
            _ => self.open(&record["encryptedRaw"], &self.clients[address]),
        };
        digest::sha256(without_trace(&raw))
    }

    fn open(&self, payload: &Value, client: &DecapsulationKey) -> Vec<u8> {
        let payload = SealedPayload::from_json(payload.to_string().as_bytes()).unwrap();
        let verified = payload.verify(&self.pinned, WireProfile::Service).unwrap();
        STANDARD.decode(verified.open(client).unwrap().expose()).unwrap()
    }
}
