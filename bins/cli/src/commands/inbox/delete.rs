//! `restante inbox delete`

use crate::args::inbox::DeleteArgs;
use crate::context::Context;
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
    for address in &addresses {
        context.client.delete_inbox(address).await?;
        forget(context, address)?;
        if !context.output.json {
            context.output.line(&format!("{} is deleted", clean::line(address)))?;
        }
    }
    if context.output.json {
        say(context, addresses.len())?;
    }
    Ok(())
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

fn forget(context: &Context, address: &str) -> Result<(), Failure> {
    context.keystore.update(|document| {
        document.server_mut(&context.connection.url).remove(address);
        Ok(())
    })
}

fn say(context: &Context, deleted: usize) -> Result<(), Failure> {
    if context.output.json {
        return Ok(context.output.json(&serde_json::json!({ "deleted": deleted }))?);
    }
    let noun = if deleted == 1 { "inbox is" } else { "inboxes are" };
    Ok(context.output.line(&format!("{deleted} {noun} deleted"))?)
}
