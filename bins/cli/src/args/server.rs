//! `restante server …`

use clap::Subcommand;

/// What is asked of the server.
#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum ServerCommand {
    /// Show the server's limits and domains, and how it was found
    Info,
    /// Show what the server counts of its work since it was started, and how much room mail has
    Metrics,
    /// Exit code 0 when the server can take and store mail, 1 when not
    Health,
}
