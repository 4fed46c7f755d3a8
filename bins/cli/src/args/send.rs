//! `restante send`

use std::path::PathBuf;

use clap::Args;

use super::wait::header;

/// `restante send`
#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// A recipient; may be given several times. The inbox in use unless given
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) to: Vec<String>,
    /// The sender; '' sends as bounces do, with the null reverse-path
    #[arg(long, value_name = "ADDRESS", default_value = "sender@example.test")]
    pub(crate) from: String,
    /// The subject
    #[arg(long, short, value_name = "TEXT", default_value = "Test mail")]
    pub(crate) subject: String,
    /// The plain body
    #[arg(long, short, value_name = "TEXT", conflicts_with = "text_file")]
    pub(crate) text: Option<String>,
    /// The file with the plain body, or - for the standard input
    #[arg(long, value_name = "FILE|-")]
    pub(crate) text_file: Option<PathBuf>,
    /// The HTML body
    #[arg(long, value_name = "HTML", conflicts_with = "html_file")]
    pub(crate) html: Option<String>,
    /// The file with the HTML body
    #[arg(long, value_name = "FILE|-")]
    pub(crate) html_file: Option<PathBuf>,
    /// A file to attach; may be given several times
    #[arg(long = "attach", short, value_name = "FILE")]
    pub(crate) attachments: Vec<PathBuf>,
    /// A header to add; may be given several times
    #[arg(long = "header", value_name = "NAME:TEXT", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    /// A whole message to send byte for byte (RFC 5322), or - for the standard input; line ends are not changed
    #[arg(
        long,
        value_name = "FILE|-",
        conflicts_with_all = ["subject", "text", "text_file", "html", "html_file", "attachments", "headers"]
    )]
    pub(crate) raw: Option<PathBuf>,
    /// Send so many, each with a Message-ID of its own unless --raw is given
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) count: u32,
}
