//! `restante server …`

use clap::Subcommand;

/// What is asked of the server.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum ServerCommand {
    /// Show the server's limits and domains, and how it was found
    Info,
    /// Exit code 0 when the server can take and store mail, 1 when not
    Health,
}
