//! `restante webhook`

mod content;

use restante_client::webhooks::WebhookResource;
use restante_client::{WebhookId, Webhooks};
use serde::Serialize;
use serde_json::json;

use crate::args::webhook::{DeleteArgs, DeliveriesArgs, OneArgs, RedeliverArgs, Scope, ShowArgs, WebhookCommand};
use crate::commands::partial_id;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;
use crate::output::table::Table;

/// Does what is asked for with the webhooks of a scope.
pub(crate) async fn run(context: &Context, command: WebhookCommand) -> Result<(), Failure> {
    match command {
        WebhookCommand::List(wanted) => list(context, &wanted.scope).await,
        WebhookCommand::Create(wanted) => {
            let new = content::new(&wanted)?;
            let created = webhooks(context, &wanted.scope).await?.create(new).await?;
            shown(context, &created, || {
                output::webhook::page(&created, context.clock.now())
            })
        }
        WebhookCommand::Show(wanted) => show(context, &wanted).await,
        WebhookCommand::Update(wanted) => {
            let change = content::update(&wanted)?;
            let webhooks = webhooks(context, &wanted.scope).await?;
            let updated = webhooks.update(find(&webhooks, &wanted.id).await?, change).await?;
            shown(context, &updated, || {
                output::webhook::page(&updated, context.clock.now())
            })
        }
        WebhookCommand::Delete(wanted) => delete(context, &wanted).await,
        WebhookCommand::Test(wanted) => test(context, &wanted).await,
        WebhookCommand::Rotate(wanted) => {
            let webhooks = webhooks(context, &wanted.scope).await?;
            let rotated = webhooks.rotate_secret(find(&webhooks, &wanted.id).await?).await?;
            shown(context, &rotated, || {
                output::webhook::rotated(&rotated, context.clock.now())
            })
        }
        WebhookCommand::Deliveries(wanted) => deliveries(context, &wanted).await,
        WebhookCommand::Redeliver(wanted) => redeliver(context, &wanted).await,
    }
}

/// The webhooks of the scope that is meant.
async fn webhooks(context: &Context, scope: &Scope) -> Result<Webhooks, Failure> {
    if scope.for_inbox || context.inbox_flag.is_some() {
        return Ok(context.inbox(None).await?.webhooks());
    }
    Ok(context.client.webhooks())
}

/// The webhook that is meant by an id or a part of it.
async fn find(webhooks: &Webhooks, id: &str) -> Result<WebhookId, Failure> {
    if let Ok(id) = id.parse() {
        return Ok(id);
    }
    let known: Vec<WebhookId> = webhooks.list().await?.iter().map(|webhook| webhook.id).collect();
    partial_id::resolve(&known, id, "webhook")
}

/// JSON for machines, else a table.
fn shown(context: &Context, answer: &impl Serialize, table: impl FnOnce() -> Table) -> Result<(), Failure> {
    if context.output.json {
        return Ok(context.output.json(answer)?);
    }
    Ok(context.output.table(&table())?)
}

/// A list as the API answers it.
#[derive(Serialize)]
struct WebhookList<'a> {
    webhooks: &'a [WebhookResource],
    total: usize,
}

async fn list(context: &Context, scope: &Scope) -> Result<(), Failure> {
    let list = webhooks(context, scope).await?.list().await?;
    if list.is_empty() && !context.output.json {
        context.output.note("no webhooks");
        return Ok(());
    }
    let answer = WebhookList {
        webhooks: &list,
        total: list.len(),
    };
    shown(context, &answer, || output::webhook::list(&list, context.clock.now()))
}

async fn show(context: &Context, wanted: &ShowArgs) -> Result<(), Failure> {
    let webhooks = webhooks(context, &wanted.scope).await?;
    let webhook = webhooks.find(find(&webhooks, &wanted.id).await?).await?;
    if let (true, Some(secret)) = (wanted.secret, &webhook.secret) {
        return Ok(context.output.line(secret.expose())?);
    }
    shown(context, &webhook, || {
        output::webhook::page(&webhook, context.clock.now())
    })
}

async fn delete(context: &Context, wanted: &DeleteArgs) -> Result<(), Failure> {
    let webhooks = webhooks(context, &wanted.scope).await?;
    let mut ids = Vec::new();
    for id in &wanted.ids {
        let id = find(&webhooks, id).await?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    for id in &ids {
        webhooks.delete(*id).await?;
    }
    if context.output.json {
        return Ok(context.output.json(&json!({ "deleted": ids.len() }))?);
    }
    let noun = if ids.len() == 1 { "webhook" } else { "webhooks" };
    Ok(context.output.line(&format!("{} {noun} deleted", ids.len()))?)
}

/// Sends a test event. A target that does not take it is an error, when everything about it has been shown.
async fn test(context: &Context, wanted: &OneArgs) -> Result<(), Failure> {
    let webhooks = webhooks(context, &wanted.scope).await?;
    let tested = webhooks.test(find(&webhooks, &wanted.id).await?).await?;
    shown(context, &tested, || output::webhook::tested(&tested))?;
    if tested.success {
        return Ok(());
    }
    Err(Failure::Usage("the target did not take the test event".to_owned()))
}

async fn deliveries(context: &Context, wanted: &DeliveriesArgs) -> Result<(), Failure> {
    let webhooks = webhooks(context, &wanted.scope).await?;
    let id = find(&webhooks, &wanted.id).await?;
    let page = webhooks.deliveries(id, wanted.limit, wanted.before).await?;
    if page.deliveries.is_empty() && !context.output.json {
        context.output.note("no deliveries");
        return Ok(());
    }
    shown(context, &page, || {
        output::webhook::deliveries(&page.deliveries, context.clock.now())
    })?;
    if let (false, Some(next)) = (context.output.json, page.next) {
        context.output.note(&format!("there are more: --before {next}"));
    }
    Ok(())
}

async fn redeliver(context: &Context, wanted: &RedeliverArgs) -> Result<(), Failure> {
    let webhooks = webhooks(context, &wanted.scope).await?;
    let queued = webhooks
        .redeliver(find(&webhooks, &wanted.id).await?, wanted.delivery)
        .await?;
    if context.output.json {
        return Ok(context.output.json(&queued)?);
    }
    Ok(context.output.line(&format!("{} is delivered once more", queued.id))?)
}
