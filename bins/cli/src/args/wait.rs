//! `restante wait` and `restante watch`

use std::time::Duration;

use clap::Args;

use super::duration;

/// Which emails are meant. Texts are looked for anywhere in what they are compared with, without regard to case.
#[derive(Debug, Args)]
pub(crate) struct MatcherArgs {
    /// The subject contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) subject: Option<String>,
    /// The sender contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) from: Option<String>,
    /// A recipient contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) to: Option<String>,
    /// The plain text contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// The value of this header contains this text; may be given several times
    #[arg(long = "header", value_name = "NAME:TEXT", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
}

/// `restante wait`
#[derive(Debug, Args)]
pub(crate) struct WaitArgs {
    #[command(flatten)]
    pub(crate) matcher: MatcherArgs,
    /// Wait for so many; with --json they come as an array, even a single one
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) count: Option<u32>,
    /// Wait that none comes: exit code 1 when one does
    #[arg(long, conflicts_with = "count")]
    pub(crate) none: bool,
    /// How long to wait, such as 90s or 2m [default: 30s, with --none 5s]
    #[arg(long, value_name = "SPAN", value_parser = duration::parse)]
    timeout: Option<Duration>,
    /// Print no result: the exit code tells. Errors are printed, a time-out too
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl WaitArgs {
    /// How long to wait. That none comes takes all of it each time, a mail that comes ends it: the defaults of the SDK.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
            .unwrap_or(Duration::from_secs(if self.none { 5 } else { 30 }))
    }
}

/// `restante watch`
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// The inboxes; the one in use unless given
    #[arg(value_name = "ADDRESS", conflicts_with = "all")]
    pub(crate) addresses: Vec<String>,
    /// All inboxes whose mail can be read from here
    #[arg(long)]
    pub(crate) all: bool,
    /// Show the mail that is there already first
    #[arg(long)]
    pub(crate) existing: bool,
    /// End after so many
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) count: Option<u32>,
}

/// Reads `Name: value`; both are trimmed.
pub(crate) fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').unwrap_or((text, ""));
    let name = name.trim();
    // RFC 5322 section 3.6.8: printable US-ASCII without the colon.
    if !text.contains(':') || name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("expected the name of a header, a colon and a text".to_owned());
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn that_none_comes_is_waited_for_shorter_unless_said_otherwise() {
        #[derive(Debug, Parser)]
        struct Command {
            #[command(flatten)]
            wait: WaitArgs,
        }
        let cases: [(&[&str], u64); 4] = [
            (&[], 30),
            (&["--none"], 5),
            (&["--timeout", "2m"], 120),
            (&["--none", "--timeout", "7"], 7),
        ];
        for (arguments, seconds) in cases {
            let wait = Command::parse_from(["wait"].iter().chain(arguments)).wait;
            assert_eq!(wait.timeout(), Duration::from_secs(seconds), "{arguments:?}");
        }
    }

    #[test]
    fn a_header_is_a_name_and_a_text() {
        assert_eq!(header("X-Id: a:b "), Ok(("X-Id".to_owned(), "a:b".to_owned())));
        assert_eq!(header("X-Id:"), Ok(("X-Id".to_owned(), String::new())));
        for text in ["", "X-Id", ": x", "X Id: x", "Ü: x"] {
            assert!(header(text).is_err(), "{text}");
        }
    }
}
