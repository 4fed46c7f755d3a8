//! `restante inbox list`

use restante_client::{InboxResource, Timestamp};
use serde::Serialize;

use super::{expiry, key, mode};
use crate::context::Context;
use crate::failure::Failure;
use crate::keystore::{Entry, ServerInboxes};
use crate::output::table::{RowStyle, Table};

/// The wire's shape of a listing.
#[derive(Serialize)]
struct Listing {
    inboxes: Vec<InboxResource>,
}

/// Lists the inboxes of the server, and those of the keystore that are gone.
pub(super) async fn run(context: &Context) -> Result<(), Failure> {
    let mut inboxes = context.client.list_inboxes().await?;
    if context.output.json {
        return Ok(context.output.json(&Listing { inboxes })?);
    }
    inboxes.sort_by_cached_key(|inbox| inbox.email_address.to_string());
    let document = context.keystore.read()?;
    let known = document.server(&context.connection.url);
    let gone = gone(&inboxes, context.entries(&document));
    if inboxes.is_empty() && gone.is_empty() {
        context
            .output
            .note("There is no inbox: `restante inbox create` makes one.");
        return Ok(());
    }
    let active = known.and_then(ServerInboxes::active);
    let table = table(&inboxes, &gone, context.entries(&document), active, context.clock.now());
    Ok(context.output.table(&table)?)
}

/// The entries whose inboxes the server does not have any more.
fn gone<'a>(inboxes: &[InboxResource], known: &'a [Entry]) -> Vec<&'a Entry> {
    let is_there = |entry: &Entry| inboxes.iter().any(|inbox| inbox.inbox_hash.to_string() == entry.hash());
    known.iter().filter(|entry| !is_there(entry)).collect()
}

fn table(inboxes: &[InboxResource], gone: &[&Entry], known: &[Entry], active: Option<&str>, now: Timestamp) -> Table {
    let is_active = |address: &str| active.is_some_and(|active| active.eq_ignore_ascii_case(address));
    let mark = |address: &str| if is_active(address) { "*" } else { "" }.to_owned();
    let mut table = Table::new(["", "ADDRESS", "MODE", "KEY", "EXPIRES"]);
    for inbox in inboxes {
        let address = inbox.email_address.to_string();
        let style = if is_active(&address) {
            RowStyle::Strong
        } else {
            RowStyle::Normal
        };
        let (mode, key) = (mode(inbox.encrypted).to_owned(), key(inbox, known).to_owned());
        table.row(
            style,
            [mark(&address), address, mode, key, expiry(inbox.expires_at, now)],
        );
    }
    for entry in gone {
        let state = if entry.is_expired(now) {
            expiry(entry.expires_at(), now)
        } else {
            "deleted".to_owned()
        };
        let address = entry.address().to_owned();
        let mode = mode(entry.is_encrypted()).to_owned();
        table.row(RowStyle::Faint, [mark(&address), address, mode, String::new(), state]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_unix_ms(seconds * 1000)
    }

    fn listed(address: &str, hash: &str, encrypted: bool, expires_at: Option<Timestamp>) -> InboxResource {
        serde_json::from_value(serde_json::json!({
            "emailAddress": address, "expiresAt": expires_at, "inboxHash": hash, "encrypted": encrypted, "emailAuth": false,
        }))
        .unwrap()
    }

    #[test]
    fn the_servers_inboxes_are_merged_with_the_known_ones() {
        let known = [
            Entry::example("a@x.test", at(10_000)),
            Entry::example("old@x.test", at(9_000)),
            Entry::example("lost@x.test", at(10_000)),
            Entry::example("endless@x.test", Timestamp::MAX),
        ];
        let end = Some(at(10_000));
        let inboxes = [
            listed("a@x.test", known[0].hash(), true, end),
            listed("b@x.test", "n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg", true, end),
            listed("c@x.test", "p4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg", false, None),
        ];
        let gone = gone(&inboxes, &known);
        let shown = table(&inboxes, &gone, &known, Some("A@x.test"), at(9_400)).render(None);
        let plain = anstream::adapter::strip_str(&shown).to_string();
        let rows: Vec<Vec<&str>> = plain.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            rows,
            [
                vec!["ADDRESS", "MODE", "KEY", "EXPIRES"],
                vec!["*", "a@x.test", "encrypted", "here", "in", "10", "min"],
                vec!["b@x.test", "encrypted", "elsewhere", "in", "10", "min"],
                vec!["c@x.test", "plain", "not", "needed", "never"],
                vec!["old@x.test", "plain", "expired", "7", "min", "ago"],
                vec!["lost@x.test", "plain", "deleted"],
                vec!["endless@x.test", "plain", "deleted"],
            ]
        );
    }
}
