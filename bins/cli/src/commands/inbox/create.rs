//! `restante inbox create`

use restante_client::{Inbox, InboxHash, NewInbox, Timestamp};
use serde::Serialize;

use super::wishes::Wishes;
use super::{authentication, expiry, mode, persistence, remember, spam_filter};
use crate::args::inbox::CreateArgs;
use crate::context::Context;
use crate::failure::Failure;
use crate::keystore::Entry;
use crate::output::table::Table;
use crate::output::{clean, style};

/// Creates an inbox, which becomes the one in use.
pub(super) async fn run(context: &Context, wanted: CreateArgs) -> Result<(), Failure> {
    let (quiet, wishes) = (wanted.quiet, Wishes::of(&wanted));
    // A keystore that cannot be used must not cost an inbox whose key is then lost.
    context.keystore.update(|_| Ok::<_, Failure>(()))?;
    let inbox = context.client.create_inbox(new_inbox(wanted, wishes)).await?;
    remember(context, &inbox)?;
    for line in wishes.passed_over_in(&inbox) {
        context.output.note(line);
    }
    if context.output.json {
        let entry = Entry::of(&inbox.export());
        return Ok(context.output.json(&Created::of(&inbox, &entry))?);
    }
    if quiet {
        return Ok(context.output.line(&clean::line(inbox.address()))?);
    }
    show(context, &inbox)
}

fn new_inbox(wanted: CreateArgs, wishes: Wishes) -> NewInbox {
    let mut inbox = NewInbox::new();
    if let Some(address) = wanted.address {
        inbox = inbox.address(address);
    }
    if let Some(ttl) = wanted.ttl {
        inbox = inbox.ttl(ttl);
    }
    wishes.add_to(inbox)
}

/// The answer to the creation (interface, "Inbox").
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Created<'a> {
    email_address: &'a str,
    expires_at: Option<Timestamp>,
    inbox_hash: InboxHash,
    encrypted: bool,
    email_auth: Option<bool>,
    spam_analysis: Option<bool>,
    persistent: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_sig_pk: Option<&'a str>,
}

impl<'a> Created<'a> {
    fn of(inbox: &'a Inbox, entry: &'a Entry) -> Self {
        Self {
            email_address: inbox.address(),
            expires_at: inbox.expires_at(),
            inbox_hash: inbox.hash(),
            encrypted: inbox.is_encrypted(),
            email_auth: inbox.email_auth(),
            spam_analysis: inbox.spam_analysis(),
            persistent: inbox.is_persistent(),
            server_sig_pk: entry.server_sig_pk(),
        }
    }
}

fn show(context: &Context, inbox: &Inbox) -> Result<(), Failure> {
    context.output.line(&style::bold(inbox.address()))?;
    let mut table = Table::facts();
    table.fact("Mode", mode(inbox.is_encrypted()));
    if let Some(checked) = inbox.email_auth() {
        table.fact("Authentication", authentication(checked));
    }
    if inbox.spam_analysis() == Some(true) {
        table.fact("Spam filter", spam_filter(true));
    }
    if inbox.is_persistent() == Some(false) {
        table.fact("Persistence", persistence(false));
    }
    table.fact("Expires", expiry(inbox.expires_at(), context.clock.now()));
    context.output.table(&table)?;
    context.note_in_use(inbox.address());
    Ok(())
}
