//! P8: lists and sync of an inbox that holds much, and new inboxes beside it.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::api::{Api, Mode, page};
use super::case::Case;
use super::figures::{Figure, Goal, Row, Unit, Waits, rows_of_waits};
use super::filler::{self, mail};
use super::ground::Ground;
use super::http::Connection;
use super::report::Report;
use super::throughput::SMALL_BYTES;
use crate::probe::peer::Peer;
use crate::server::Server;
use crate::stopwatch;

/// Emails of a page.
const PAGE: usize = 50;
/// For so many requests that change nothing there is one arrival and one deletion.
const REQUESTS_PER_CHANGE: usize = 25;
/// Connections that create inboxes.
const CREATORS: usize = 32;
const ADDRESS: &str = "full@restante.test";
/// In ms.
const READ_GOAL: Goal = Goal::AtMost(5.0);
const SYNC_AFTER_DELETION_GOAL: Goal = Goal::AtMost(200.0);
/// Inboxes a second.
const CREATE_GOAL: Goal = Goal::AtLeast(5000.0);

/// An inbox that holds much, and how far its list was read.
pub(super) struct Full {
    api: Api,
    smtp: String,
    /// What it should hold.
    emails: usize,
    /// The last id of the last page; the list begins anew without.
    cursor: Option<String>,
    /// So that no address is asked for twice.
    round: usize,
}

/// What one round saw.
pub(super) struct Seen {
    pub(super) first_page: Waits,
    pub(super) later_pages: Waits,
    pub(super) sync_unchanged: Waits,
    pub(super) sync_after_arrival: Waits,
    pub(super) sync_after_deletion: Waits,
    pub(super) created_per_second: f64,
}

/// Something that is waited for.
pub(super) struct Wait {
    pub(super) name: &'static str,
    goal: Goal,
    pub(super) of: fn(&Seen) -> Waits,
}

/// All that is waited for.
pub(super) const WAITS: [Wait; 5] = [
    Wait {
        name: "list of 50, first page",
        goal: READ_GOAL,
        of: |seen| seen.first_page,
    },
    Wait {
        name: "list of 50, later pages",
        goal: READ_GOAL,
        of: |seen| seen.later_pages,
    },
    Wait {
        name: "sync, unchanged",
        goal: READ_GOAL,
        of: |seen| seen.sync_unchanged,
    },
    Wait {
        name: "sync after an arrival",
        goal: READ_GOAL,
        of: |seen| seen.sync_after_arrival,
    },
    Wait {
        name: "sync after a deletion",
        goal: SYNC_AFTER_DELETION_GOAL,
        of: |seen| seen.sync_after_deletion,
    },
];

/// All of P8, round by round.
pub(super) fn run(ground: &Ground, report: &mut Report) -> Result<()> {
    let folder = ground.folder()?;
    let server = ground.server(folder.path())?;
    let mut full = Full::fill(&server, ground.sizes.listed)?;
    let rounds: Vec<Seen> = (0..ground.sizes.rounds)
        .map(|_| full.measure(ground))
        .collect::<Result<_>>()?;
    let lost = full.lost()?;
    for Wait { name, goal, of } in WAITS {
        let waits: Vec<Waits> = rounds.iter().map(of).collect();
        let rows = rows_of_waits(Case::P8, name, goal, &waits);
        report.rows.extend(rows.map(|row| Row {
            lost: Some(lost),
            ..row
        }));
    }
    let created = rounds.iter().map(|seen| seen.created_per_second).collect();
    let created = Figure::new("new inboxes", Unit::PerSecond, created);
    report.rows.push(Row::new(Case::P8, CREATE_GOAL, created));
    server.stop()
}

impl Full {
    /// A new inbox that holds so many mails.
    pub(super) fn fill(server: &Server, emails: usize) -> Result<Self> {
        let api = Api::of(server)?;
        api.create(ADDRESS, Mode::Plain)?;
        let smtp = server.discovery().smtp.clone();
        filler::fill(&smtp, emails, |_| ADDRESS.to_owned())?;
        Ok(Self {
            api,
            smtp,
            emails,
            cursor: None,
            round: 0,
        })
    }

    /// One round of everything.
    pub(super) fn measure(&mut self, ground: &Ground) -> Result<Seen> {
        let requests = ground.sizes.requests;
        let changes = requests.div_ceil(REQUESTS_PER_CHANGE);
        let mut connection = self.api.connect()?;
        let first = format!("/api/inboxes/{ADDRESS}/emails?limit={PAGE}");
        let sync = format!("/api/inboxes/{ADDRESS}/sync");
        // The first of either may have to read what nobody has asked for yet; the goal is about those who ask again.
        connection.expect(200, "GET", &sync, b"")?;
        let seen = Seen {
            first_page: waits(requests, || wait(&mut connection, &first))?,
            later_pages: waits(requests, || self.turn_page(&mut connection))?,
            sync_unchanged: waits(requests, || wait(&mut connection, &sync))?,
            sync_after_arrival: waits(changes, || {
                self.arrive()?;
                wait(&mut connection, &sync)
            })?,
            sync_after_deletion: waits(changes, || {
                self.delete(&mut connection)?;
                wait(&mut connection, &sync)
            })?,
            created_per_second: self.create(ground.sizes.created)?,
        };
        eprintln!(
            "round {}: P8: first page p50 {:.2} ms, later {:.2} ms, sync {:.2} ms, after an arrival {:.2} ms, \
             after a deletion {:.2} ms, {:.0} new inboxes/s",
            self.round,
            seen.first_page.p50_ms,
            seen.later_pages.p50_ms,
            seen.sync_unchanged.p50_ms,
            seen.sync_after_arrival.p50_ms,
            seen.sync_after_deletion.p50_ms,
            seen.created_per_second
        );
        Ok(seen)
    }

    /// How many of the mails it should hold are not there.
    pub(super) fn lost(&self) -> Result<u64> {
        let answer = self
            .api
            .connect()?
            .expect(200, "GET", &format!("/api/inboxes/{ADDRESS}/sync"), b"")?;
        let status: Value = serde_json::from_slice(&answer)?;
        let present = status["emailCount"].as_u64().context("a count")?;
        Ok((self.emails as u64).saturating_sub(present))
    }

    /// Reads the page behind the last one; how long that took.
    fn turn_page(&mut self, connection: &mut Connection) -> Result<Duration> {
        if self.cursor.is_none() {
            self.cursor = page(connection, ADDRESS, PAGE, None)?.pop();
        }
        let before = self.cursor.as_deref();
        let (took, ids) = stopwatch::time(|| page(connection, ADDRESS, PAGE, before));
        self.cursor = ids?.pop();
        Ok(took)
    }

    fn arrive(&mut self) -> Result<()> {
        Peer::greeted(&self.smtp)?.deliver(ADDRESS, &mail(self.emails, SMALL_BYTES))?;
        self.emails += 1;
        Ok(())
    }

    /// Deletes an email where the list was read last: neither the newest nor the oldest.
    fn delete(&mut self, connection: &mut Connection) -> Result<()> {
        let mut behind = page(connection, ADDRESS, PAGE, self.cursor.as_deref())?;
        if behind.is_empty() {
            behind = page(connection, ADDRESS, PAGE, None)?;
        }
        let id = behind.pop().context("an email")?;
        connection.expect(204, "DELETE", &format!("/api/inboxes/{ADDRESS}/emails/{id}"), b"")?;
        self.emails -= 1;
        Ok(())
    }

    /// How many new inboxes there were a second.
    fn create(&mut self, count: usize) -> Result<f64> {
        self.round += 1;
        let round = self.round;
        let address = |number| format!("new-{round}-{number}@restante.test");
        let (took, outcome) = stopwatch::time(|| self.api.create_many(count, CREATORS, None, address));
        outcome?;
        #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
        Ok(count as f64 / took.as_secs_f64())
    }
}

/// Asks so many times.
fn waits(count: usize, mut ask: impl FnMut() -> Result<Duration>) -> Result<Waits> {
    let waits: Vec<Duration> = (0..count).map(|_| ask()).collect::<Result<_>>()?;
    Ok(Waits::of(&waits))
}

fn wait(connection: &mut Connection, path: &str) -> Result<Duration> {
    let (took, outcome) = stopwatch::time(|| connection.expect(200, "GET", path, b""));
    outcome?;
    Ok(took)
}
