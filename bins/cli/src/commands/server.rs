//! `restante server`

use restante_client::{Error, ServerInfo};

use crate::args::server::ServerCommand;
use crate::context::Context;
use crate::failure::Failure;
use crate::output;
use crate::output::table::Table;
use crate::output::{style, time};

/// The status of a server that cannot do its work (decisions, section 3).
const UNAVAILABLE: u16 = 503;

/// Does it.
pub(crate) async fn run(context: &Context, command: ServerCommand) -> Result<(), Failure> {
    match command {
        ServerCommand::Info => info(context).await,
        ServerCommand::Metrics => metrics(context).await,
        ServerCommand::Health => health(context).await,
    }
}

async fn info(context: &Context) -> Result<(), Failure> {
    let info = context.client.server_info().await?;
    if context.output.json {
        return Ok(context.output.json(&*info)?);
    }
    let mut table = Table::facts();
    add_connection(&mut table, context);
    add_limits(&mut table, &info);
    Ok(context.output.table(&table)?)
}

/// Both answers of the interface; for machines under the names of what they are about.
async fn metrics(context: &Context) -> Result<(), Failure> {
    let work = context.client.metrics().await?;
    let storage = context.client.storage_metrics().await?;
    if context.output.json {
        let both = serde_json::json!({ "metrics": work, "storage": storage });
        return Ok(context.output.json(&both)?);
    }
    Ok(context.output.table(&output::metrics::table(&work, &storage))?)
}

/// Where the server is, and who says so.
fn add_connection(table: &mut Table, context: &Context) {
    let connection = &context.connection;
    table.fact("Server", format!("{} (from {})", connection.url, connection.url_origin));
    table.fact("API key", format!("from {}", connection.key_origin));
    let smtp = match (&context.smtp, &connection.smtp_origin) {
        (Some(smtp), Some(origin)) => format!("{smtp} (from {origin})"),
        _ => "unknown: name it with --smtp or RESTANTE_SMTP".to_owned(),
    };
    table.fact("SMTP", smtp);
    table.fact("Keys of inboxes", context.keystore.path().display().to_string());
}

fn add_limits(table: &mut Table, info: &ServerInfo) {
    let domains: Vec<_> = info.allowed_domains.iter().map(ToString::to_string).collect();
    let seconds = |seconds: u32| time::span(std::time::Duration::from_secs(seconds.into()));
    table.fact("Domains", domains.join(", "));
    table.fact("Encryption", encryption(&info.encryption_policy));
    table.fact(
        "Inboxes live",
        format!("{}, at most {}", seconds(info.default_ttl), seconds(info.max_ttl)),
    );
    table.fact(
        "Webhooks",
        if info.webhook_enabled {
            "delivered"
        } else {
            "switched off"
        },
    );
    // An older server says nothing of these.
    if !info.persistence_policy.is_empty() {
        table.fact("Persistence", persistence(&info.persistence_policy));
        table.fact("Deletion of all", switched(info.allow_clear_all_inboxes));
    }
    table.fact("Chaos", switched(info.chaos_enabled));
    table.fact("Spam filter", switched(info.spam_analysis_enabled));
    table.fact("Console stream", switched(info.sse_console));
    table.fact("Context", info.context.clone());
    table.fact(
        "Signing key",
        info.server_sig_pk.chars().take(16).chain(['…']).collect::<String>(),
    );
}

/// Interface, "Encryption policy semantics".
fn encryption(policy: &str) -> String {
    let meaning = match policy {
        "always" => "every inbox",
        "enabled" => "unless an inbox asks for plain",
        "disabled" => "if an inbox asks for it",
        "never" => "no inbox",
        _ => return policy.to_owned(),
    };
    format!("{policy}: {meaning}")
}

/// Source: interface additions, "Persistence".
fn persistence(policy: &str) -> String {
    let meaning = match policy {
        "always" => "every inbox is persistent",
        "enabled" => "persistent unless an inbox asks for ephemeral",
        "disabled" => "ephemeral unless an inbox asks for persistent",
        "never" => "every inbox is ephemeral",
        _ => return policy.to_owned(),
    };
    format!("{policy}: {meaning}")
}

fn switched(on: bool) -> &'static str {
    if on { "switched on" } else { "switched off" }
}

async fn health(context: &Context) -> Result<(), Failure> {
    let status = match context.client.health().await {
        Ok(_) => "ok",
        Err(Error::Api(answer)) if answer.status == UNAVAILABLE => "error",
        Err(error) => return Err(error.into()),
    };
    if context.output.json {
        context.output.json(&serde_json::json!({ "status": status }))?;
    } else if status == "ok" {
        context
            .output
            .line(&format!("{} is {}", context.connection.url, style::good("healthy")))?;
    }
    if status == "ok" {
        Ok(())
    } else {
        Err(Failure::NotHealthy)
    }
}
