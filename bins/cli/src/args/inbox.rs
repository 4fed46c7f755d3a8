//! `restante inbox …`

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::duration;

/// What is to be done with inboxes.
#[derive(Debug, Subcommand)]
pub(crate) enum InboxCommand {
    /// Create an inbox; it becomes the one in use
    #[command(alias = "new")]
    Create(CreateArgs),
    /// List the inboxes of the server, and those whose keys are here
    #[command(alias = "ls")]
    List,
    /// Show one inbox
    Info {
        /// Its address; the inbox in use unless given
        address: Option<String>,
    },
    /// Make an inbox the one in use
    Use {
        /// Its address
        address: String,
    },
    /// Delete inboxes with their mail; the inbox in use unless one is given
    #[command(alias = "rm")]
    Delete(DeleteArgs),
    /// Write an inbox with its key to a file that only you can read
    Export(ExportArgs),
    /// Take an exported inbox in; it becomes the one in use
    Import(ImportArgs),
}

/// `restante inbox create`
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct CreateArgs {
    /// The address, or a domain for a random address there; the server chooses unless given
    #[arg(value_name = "ADDRESS|DOMAIN")]
    pub(crate) address: Option<String>,
    /// How long the inbox lives, such as 90s, 10m, 2h or 7d; the server's default unless given
    #[arg(long, value_name = "SPAN", value_parser = duration::parse)]
    pub(crate) ttl: Option<Duration>,
    /// Let it live until it is deleted; only servers in the wire profile `vaultsandbox` do
    #[arg(long, conflicts_with_all = ["ttl", "ephemeral"])]
    pub(crate) never_expires: bool,
    /// Ask for an inbox that is kept when the server restarts
    #[arg(long, conflicts_with = "ephemeral")]
    pub(crate) persistent: bool,
    /// Ask for one that need not be; restante servers keep it all the same
    #[arg(long)]
    pub(crate) ephemeral: bool,
    /// Seal the mail for a key that is made and kept here
    #[arg(long, conflicts_with = "plain")]
    pub(crate) encrypted: bool,
    /// Do not seal the mail
    #[arg(long)]
    pub(crate) plain: bool,
    /// Check SPF, DKIM, DMARC and reverse DNS of the mail
    #[arg(long, conflicts_with = "no_email_auth")]
    pub(crate) email_auth: bool,
    /// Do not check them
    #[arg(long)]
    pub(crate) no_email_auth: bool,
    /// Ask the server's spam filter about the mail
    #[arg(long, conflicts_with = "no_spam_analysis")]
    pub(crate) spam_analysis: bool,
    /// Do not ask it
    #[arg(long)]
    pub(crate) no_spam_analysis: bool,
    /// Print the address alone
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `restante inbox delete`
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// Their addresses
    #[arg(value_name = "ADDRESS", conflicts_with = "all")]
    pub(crate) addresses: Vec<String>,
    /// All inboxes of the server, whoever created them
    #[arg(long)]
    pub(crate) all: bool,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// `restante inbox export`
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Its address; the inbox in use unless given
    pub(crate) address: Option<String>,
    /// A file, a folder, or - for the standard output; unless given a file here named after the address
    #[arg(long, short, value_name = "FILE|DIR|-")]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite a file that is there
    #[arg(long, short)]
    pub(crate) force: bool,
}

/// `restante inbox import`
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The exported file, or - for the standard input
    #[arg(value_name = "FILE|-")]
    pub(crate) file: PathBuf,
    /// Replace an inbox that is known already
    #[arg(long)]
    pub(crate) replace: bool,
}
