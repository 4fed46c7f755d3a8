//! `restante email …`

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};
use restante_client::EmailId;

/// What is to be done with emails of the inbox in use, or of `--inbox`.
#[derive(Debug, Subcommand)]
pub(crate) enum EmailCommand {
    /// List the mail, newest first
    #[command(alias = "ls")]
    List(ListArgs),
    /// Show an email; HTML is shown as text
    #[command(alias = "show")]
    View(ViewArgs),
    /// Print or save the message as the server received it
    Raw(RawArgs),
    /// List or save the attachments of an email
    Attachments(AttachmentsArgs),
    /// Print the links of an email, one a line
    Links {
        /// Which email
        #[arg(default_value = "latest")]
        id: EmailChoice,
    },
    /// Show SPF, DKIM, DMARC and reverse DNS of an email
    Auth {
        /// Which email
        #[arg(default_value = "latest")]
        id: EmailChoice,
    },
    /// Delete emails
    #[command(alias = "rm")]
    Delete {
        /// Which emails
        #[arg(required = true, value_name = "ID")]
        ids: Vec<EmailChoice>,
    },
    /// Mark emails as read
    MarkRead {
        /// Which emails
        #[arg(required = true, value_name = "ID")]
        ids: Vec<EmailChoice>,
    },
}

/// `restante email list`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// At most so many
    #[arg(long, short = 'n', value_name = "COUNT")]
    pub(crate) limit: Option<usize>,
    /// Only those that are not marked as read
    #[arg(long)]
    pub(crate) unread: bool,
}

/// `restante email view`
#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// Which email
    #[arg(default_value = "latest")]
    pub(crate) id: EmailChoice,
    /// Print the HTML body as it is
    #[arg(long)]
    pub(crate) html: bool,
    /// Show all headers
    #[arg(long)]
    pub(crate) headers: bool,
}

/// `restante email raw`
#[derive(Debug, Args)]
pub(crate) struct RawArgs {
    /// Which email
    #[arg(default_value = "latest")]
    pub(crate) id: EmailChoice,
    /// Save it in this file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// `restante email attachments`
#[derive(Debug, Args)]
pub(crate) struct AttachmentsArgs {
    /// Which email
    #[arg(default_value = "latest")]
    pub(crate) id: EmailChoice,
    /// Save them in this folder, which is made if it is not there
    #[arg(long, short, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
}

/// Which email is meant: `latest`, or an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmailChoice {
    /// The one that arrived last.
    Latest,
    /// This one.
    Id(EmailId),
}

impl FromStr for EmailChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        text.parse()
            .map(Self::Id)
            .map_err(|_| "expected `latest`, or an id such as `restante email list` shows".to_owned())
    }
}
