//! `restante inbox`

mod create;
mod delete;
mod list;
mod transfer;
mod wishes;

use restante_client::{Inbox, InboxResource, Timestamp};

use crate::args::inbox::InboxCommand;
use crate::context::Context;
use crate::failure::Failure;
use crate::keystore::Entry;
use crate::output::table::Table;
use crate::output::{style, time};

/// Does it.
pub(crate) async fn run(context: &Context, command: InboxCommand) -> Result<(), Failure> {
    match command {
        InboxCommand::Create(wanted) => create::run(context, wanted).await,
        InboxCommand::List => list::run(context).await,
        InboxCommand::Info { address } => info(context, address.as_deref()).await,
        InboxCommand::Use { address } => choose(context, &address).await,
        InboxCommand::Delete(meant) => delete::run(context, meant).await,
        InboxCommand::Export(wanted) => transfer::export(context, wanted).await,
        InboxCommand::Import(wanted) => transfer::import(context, wanted).await,
    }
}

/// What the server says of an inbox, and whether its key is here.
async fn info(context: &Context, address: Option<&str>) -> Result<(), Failure> {
    let document = context.keystore.read()?;
    let address = context.address(address, document.server(&context.connection.url))?;
    let listed = context.client.list_inboxes().await?;
    let is_meant = |inbox: &&InboxResource| inbox.email_address.to_string().eq_ignore_ascii_case(&address);
    let Some(found) = listed.iter().find(is_meant) else {
        // The server says in its own words that there is none.
        let asked = context.client.inbox(&address).await;
        return Err(asked.map_or_else(Failure::from, |_| {
            Failure::Usage(format!("{address} came just now: ask again"))
        }));
    };
    if context.output.json {
        return Ok(context.output.json(found)?);
    }
    let key = key(found, context.entries(&document));
    let mut table = Table::facts();
    table.fact("Address", found.email_address.to_string());
    table.fact("Hash", found.inbox_hash.to_string());
    table.fact("Mode", mode(found.encrypted));
    table.fact("Key", key);
    table.fact("Authentication", authentication(found.email_auth));
    table.fact("Spam filter", spam_filter(found.spam_analysis));
    table.fact("Persistence", persistence(found.persistent));
    table.fact("Expires", expiry(found.expires_at, context.clock.now()));
    if key != KEY_ELSEWHERE {
        let count = context.inbox(Some(&address)).await?.sync_status().await?.email_count;
        table.fact("Emails", count.to_string());
    }
    Ok(context.output.table(&table)?)
}

/// Makes an inbox the one in use; a plain one of the server is taken into the keystore.
async fn choose(context: &Context, address: &str) -> Result<(), Failure> {
    let inbox = context.inbox(Some(address)).await?;
    remember(context, &inbox)?;
    if context.output.json {
        return Ok(context
            .output
            .json(&serde_json::json!({ "emailAddress": inbox.address() }))?);
    }
    context.output.line(&style::bold(inbox.address()))?;
    context.note_in_use(inbox.address());
    Ok(())
}

/// Takes an inbox into the keystore, and makes it the one in use.
fn remember(context: &Context, inbox: &Inbox) -> Result<(), Failure> {
    let entry = Entry::of(&inbox.export());
    let now = context.clock.now();
    context.keystore.update(|document| {
        let inboxes = document.server_mut(&context.connection.url);
        inboxes.prune(now);
        inboxes.put(entry);
        inboxes.activate(inbox.address());
        Ok(())
    })
}

const KEY_ELSEWHERE: &str = "elsewhere";

/// Whether the key of an inbox is here.
fn key(inbox: &InboxResource, known: &[Entry]) -> &'static str {
    let hash = inbox.inbox_hash.to_string();
    match inbox.encrypted {
        false => "not needed",
        true if known.iter().any(|entry| entry.hash() == hash) => "here",
        true => KEY_ELSEWHERE,
    }
}

fn authentication(checked: bool) -> &'static str {
    if checked { "checked" } else { "not checked" }
}

fn mode(encrypted: bool) -> &'static str {
    if encrypted { "encrypted" } else { "plain" }
}

fn spam_filter(asked: bool) -> &'static str {
    if asked { "asked" } else { "not asked" }
}

fn persistence(persistent: bool) -> &'static str {
    if persistent { "persistent" } else { "ephemeral" }
}

/// `in 58 min`, `expired 3 min ago`, or `never`.
fn expiry(end: Option<Timestamp>, now: Timestamp) -> String {
    let Some(moment) = end else {
        return "never".to_owned();
    };
    let relative = time::relative(moment, now);
    if moment > now {
        relative
    } else {
        format!("expired {relative}")
    }
}
