//! `restante webhook …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What is to be done with webhooks: the global ones, or those of one inbox.
#[derive(Debug, Args)]
pub(crate) struct Scope {
    /// The webhooks of the inbox in use instead of the global ones; `--inbox ADDRESS` means that inbox's
    #[arg(long)]
    pub(crate) for_inbox: bool,
}

/// What is to be done with webhooks.
#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// List the webhooks
    #[command(alias = "ls")]
    List(ScopeOnly),
    /// Create a webhook
    Create(CreateArgs),
    /// Show a webhook with its statistics
    Show(ShowArgs),
    /// Change a webhook
    Update(UpdateArgs),
    /// Delete webhooks
    #[command(alias = "rm")]
    Delete(DeleteArgs),
    /// Send a test event, and show what the target answers
    Test(OneArgs),
    /// Replace the signing secret; the old one stays valid for an hour
    Rotate(OneArgs),
    /// List the last deliveries, newest first
    Deliveries(DeliveriesArgs),
    /// Deliver an event once more
    Redeliver(RedeliverArgs),
}

/// No more than the scope.
#[derive(Debug, Args)]
pub(crate) struct ScopeOnly {
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// One webhook.
#[derive(Debug, Args)]
pub(crate) struct OneArgs {
    /// Its id
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// `restante webhook show`
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Its id
    pub(crate) id: String,
    /// Print the signing secret alone
    #[arg(long)]
    pub(crate) secret: bool,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// What a filter, a template and a description are made of.
#[derive(Debug, Args)]
pub(crate) struct ContentArgs {
    /// A built-in template: default, slack, discord, teams, simple, notification or zapier
    #[arg(long, value_name = "NAME", conflicts_with = "template_file")]
    pub(crate) template: Option<String>,
    /// A file with a template of your own: JSON with {{variables}}
    #[arg(long, value_name = "FILE")]
    pub(crate) template_file: Option<PathBuf>,
    /// The content type of a template of your own
    #[arg(long, value_name = "TYPE", requires = "template_file")]
    pub(crate) content_type: Option<String>,
    /// Only events whose mail fits, such as 'subject contains order'; may be given several times
    #[arg(long = "filter", value_name = "FIELD OPERATOR VALUE")]
    pub(crate) filters: Vec<String>,
    /// One fitting filter is enough, instead of all
    #[arg(long, requires = "filters")]
    pub(crate) any: bool,
    /// Filters regard case
    #[arg(long, requires = "filters")]
    pub(crate) case_sensitive: bool,
    /// Only mail that passes SPF, DKIM and DMARC
    #[arg(long)]
    pub(crate) require_auth: bool,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
}

/// `restante webhook create`
#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// Where events are posted to
    #[arg(value_name = "URL")]
    pub(crate) target: String,
    /// The kinds of events, separated by commas
    #[arg(
        long = "event",
        value_name = "KIND",
        value_delimiter = ',',
        default_value = "email.received"
    )]
    pub(crate) events: Vec<String>,
    #[command(flatten)]
    pub(crate) content: ContentArgs,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// `restante webhook update`
#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Its id
    pub(crate) id: String,
    /// Where events are posted to
    #[arg(long, value_name = "URL")]
    pub(crate) target: Option<String>,
    /// The kinds of events, separated by commas
    #[arg(long = "event", value_name = "KIND", value_delimiter = ',')]
    pub(crate) events: Vec<String>,
    #[command(flatten)]
    pub(crate) content: ContentArgs,
    /// Remove the template
    #[arg(long, conflicts_with_all = ["template", "template_file"])]
    pub(crate) no_template: bool,
    /// Remove the filter
    #[arg(long, conflicts_with_all = ["filters", "require_auth"])]
    pub(crate) no_filter: bool,
    /// Remove the description
    #[arg(long, conflicts_with = "description")]
    pub(crate) no_description: bool,
    /// Deliver again
    #[arg(long, conflicts_with = "disable")]
    pub(crate) enable: bool,
    /// Deliver no more
    #[arg(long)]
    pub(crate) disable: bool,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// `restante webhook delete`
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// Their ids
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// `restante webhook deliveries`
#[derive(Debug, Args)]
pub(crate) struct DeliveriesArgs {
    /// The webhook's id
    pub(crate) id: String,
    /// At most so many
    #[arg(long, short = 'n', value_name = "COUNT")]
    pub(crate) limit: Option<u32>,
    /// Those before this delivery
    #[arg(long, value_name = "DELIVERY")]
    pub(crate) before: Option<String>,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// `restante webhook redeliver`
#[derive(Debug, Args)]
pub(crate) struct RedeliverArgs {
    /// The webhook's id
    pub(crate) id: String,
    /// The delivery's id
    pub(crate) delivery: String,
    #[command(flatten)]
    pub(crate) scope: Scope,
}
