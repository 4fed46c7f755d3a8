//! The commands, each in a file of its own.

mod chaos;
mod completions;
mod email;
mod inbox;
mod partial_id;
mod send;
mod server;
mod wait;
mod watch;
mod webhook;

pub(crate) use self::send::SmtpError;
use crate::args::server::ServerCommand;
use crate::args::{Arguments, Command};
use crate::config::Environment;
use crate::context::{Context, Patience};
use crate::failure::{Failure, Report};

/// Does what the command line asks for.
pub(crate) async fn run(arguments: Arguments, environment: &Environment) -> Result<(), Report> {
    if let Command::Completions { shell } = arguments.command {
        return Ok(completions::run(shell)?);
    }
    let context = Context::open(&arguments.global, environment, patience(&arguments.command))?;
    let done = dispatch(&context, arguments.command).await;
    done.map_err(|failure| Report::new(failure, context.connection))
}

/// Whoever asks for the server's health wants to hear of the first trouble.
fn patience(command: &Command) -> Patience {
    match command {
        Command::Server(ServerCommand::Health) => Patience::Once,
        _ => Patience::Retry,
    }
}

async fn dispatch(context: &Context, command: Command) -> Result<(), Failure> {
    match command {
        Command::Inbox(command) => inbox::run(context, command).await,
        Command::Email(command) => email::run(context, command).await,
        Command::Wait(wanted) => wait::run(context, wanted).await,
        Command::Watch(wanted) => watch::run(context, wanted).await,
        Command::Webhook(command) => webhook::run(context, command).await,
        Command::Chaos(command) => chaos::run(context, command).await,
        Command::Send(mail) => send::run(context, mail).await,
        Command::Server(command) => server::run(context, command).await,
        Command::Completions { shell } => completions::run(shell),
    }
}
