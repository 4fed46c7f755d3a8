//! `restante chaos`

use std::io::Read as _;
use std::path::Path;
use std::{fs, io};

use restante_client::chaos::{Chaos, Drops, Errors, Greylisting};
use restante_client::{Inbox, Timestamp};

use crate::args::chaos::{ChaosCommand, SetArgs};
use crate::context::Context;
use crate::failure::Failure;
use crate::output;
use crate::output::clean;

/// Does it.
pub(crate) async fn run(context: &Context, command: ChaosCommand) -> Result<(), Failure> {
    let wanted = match &command {
        ChaosCommand::Set(wanted) => Some(chaos(wanted, context.clock.now())?),
        ChaosCommand::Show | ChaosCommand::Clear => None,
    };
    let inbox = context.inbox(None).await?;
    let config = match command {
        ChaosCommand::Clear => return clear(context, &inbox).await,
        ChaosCommand::Show | ChaosCommand::Set(_) => match wanted {
            Some(wanted) => inbox.set_chaos(&wanted).await?,
            None => inbox.chaos().await?,
        },
    };
    if context.output.json {
        return Ok(context.output.json(&config)?);
    }
    let table = output::chaos::table(inbox.address(), &config, context.clock.now());
    Ok(context.output.table(&table)?)
}

async fn clear(context: &Context, inbox: &Inbox) -> Result<(), Failure> {
    inbox.clear_chaos().await?;
    if context.output.json {
        return Ok(context.output.json(&serde_json::json!({ "enabled": false }))?);
    }
    let line = format!("the mail of {} goes through again", clean::line(inbox.address()));
    Ok(context.output.line(&line)?)
}

/// What the flags say, or the file.
fn chaos(wanted: &SetArgs, now: Timestamp) -> Result<Chaos, Failure> {
    if let Some(file) = &wanted.file {
        return read(file);
    }
    let mut chaos = Chaos::new();
    if let Some(delays) = wanted.latency {
        chaos = chaos.latency(delays);
    }
    if let Some(rate) = wanted.drop {
        chaos = chaos.connection_drop(Drops::graceful().probability(rate));
    }
    if let Some(rate) = wanted.reset {
        chaos = chaos.connection_drop(Drops::reset().probability(rate));
    }
    if let Some(rate) = wanted.error_rate {
        let errors = if wanted.permanent {
            Errors::permanent()
        } else {
            Errors::temporary()
        };
        chaos = chaos.random_error(errors.rate(rate));
    }
    if let Some(attempt) = wanted.greylist {
        chaos = chaos.greylist(Greylisting::new().max_attempts(attempt));
    }
    chaos = match (wanted.blackhole, wanted.tell_webhooks) {
        (false, _) => chaos,
        (true, false) => chaos.blackhole(),
        (true, true) => chaos.blackhole_that_webhooks_hear_of(),
    };
    if let Some(span) = wanted.lasting {
        chaos = chaos.until(now.after(span));
    }
    Ok(chaos)
}

fn read(file: &Path) -> Result<Chaos, Failure> {
    let is_standard = file.as_os_str() == "-";
    let text = if is_standard { standard_input() } else { fs::read(file) };
    let path = if is_standard {
        Path::new("the standard input")
    } else {
        file
    };
    let text = text.map_err(|source| Failure::File {
        path: path.to_owned(),
        source,
    })?;
    serde_json::from_slice(&text).map_err(|error| {
        let reason = format!(
            "{}: expected the JSON of `restante chaos show --json`: {error}",
            path.display()
        );
        Failure::Usage(reason)
    })
}

fn standard_input() -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    io::stdin().lock().read_to_end(&mut text)?;
    Ok(text)
}
