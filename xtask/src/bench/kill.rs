//! `kill -9` in the middle of the load: what was acknowledged before is there after a restart.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use super::api::{Api, Mode};
use super::ground::Ground;
use super::load::{Connections, Load};
use super::report::Report;
use super::throughput::SMALL_BYTES;
use super::witness::Witness;

/// When the server is killed after the load has begun.
const KILL_AFTER: Duration = Duration::from_millis(400);
/// More than any server takes until then.
const MAILS: u32 = 100_000;
const ADDRESS: &str = "killed@restante.test";

/// What a kill in the middle of the load left.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Kill {
    pub(super) inbox: Mode,
    pub(super) acknowledged: usize,
    /// In the list after the restart; more than acknowledged where a 250 was still on its way.
    pub(super) listed: usize,
    pub(super) lost: usize,
}

/// One kill under a plain inbox and one under an encrypted one.
pub(super) fn run(ground: &Ground, report: &mut Report) -> Result<()> {
    for inbox in [Mode::Plain, Mode::Encrypted] {
        let kill = kill(ground, inbox)?;
        eprintln!(
            "kill, {inbox:?}: {} acknowledged, {} lost",
            kill.acknowledged, kill.lost
        );
        report.kills.push(kill);
    }
    Ok(())
}

fn kill(ground: &Ground, inbox: Mode) -> Result<Kill> {
    let folder = ground.folder()?;
    let server = ground.server(folder.path())?;
    let api = Api::of(&server)?;
    api.create(ADDRESS, inbox)?;
    let witness = Witness::before(server.discovery().smtp.clone())?;
    let load = Load {
        target: witness.address.clone(),
        recipient: ADDRESS.to_owned(),
        mails: MAILS,
        bytes: SMALL_BYTES,
        connections: Connections::Kept,
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(KILL_AFTER);
            server.kill();
        });
        load.run_until_cut()
    })?;
    let acknowledged = witness.acknowledged();
    let server = ground.server(folder.path())?;
    let present = Api::of(&server)?.ids(ADDRESS)?;
    server.stop()?;
    Ok(Kill {
        inbox,
        acknowledged: acknowledged.len(),
        listed: present.len(),
        lost: acknowledged.difference(&present).count(),
    })
}
