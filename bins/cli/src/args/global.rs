//! What every command takes: where the server is, with which key, and how to show results.

use std::path::PathBuf;

use clap::Args;

/// Options of all commands. What is not given here comes from the environment, then from the configuration file, then
/// from the server of this machine.
#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::doc_markdown, reason = "the comments are the help text")]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The server, such as http://127.0.0.1:8080 [env: RESTANTE_URL]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Its API key [env: RESTANTE_API_KEY, which is safer]
    // A generated key may begin with a hyphen.
    #[arg(
        long,
        global = true,
        value_name = "KEY",
        conflicts_with = "api_key_file",
        allow_hyphen_values = true
    )]
    pub(crate) api_key: Option<String>,
    /// The file that holds it [env: RESTANTE_API_KEY_FILE]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) api_key_file: Option<PathBuf>,
    /// Trust these certificates (PEM) too [env: RESTANTE_CA_FILE]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Where `send` delivers [env: RESTANTE_SMTP]
    #[arg(long, global = true, value_name = "HOST:PORT")]
    pub(crate) smtp: Option<String>,
    /// The inbox, instead of the one in use [env: RESTANTE_INBOX]
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub(crate) inbox: Option<String>,
    /// How to hear of new mail [env: RESTANTE_STRATEGY]
    #[arg(long, global = true, value_name = "auto|sse|polling", value_parser = ["auto", "sse", "polling"],
        hide_possible_values = true)]
    pub(crate) strategy: Option<String>,
    /// The configuration file [env: RESTANTE_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON for machines
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colours; NO_COLOR is heeded too
    #[arg(long, global = true, value_name = "auto|always|never", value_parser = ["auto", "always", "never"],
        hide_possible_values = true)]
    pub(crate) color: Option<String>,
}
