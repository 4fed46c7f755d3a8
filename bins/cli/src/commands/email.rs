//! `restante email`

mod attachments;
mod change;
mod choice;

use restante_client::{AuthResults, AuthSummary, Base64, Email, EmailId, Inbox};
use serde::Serialize;

pub(in crate::commands) use self::attachments::already_there;
use crate::args::email::{ChoiceArgs, EmailCommand, ListArgs, RawArgs, ViewArgs};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::email::HeaderFields;
use crate::output::{self, clean};

/// Does what is asked for with the mail of the inbox that is meant.
pub(crate) async fn run(context: &Context, command: EmailCommand) -> Result<(), Failure> {
    let inbox = context.inbox(None).await?;
    match command {
        EmailCommand::List(wanted) => list(context, &inbox, &wanted).await,
        EmailCommand::View(wanted) => view(context, &inbox, &wanted).await,
        EmailCommand::Raw(wanted) => raw(context, &inbox, &wanted).await,
        EmailCommand::Attachments(wanted) => attachments::run(context, &inbox, &wanted).await,
        EmailCommand::Links(choice) => links(context, &inbox, &choice).await,
        EmailCommand::Auth(choice) => auth(context, &inbox, &choice).await,
        EmailCommand::Delete(wanted) => change::delete(context, &inbox, &wanted).await,
        EmailCommand::MarkRead(wanted) => change::mark_read(context, &inbox, &wanted).await,
    }
}

/// Lists what can be read, and says what cannot; that is an error only when the rest has been shown.
async fn list(context: &Context, inbox: &Inbox, wanted: &ListArgs) -> Result<(), Failure> {
    let mut listed = inbox.each_summary().await?;
    if wanted.unread {
        listed.retain(|email| !email.as_ref().map_or_else(|email| email.is_read, |email| email.is_read));
    }
    listed.truncate(wanted.limit.unwrap_or(usize::MAX));
    if context.output.json {
        let readable: Vec<_> = listed.iter().filter_map(|email| email.as_ref().ok()).collect();
        context.output.json(&readable)?;
    } else if listed.is_empty() {
        context
            .output
            .note(&format!("no mail at {}", clean::line(inbox.address())));
    } else {
        context
            .output
            .table(&output::email::list(&listed, context.clock.now()))?;
    }
    match listed.into_iter().find_map(Result::err) {
        Some(unreadable) => Err(unreadable.error.into()),
        None => Ok(()),
    }
}

async fn view(context: &Context, inbox: &Inbox, wanted: &ViewArgs) -> Result<(), Failure> {
    let email = fetch(inbox, &wanted.choice).await?;
    if context.output.json {
        return Ok(context.output.json(&email)?);
    }
    if wanted.html {
        return html(context, &email);
    }
    let fields = if wanted.headers {
        HeaderFields::All
    } else {
        HeaderFields::Known
    };
    Ok(context.output.text(&output::email::page(
        &email,
        fields,
        context.clock.now(),
        context.output.width(),
    ))?)
}

/// The HTML as it is; a terminal gets no character that it would obey.
fn html(context: &Context, email: &Email) -> Result<(), Failure> {
    let Some(html) = email.html() else {
        return Err(Failure::Usage(format!("{} has no HTML body", email.id())));
    };
    if context.output.is_terminal() {
        return Ok(context.output.text(&clean::block(html))?);
    }
    Ok(context.output.bytes(html.as_bytes())?)
}

async fn raw(context: &Context, inbox: &Inbox, wanted: &RawArgs) -> Result<(), Failure> {
    let id = choice::find(inbox, &wanted.choice).await?;
    let source = inbox.raw(id).await?;
    if let Some(path) = &wanted.out {
        attachments::save_as(path, &source, wanted.force)?;
        if context.output.json {
            return Ok(context.output.json(&serde_json::json!({ "id": id, "file": path }))?);
        }
        return Ok(context.output.line(&clean::line(&path.display().to_string()))?);
    }
    if context.output.json {
        return Ok(context.output.json(&Source {
            id,
            raw: Base64(source.into()),
        })?);
    }
    if context.output.is_terminal() {
        return Ok(context.output.text(&clean::block(&String::from_utf8_lossy(&source)))?);
    }
    Ok(context.output.bytes(&source)?)
}

async fn links(context: &Context, inbox: &Inbox, choice: &ChoiceArgs) -> Result<(), Failure> {
    let email = fetch(inbox, choice).await?;
    if context.output.json {
        return Ok(context.output.json(&email.links())?);
    }
    for link in email.links() {
        context.output.line(&clean::line(link))?;
    }
    if email.links().is_empty() {
        context.output.note("no links");
    }
    Ok(())
}

/// What `email raw` prints for machines: the record of the interface.
#[derive(Serialize)]
struct Source {
    id: EmailId,
    raw: Base64,
}

/// What `email auth` prints for machines.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Authentication<'a> {
    auth_results: &'a AuthResults,
    summary: &'a AuthSummary,
}

async fn auth(context: &Context, inbox: &Inbox, choice: &ChoiceArgs) -> Result<(), Failure> {
    let email = fetch(inbox, choice).await?;
    let summary = email.auth_summary();
    let auth_results = email.auth_results();
    if context.output.json {
        return Ok(context.output.json(&Authentication {
            auth_results,
            summary: &summary,
        })?);
    }
    context.output.table(&output::email::auth(auth_results))?;
    Ok(context
        .output
        .text(&format!("{}\n", output::email::verdict(&summary)))?)
}

async fn fetch(inbox: &Inbox, choice: &ChoiceArgs) -> Result<Email, Failure> {
    let id = choice::find(inbox, choice).await?;
    Ok(inbox.email(id).await?)
}
