//! The server is killed again and again, and sometimes only stopped, while mail comes in, is marked and deleted: what
//! was acknowledged stays.
//!
//! `RESTANTE_KILL_ROUNDS` says how often (3 without it), `RESTANTE_KILL_SEED` repeats the dice of a run that failed;
//! how threads and the disk interleave is not repeated.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

#[path = "../process/daemon.rs"]
#[allow(dead_code, reason = "shared with other tests, which use other parts")]
mod daemon;
#[path = "../e2e/dice.rs"]
#[allow(dead_code, reason = "shared with other tests, which use other parts")]
mod dice;
#[path = "../e2e/harness/http.rs"]
#[allow(dead_code, reason = "shared with other tests, which use other parts")]
mod http;
mod ledger;
mod load;
#[path = "../e2e/peer.rs"]
#[allow(dead_code, reason = "shared with other tests, which use other parts")]
mod peer;
mod survey;

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use restante_envelope::{DecapsulationKey, base64url};

use daemon::Daemon;
use dice::Dice;
use ledger::Ledger;
use load::End;
use survey::{Depth, Survey};

/// The keys of the clients by inbox.
type Clients = HashMap<&'static str, DecapsulationKey>;

/// The inboxes.
const ADDRESSES: [&str; 4] = [
    "a@restante.test",
    "b@restante.test",
    "c@restante.test",
    "d@restante.test",
];

/// A start may take so long, whatever state the kill left.
const READY_WITHIN: Duration = Duration::from_secs(5);

#[test]
fn what_was_acknowledged_outlives_every_end() {
    let rounds: u32 = variable("RESTANTE_KILL_ROUNDS").map_or(3, |rounds| rounds.parse().unwrap());
    let mut dice = match variable("RESTANTE_KILL_SEED") {
        Some(seed) => Dice::of(seed.parse().unwrap()),
        None => Dice::thrown(),
    };
    let home = tempfile::tempdir().unwrap();
    let mut server = Daemon::start(home.path(), &[]);
    let clients = create_inboxes(&server);
    let ledger = Ledger::default();
    for round in 0..rounds {
        let end = if round % 3 == 2 { End::Asked } else { End::Killed };
        load::run(server, end, &ledger, &mut dice, round);
        interrupt_starts(home.path(), &mut dice);
        server = Daemon::start(home.path(), &[]);
        assert!(
            server.ready_after < READY_WITHIN,
            "round {round}: ready after {:?}",
            server.ready_after
        );
        let depth = if round + 1 == rounds { Depth::All } else { Depth::New };
        Survey::of(&server, &clients).settle(&ledger, depth);
    }
    assert!(ledger.acknowledged() > 0, "no mail was ever acknowledged");
}

/// Every other inbox is encrypted, with a key of its own.
fn create_inboxes(server: &Daemon) -> Clients {
    ADDRESSES
        .into_iter()
        .enumerate()
        .map(|(n, address)| {
            let client = DecapsulationKey::generate();
            let kem_key = base64url::encode(client.encapsulation_key().as_bytes());
            server.create(address, (n % 2 == 1).then_some(&kem_key));
            (address, client)
        })
        .collect()
}

/// Some starts are killed too, wherever they are.
fn interrupt_starts(home: &Path, dice: &mut Dice) {
    for _ in 0..dice.below(3) {
        let after = Duration::from_micros(dice.number() % 30_000);
        daemon::start_and_kill(home, after);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "these variables steer this test, not the server"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
