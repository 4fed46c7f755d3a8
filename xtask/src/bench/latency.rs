//! P5: from the end of DATA to the event on an open stream, at a steady pace.
//!
//! Sender and reader are threads of this process, so one monotonic clock times both. Several connections take turns:
//! a mail that is late delays no other one's start.

use std::collections::HashMap;
use std::io::BufRead;
use std::time::{Duration, Instant};
use std::{iter, thread};

use anyhow::{Context, Result, ensure};

use super::api::{Api, Mode, at_once};
use super::case::Case;
use super::disk::Appended;
use super::figures::{Figure, Goal, Row, Unit, Waits};
use super::filler::mail;
use super::ground::Ground;
use super::report::Report;
use super::throughput::SMALL_BYTES;
use crate::probe::peer::Peer;
use crate::server::Server;
use crate::stopwatch;

/// Between two mails: 100 a second.
const PACE: Duration = Duration::from_millis(10);
/// Connections that take turns.
const SENDERS: usize = 8;
/// An event that has not come by then is lost.
const PATIENCE: Duration = Duration::from_secs(5);
/// Beyond the time of one `fdatasync`, in ms.
const P50_GOAL: Goal = Goal::AtMost(2.0);
const P99_GOAL: Goal = Goal::AtMost(5.0);

/// What one measurement of a server saw.
pub(super) struct Told {
    pub(super) waits: Waits,
    /// Mails that were acknowledged and not told.
    pub(super) lost: u64,
}

/// An inbox that is watched.
pub(super) struct Watched {
    address: String,
    hash: String,
}

/// Events and syncs round by round.
pub(super) fn run(ground: &Ground, report: &mut Report) -> Result<()> {
    let folder = ground.folder()?;
    let server = ground.server(folder.path())?;
    let watched = Watched::new(&server)?;
    let (mut told, mut synced, mut lost) = (Vec::new(), Vec::new(), 0);
    for round in 1..=ground.sizes.rounds {
        let sync = Appended::new(ground, SMALL_BYTES)?.paced(ground.sizes.paced_syncs, PACE)?;
        let seen = watched.measure(&server, ground.sizes.paced_mails)?;
        eprintln!(
            "round {round}: P5: event p50 {:.2} ms, p99 {:.2} ms; fdatasync p50 {:.2} ms, p99 {:.2} ms",
            seen.waits.p50_ms, seen.waits.p99_ms, sync.p50_ms, sync.p99_ms
        );
        told.push(seen.waits);
        synced.push(sync);
        lost += seen.lost;
    }
    let rows = [
        row("p50", P50_GOAL, |waits| waits.p50_ms, &told, &synced),
        row("p99", P99_GOAL, |waits| waits.p99_ms, &told, &synced),
    ];
    report.rows.extend(rows.map(|row| Row {
        lost: Some(lost),
        ..row
    }));
    server.stop()
}

/// How much longer an event takes than a sync, round by round.
fn row(which: &str, goal: Goal, of: fn(&Waits) -> f64, told: &[Waits], synced: &[Waits]) -> Row {
    let events: Vec<f64> = told.iter().map(of).collect();
    let syncs: Vec<f64> = synced.iter().map(of).collect();
    let beyond = events.iter().zip(&syncs).map(|(event, sync)| event - sync).collect();
    let name = format!("end of DATA to event beyond one fdatasync, {which}");
    Row {
        behind: vec![
            Figure::new("event", Unit::Milliseconds, events),
            Figure::new("fdatasync", Unit::Milliseconds, syncs),
        ],
        ..Row::new(Case::P5, goal, Figure::new(name, Unit::Milliseconds, beyond))
    }
}

impl Watched {
    /// A new plain inbox.
    pub(super) fn new(server: &Server) -> Result<Self> {
        let address = "watched@restante.test".to_owned();
        let hash = Api::of(server)?.create(&address, Mode::Plain)?;
        Ok(Self { address, hash })
    }

    /// Sends so many mails at the pace and waits for their events.
    pub(super) fn measure(&self, server: &Server, mails: usize) -> Result<Told> {
        let path = format!("/api/events?inboxes={}", self.hash);
        let stream = Api::of(server)?.connect()?.follow(&path, PATIENCE)?;
        let smtp = &server.discovery().smtp;
        let (ended, told) = thread::scope(|scope| {
            let reader = scope.spawn(move || events(stream).take(mails).collect::<HashMap<_, _>>());
            let ended = paced(smtp, &self.address, mails, PACE);
            (ended, reader.join().expect("the reader does not panic"))
        });
        let ended = ended?;
        let waits = ended
            .iter()
            .filter_map(|(id, end)| Some(told.get(id)?.saturating_duration_since(*end)));
        let waits: Vec<Duration> = waits.collect();
        ensure!(!waits.is_empty(), "no event came");
        Ok(Told {
            lost: (ended.len() - waits.len()) as u64,
            waits: Waits::of(&waits),
        })
    }
}

/// Sends at a pace; the ids with the moments at which their last dots were written.
pub(super) fn paced(smtp: &str, address: &str, mails: usize, pace: Duration) -> Result<Vec<(String, Instant)>> {
    let start = stopwatch::instant();
    let sent = at_once(SENDERS.min(mails), |sender| {
        let mut peer = Peer::greeted(smtp)?;
        let turns = (sender..mails).step_by(SENDERS);
        turns
            .map(|turn| {
                let due = pace * u32::try_from(turn)?;
                thread::sleep(due.saturating_sub(start.elapsed()));
                send_one(&mut peer, address, turn)
            })
            .collect::<Result<Vec<_>>>()
    })?;
    Ok(sent.into_iter().flatten().collect())
}

fn send_one(peer: &mut Peer, address: &str, number: usize) -> Result<(String, Instant)> {
    peer.open_data(address)?;
    peer.send(mail(number, SMALL_BYTES))?;
    let end = stopwatch::instant();
    let reply = peer.expect(".", 250)?;
    let id = reply.ids().pop().with_context(|| format!("`{reply}` names no email"))?;
    Ok((id, end))
}

/// The ids of the events of a stream, with the moments at which they had come; ends with the patience.
fn events(mut stream: impl BufRead) -> impl Iterator<Item = (String, Instant)> {
    let mut id = None;
    iter::from_fn(move || {
        let mut line = String::new();
        while stream.read_line(&mut line).is_ok_and(|read| read > 0) {
            // A blank line ends an event (HTML, "Server-sent events").
            match line.trim_end().strip_prefix("id: ") {
                Some(named) => id = Some(named.to_owned()),
                None if line.trim_end().is_empty() => {
                    if let Some(id) = id.take() {
                        return Some((id, stopwatch::instant()));
                    }
                }
                None => {}
            }
            line.clear();
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_those_that_ended() {
        let stream = ": hello\n\nid: msg_1\ndata: {}\n\n: still here\n\nid: msg_2\ndata: {}\n\nid: msg_3\ndata: {}\n";
        let ids: Vec<_> = events(stream.as_bytes()).map(|(id, _)| id).collect();
        assert_eq!(ids, ["msg_1", "msg_2"]);
    }
}
