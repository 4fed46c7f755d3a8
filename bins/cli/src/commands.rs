//! The commands, each in a file of its own.

mod completions;
mod email;
mod inbox;
mod send;
mod server;
mod wait;
mod watch;
mod webhook;

use crate::args::{Arguments, Command};
use crate::context::Context;
use crate::failure::Failure;

/// Does what the command line asks for.
pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    if let Command::Completions { shell } = arguments.command {
        return completions::run(shell);
    }
    let context = Context::open(&arguments.global)?;
    match arguments.command {
        Command::Inbox(command) => inbox::run(&context, command).await,
        Command::Email(command) => email::run(&context, command).await,
        Command::Wait(wanted) => wait::run(&context, wanted).await,
        Command::Watch(wanted) => watch::run(&context, wanted).await,
        Command::Webhook(command) => webhook::run(&context, command).await,
        Command::Send(mail) => send::run(&context, mail).await,
        Command::Server(command) => server::run(&context, command).await,
        Command::Completions { .. } => Ok(()),
    }
}
