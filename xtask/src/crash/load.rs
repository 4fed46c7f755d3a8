//! Clients that work at the same time until their server ends.

mod keeper;
mod sender;

use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Result, anyhow};

use super::ledger::{FLOODED, Ledger, Violation};
use crate::probe::dice::Dice;
use crate::server::Server;
use crate::stopwatch;
use crate::trial::api::{Api, Unanswered};

/// Clients that send to many places.
const SENDERS: usize = 3;
/// Clients that create and delete inboxes, each at places of its own, and mark, read and delete emails.
const KEEPERS: usize = 2;
/// As long as there is, in seconds.
const FLOODED_TTL_SECS: u64 = 604_800;

/// What all clients of a load share.
struct Shared<'a> {
    ledger: &'a Ledger,
    /// Read by whoever does anything; written by who deletes all inboxes, so that it is certain which.
    gate: RwLock<()>,
    /// From now on a client may be left without an answer.
    is_ending: AtomicBool,
}

/// The clients of a server, connected to nothing yet.
pub(crate) struct Load {
    smtp: String,
    keepers: Vec<Api>,
}

impl Load {
    /// For a server; the inbox that is flooded is there then.
    pub(crate) fn on(server: &Server, ledger: &Ledger) -> Result<Self> {
        let is_missing = ledger.pages().places[FLOODED].life.is_none();
        if is_missing {
            let created = keeper::create(ledger, &Api::of(server)?, FLOODED, None, FLOODED_TTL_SECS);
            created.map_err(|_| anyhow!("creating an inbox is not answered"))?;
        }
        Ok(Self {
            smtp: server.discovery().smtp.clone(),
            keepers: (0..KEEPERS).map(|_| Api::of(server)).collect::<Result<_>>()?,
        })
    }

    /// Lets the clients work while `during` takes its time, and until `end` has ended the server.
    ///
    /// The name tells the messages of one load from those of all others.
    pub(crate) fn run<T>(
        self,
        ledger: &Ledger,
        dice: &mut Dice,
        name: &str,
        during: impl FnOnce() -> T,
        end: impl FnOnce(),
    ) -> T {
        let shared = Shared {
            ledger,
            gate: RwLock::new(()),
            is_ending: AtomicBool::new(false),
        };
        thread::scope(|scope| {
            let (shared, smtp) = (&shared, self.smtp.as_str());
            // The last one sends to the flooded place only.
            for number in 0..=SENDERS {
                let (mut dice, name) = (dice.split(), format!("{name}-{number}"));
                let aim = (number == SENDERS).then_some(FLOODED);
                scope.spawn(move || shared.until_it_ends(|| sender::run(shared, smtp, aim, &name, &mut dice)));
            }
            for (number, api) in self.keepers.into_iter().enumerate() {
                let mut dice = dice.split();
                scope.spawn(move || shared.until_it_ends(|| keeper::run(shared, &api, number, &mut dice)));
            }
            let done = during();
            shared.is_ending.store(true, Ordering::Release);
            end();
            done
        })
    }
}

impl Shared<'_> {
    /// Does one thing after the other; a client that gets no answer from a server that lives is wronged.
    fn until_it_ends(&self, work: impl FnOnce() -> Unanswered) {
        let Unanswered = work();
        if !self.is_ending.load(Ordering::Acquire) {
            let text = "a client got no answer while the server lived".to_owned();
            self.ledger.pages().violations.push(Violation::Refused(text));
        }
    }
}

/// Milliseconds since the epoch.
pub(crate) fn now_ms() -> u64 {
    u64::try_from(stopwatch::since_epoch().as_millis()).unwrap_or(u64::MAX)
}
