//! What the command line takes. Each command's arguments are in a file of its own.

pub(crate) mod chaos;
pub(crate) mod duration;
pub(crate) mod email;
pub(crate) mod global;
pub(crate) mod inbox;
pub(crate) mod send;
pub(crate) mod server;
pub(crate) mod wait;
pub(crate) mod webhook;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use self::global::Global;

const EXAMPLES: &str = "\
Examples:
  restante inbox create --ttl 10m
  restante send --subject Hello --text 'It works'
  restante wait --subject hello --timeout 30s && restante email view
  restante watch

The API key is best kept in RESTANTE_API_KEY or in a file: arguments show in lists of processes.
Exit codes: 0 done, 1 not found in time or not healthy, 2 error.";

/// Inboxes, mail, waiting and webhooks of a restante server
#[derive(Debug, Parser)]
#[command(name = "restante", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create, list, use, delete, export and import inboxes
    #[command(subcommand)]
    Inbox(inbox::InboxCommand),
    /// Look at the mail of an inbox
    #[command(subcommand)]
    Email(email::EmailCommand),
    /// Wait for mail: exit code 0 when it is there, 1 when it is not in time
    Wait(wait::WaitArgs),
    /// Show mail as it arrives, one line each
    Watch(wait::WatchArgs),
    /// Create, list, test and repair webhooks
    #[command(subcommand)]
    Webhook(webhook::WebhookCommand),
    /// Make the mail of an inbox fail on purpose: slow, refused, cut off, lost
    #[command(subcommand)]
    Chaos(chaos::ChaosCommand),
    /// Send a test mail to the server
    Send(send::SendArgs),
    /// Ask the server about itself
    #[command(subcommand)]
    Server(server::ServerCommand),
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}
