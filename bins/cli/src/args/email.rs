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
    Links(ChoiceArgs),
    /// Show SPF, DKIM, DMARC and reverse DNS of an email
    Auth(ChoiceArgs),
    /// Delete emails
    #[command(alias = "rm")]
    Delete(ChangeArgs),
    /// Mark emails as read
    MarkRead(ChangeArgs),
}

/// Which email is meant.
#[derive(Debug, Args)]
pub(crate) struct ChoiceArgs {
    /// Which email: `latest`, an id, or as much of its beginning or end as no other has
    #[arg(default_value = "latest", value_name = "ID")]
    pub(crate) id: EmailChoice,
    /// The latest one whose subject contains this
    #[arg(long, value_name = "TEXT", conflicts_with = "id")]
    pub(crate) subject: Option<String>,
}

/// `restante email delete` and `restante email mark-read`
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    /// Which emails: ids, or as much of their beginning or end as no other has
    #[arg(required_unless_present = "all", value_name = "ID")]
    pub(crate) ids: Vec<EmailChoice>,
    /// All of the inbox
    #[arg(long, conflicts_with = "ids")]
    pub(crate) all: bool,
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
    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,
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
    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,
    /// Save it in this file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite a file that is there
    #[arg(long, short, requires = "out")]
    pub(crate) force: bool,
}

/// `restante email attachments`
#[derive(Debug, Args)]
pub(crate) struct AttachmentsArgs {
    #[command(flatten)]
    pub(crate) choice: ChoiceArgs,
    /// Save them in this folder, which is made if it is not there
    #[arg(long, short, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
}

/// One email of an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EmailChoice {
    /// The one that arrived last.
    Latest,
    /// This one.
    Id(EmailId),
    /// The only one whose id begins or ends like this.
    Part(String),
}

impl FromStr for EmailChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        let digits = text.strip_prefix("msg_").unwrap_or(text);
        let is_part = (1..=32).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_part {
            return Err("expected `latest`, or an id such as `restante email list` shows".to_owned());
        }
        let text = text.to_ascii_lowercase();
        Ok(text.parse().map_or(Self::Part(text), Self::Id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_is_the_latest_or_has_an_id() {
        assert_eq!("latest".parse(), Ok(EmailChoice::Latest));
        let id = "msg_0190a8f2c5d17e6b8a7c0123456789ab";
        assert_eq!(id.parse(), Ok(EmailChoice::Id(id.parse().unwrap())));
        for part in ["msg_0190", "789ab", "0190a8f2c5d17e6b8a7c0123456789ab"] {
            assert_eq!(part.parse(), Ok(EmailChoice::Part(part.to_owned())));
        }
        for wrong in ["", "msg_", "xyz", "last", &format!("{id}0")] {
            assert!(wrong.parse::<EmailChoice>().is_err(), "{wrong}");
        }
    }
}
