//! `restante inbox delete`

use restante_client::InboxResource;

use crate::args::inbox::DeleteArgs;
use crate::context::{Context, named};
use crate::failure::Failure;
use crate::output::clean;
use crate::output::question::{Answer, ask};

/// Deletes inboxes from the server, and their keys from the keystore.
pub(super) async fn run(context: &Context, meant: DeleteArgs) -> Result<(), Failure> {
    if meant.all {
        return all(context, meant.yes).await;
    }
    let addresses = if meant.addresses.is_empty() {
        let document = context.keystore.read()?;
        vec![context.address(None, document.server(&context.connection.url))?]
    } else {
        meant.addresses
    };
    let addresses = addresses.iter().map(|address| named(address));
    let addresses = addresses.collect::<Result<Vec<_>, _>>()?;
    // The server answers alike whether there was one or not.
    let listed = context.client.list_inboxes().await?;
    let mut deleted = 0;
    for address in addresses {
        let was_there = is_listed(&listed, address);
        context.client.delete_inbox(address).await?;
        let was_known = forget(context, address)?;
        deleted += usize::from(was_there);
        let address = clean::line(address);
        match (was_there, was_known) {
            _ if context.output.json => {}
            (true, _) => context.output.line(&format!("{address} is deleted"))?,
            (false, true) => {
                context
                    .output
                    .note(&format!("{address} was gone already; it is forgotten here too"));
            }
            (false, false) => context.output.note(&format!("there was no inbox {address}")),
        }
    }
    if context.output.json {
        say(context, deleted)?;
    }
    Ok(())
}

fn is_listed(listed: &[InboxResource], address: &str) -> bool {
    let mut addresses = listed.iter().map(|inbox| inbox.email_address.to_string());
    addresses.any(|listed| listed.eq_ignore_ascii_case(address))
}

async fn all(context: &Context, confirmed: bool) -> Result<(), Failure> {
    if !confirmed {
        let question = format!("Delete all inboxes of {} with their mail?", context.connection.url);
        match ask(&question).await? {
            Answer::Yes => {}
            Answer::No => return Err(Failure::Usage("nothing is deleted".to_owned())),
            Answer::Nobody => {
                let text = "nothing is deleted: there is no terminal to ask at, and --yes is not given";
                return Err(Failure::Usage(text.to_owned()));
            }
        }
    }
    let deleted = context.client.delete_all_inboxes().await?;
    context.keystore.update(|document| {
        document.server_mut(&context.connection.url).clear();
        Ok::<_, Failure>(())
    })?;
    say(context, deleted)
}

/// Whether it was known.
fn forget(context: &Context, address: &str) -> Result<bool, Failure> {
    context
        .keystore
        .update(|document| Ok(document.server_mut(&context.connection.url).remove(address)))
}

fn say(context: &Context, deleted: usize) -> Result<(), Failure> {
    if context.output.json {
        return Ok(context.output.json(&serde_json::json!({ "deleted": deleted }))?);
    }
    let noun = if deleted == 1 { "inbox is" } else { "inboxes are" };
    Ok(context.output.line(&format!("{deleted} {noun} deleted"))?)
}
