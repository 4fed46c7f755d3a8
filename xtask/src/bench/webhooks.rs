//! P9: deliveries a second to a local receiver, of one webhook and of ten, while mail comes in as fast as it can.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::api::{Api, Mode};
use super::case::Case;
use super::figures::{Figure, Goal, Row, Unit};
use super::filler;
use super::ground::Ground;
use super::report::Report;
use crate::machine;
use crate::receiver::{Delivery, Manner, Receiver};
use crate::server::Server;

/// Webhooks may be sent to this machine.
pub(super) const SETTINGS: &[(&str, &str)] = &[("SVC_WEBHOOK_ALLOW_HTTP", "true")];
const ADDRESS: &str = "delivered@restante.test";
/// Deliveries a second.
const GOAL: Goal = Goal::AtLeast(2000.0);
/// So many webhooks get every mail.
const CROWDS: [usize; 2] = [1, 10];
/// What has not come by then is lost.
const PATIENCE: Duration = Duration::from_mins(2);

/// What one measurement saw.
struct Seen {
    per_second: f64,
    /// Processor time of the server for a delivery, with its share of the mail, in ms.
    processor_ms: f64,
    lost: u64,
}

/// Each crowd of webhooks, round by round.
pub(super) fn run(ground: &Ground, report: &mut Report) -> Result<()> {
    let folder = ground.folder()?;
    let server = ground.server_with(folder.path(), SETTINGS)?;
    Api::of(&server)?.create(ADDRESS, Mode::Plain)?;
    let mut rounds: [Vec<Seen>; CROWDS.len()] = Default::default();
    for round in 1..=ground.sizes.rounds {
        for (webhooks, seen) in CROWDS.into_iter().zip(&mut rounds) {
            let measured = measure(ground, &server, webhooks)?;
            eprintln!(
                "round {round}: P9: {webhooks} webhooks, {:.0} deliveries/s, {:.2} ms each",
                measured.per_second, measured.processor_ms
            );
            seen.push(measured);
        }
    }
    for (webhooks, seen) in CROWDS.into_iter().zip(&rounds) {
        report.rows.push(row(webhooks, seen));
    }
    report.note(format!(
        "Peak memory of the server over the rounds of P9: {:.0} MB.",
        machine::memory_mb(server.pid(), "VmHWM")?
    ));
    server.stop()
}

fn row(webhooks: usize, rounds: &[Seen]) -> Row {
    let figures = |of: fn(&Seen) -> f64| rounds.iter().map(of).collect();
    let name = match webhooks {
        1 => "deliveries, one webhook".to_owned(),
        _ => format!("deliveries, {webhooks} webhooks"),
    };
    let processor = figures(|seen| seen.processor_ms);
    Row {
        behind: vec![Figure::new("processor time of each", Unit::Milliseconds, processor)],
        lost: Some(rounds.iter().map(|seen| seen.lost).sum()),
        ..Row::new(
            Case::P9,
            GOAL,
            Figure::new(name, Unit::PerSecond, figures(|seen| seen.per_second)),
        )
    }
}

/// So many new webhooks get every mail of a load.
fn measure(ground: &Ground, server: &Server, webhooks: usize) -> Result<Seen> {
    let receiver = Receiver::start(Manner::Prompt)?;
    let api = Api::of(server)?;
    let made = (0..webhooks).map(|number| api.create_webhook(&receiver.url(&format!("/{number}"))));
    let made: Vec<String> = made.collect::<Result<_>>()?;
    let mails = ground.sizes.mails as usize;
    let before = machine::processor_time(server.pid())?;
    filler::fill(&server.discovery().smtp, mails, |_| ADDRESS.to_owned())?;
    let deliveries = receiver.take(mails * webhooks, PATIENCE);
    let processor = machine::processor_time(server.pid())?.saturating_sub(before);
    for id in made {
        api.delete_webhook(&id)?;
    }
    let distinct: HashSet<_> = deliveries.iter().map(|one| (&one.path, &one.email)).collect();
    #[expect(clippy::cast_precision_loss, reason = "a hundred thousand")]
    Ok(Seen {
        per_second: distinct.len() as f64 / lasting(&deliveries).context("nothing was delivered")?.as_secs_f64(),
        processor_ms: processor.as_secs_f64() * 1e3 / distinct.len() as f64,
        lost: (mails * webhooks - distinct.len()) as u64,
    })
}

/// From the first to the last.
fn lasting(deliveries: &[Delivery]) -> Option<Duration> {
    let moments = || deliveries.iter().map(|one| one.at);
    Some(moments().max()? - moments().min()?)
}
