//! Emails are deleted or marked as read.

use restante_client::Inbox;
use serde_json::json;

use super::choice;
use crate::args::email::ChangeArgs;
use crate::context::Context;
use crate::failure::Failure;

/// Deletes emails.
pub(super) async fn delete(context: &Context, inbox: &Inbox, wanted: &ChangeArgs) -> Result<(), Failure> {
    let ids = choice::find_all(inbox, wanted).await?;
    for id in &ids {
        inbox.delete_email(*id).await?;
    }
    told(context, "deleted", "deleted", ids.len())
}

/// Marks emails as read.
pub(super) async fn mark_read(context: &Context, inbox: &Inbox, wanted: &ChangeArgs) -> Result<(), Failure> {
    let ids = choice::find_all(inbox, wanted).await?;
    for id in &ids {
        inbox.mark_read(*id).await?;
    }
    told(context, "markedRead", "marked as read", ids.len())
}

fn told(context: &Context, field: &str, verb: &str, count: usize) -> Result<(), Failure> {
    if context.output.json {
        return Ok(context.output.json(&json!({ field: count }))?);
    }
    let emails = if count == 1 { "email" } else { "emails" };
    Ok(context.output.line(&format!("{count} {emails} {verb}"))?)
}
