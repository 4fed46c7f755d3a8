//! Where the processor time of a sealed mail goes, by `perf`.
//!
//! The time of a mail is that of the server and of the sender in a run without `perf`; a second run with samples of
//! the server's call stacks divides the server's share. A sample belongs to the first part that one of its functions
//! names, in the order of [`PARTS`], so that hashing inside a signature is signing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::api::{Api, Mode};
use super::ground::Ground;
use super::load::{Connections, Load};
use super::report::Report;
use super::throughput::SMALL_BYTES;
use crate::machine;
use crate::shell;

/// Samples of each processor in a second.
const SAMPLES_PER_SECOND: &str = "499";
/// Bytes of each stack that are kept to be unwound.
const STACK: &str = "dwarf,16384";
const ADDRESS: &str = "sealed@restante.test";

/// A part of the work for one mail.
struct Part {
    name: &'static str,
    /// A function whose name contains one of these belongs to it, with all that it calls.
    functions: &'static [&'static str],
    lifted_by: &'static str,
}

const PARTS: &[Part] = &[
    Part {
        name: "signing (ML-DSA-65)",
        functions: &["mldsa", "MLDSA", "pqdsa", "PQDSA"],
        lifted_by: "nothing is left of it: every part is signed at its first read, or for an open stream",
    },
    Part {
        name: "three encapsulations (ML-KEM-768)",
        functions: &["ml_kem", "mlkem", "MLKEM"],
        lifted_by: "nothing here: each payload carries its own (decisions, section 5)",
    },
    Part {
        name: "Keccak of these two, whose callers do not show",
        functions: &["keccak", "KECCAK", "sha3_", "SHA3_"],
        lifted_by: "",
    },
    Part {
        name: "AES-256-GCM and HKDF",
        functions: &["gcm", "GCM", "aes_", "AES_", "hkdf", "HKDF", "PayloadKey"],
        lifted_by: "",
    },
    Part {
        name: "HMAC of the parts that are signed later",
        functions: &["hmac", "HMAC", "part_mac"],
        lifted_by: "",
    },
    Part {
        name: "storage: log, sync, index",
        functions: &["restante_storage", "lsm_tree::"],
        lifted_by: "more mails in a group, with more senders",
    },
    Part {
        name: "parsing and JSON",
        functions: &["restante_message", "mail_parser", "serde_json", "restante_wire"],
        lifted_by: "nothing here: plaintext may not wait on the disk for its first reader",
    },
    Part {
        name: "the rest of sealing: base64, copies, random numbers",
        functions: &["restante_envelope", "restante_inbox"],
        lifted_by: "fewer copies",
    },
    Part {
        name: "SMTP: session, sockets, replies",
        functions: &["restante_smtp", "restante_ingest", "tcp_", "sys_recv", "sys_send"],
        lifted_by: "fewer reads and writes, if the sender pipelined",
    },
    Part {
        name: "threads that wait and wake each other",
        functions: &["schedule", "futex", "epoll_wait", "eventfd_write", "try_to_wake_up"],
        lifted_by: "fewer hops between runtime, lane and committer",
    },
];
/// Samples that no part names.
const OTHERS: &str = "the rest: runtime, allocator, interrupts";

/// Processor time of one sealed mail.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Profile {
    mails: u32,
    /// In microseconds a mail, on all processors.
    server_us: f64,
    sender_us: f64,
    /// Samples of each part; empty without `perf`.
    samples: BTreeMap<&'static str, usize>,
}

/// Measures the server under the load of P2.
pub(super) fn run(ground: &Ground, report: &mut Report) -> Result<()> {
    let folder = ground.folder()?;
    let server = ground.server(folder.path())?;
    Api::of(&server)?.create(ADDRESS, Mode::Encrypted)?;
    let load = Load {
        target: server.discovery().smtp.clone(),
        recipient: ADDRESS.to_owned(),
        mails: ground.sizes.mails,
        bytes: SMALL_BYTES,
        connections: Connections::Kept,
    };
    let before = (machine::processor_time(server.pid())?, machine::children_time()?);
    load.run()?;
    let server_time = machine::processor_time(server.pid())?.saturating_sub(before.0);
    let sender_time = machine::children_time()?.saturating_sub(before.1);
    let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(load.mails);
    report.profile = Some(Profile {
        mails: load.mails,
        server_us: each(server_time),
        sender_us: each(sender_time),
        samples: sampled(server.pid(), &load, folder.path())?,
    });
    server.stop()
}

/// The samples of each part while the load runs; none where there is no `perf`.
fn sampled(pid: u32, load: &Load, folder: &Path) -> Result<BTreeMap<&'static str, usize>> {
    let data = folder.join("perf.data");
    let Ok(perf) = record(pid, &data) else {
        eprintln!("perf is missing: the time of the server is not divided");
        return Ok(BTreeMap::new());
    };
    load.run()?;
    stop(perf)?;
    // Inlined functions would cost minutes; what matters is not inlined into something of another part.
    let mut script = Command::new("perf");
    script.args(["script", "--no-inline", "-F", "ip,sym", "-i"]).arg(&data);
    let stacks = shell::output(script.stderr(Stdio::null()))?;
    let samples = count(&stacks);
    ensure!(!samples.is_empty(), "perf took no samples");
    Ok(samples)
}

fn record(pid: u32, data: &Path) -> Result<Child> {
    let mut perf = Command::new("perf");
    perf.args([
        "record",
        "--quiet",
        "--event",
        "cpu-clock",
        "--freq",
        SAMPLES_PER_SECOND,
    ]);
    perf.args(["--call-graph", STACK, "--pid", &pid.to_string(), "--output"]);
    let perf = perf.arg(data).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(perf.spawn()?)
}

/// Perf writes what it has when it is interrupted.
fn stop(mut perf: Child) -> Result<()> {
    shell::run(Command::new("kill").arg("-INT").arg(perf.id().to_string()))?;
    perf.wait().context("perf does not end")?;
    Ok(())
}

/// Samples by part. Stacks are separated by blank lines, innermost functions first.
fn count(stacks: &str) -> BTreeMap<&'static str, usize> {
    let mut samples = BTreeMap::new();
    for stack in stacks.split("\n\n").filter(|stack| !stack.trim().is_empty()) {
        let has = |part: &&Part| part.functions.iter().any(|function| stack.contains(function));
        let part = PARTS.iter().find(has).map_or(OTHERS, |part| part.name);
        *samples.entry(part).or_default() += 1;
    }
    samples
}

impl Profile {
    /// The table in Markdown.
    pub(super) fn table(&self) -> String {
        let all = self.server_us + self.sender_us;
        let mut text = format!(
            "Processor time of a sealed mail over {} mails: {all:.0} µs, of them {:.0} µs the server.\n\n\
             | Part | µs | Share | What would lift it |\n|---|---:|---:|---|\n",
            self.mails, self.server_us
        );
        let mut line = |name: &str, us: f64, lifted_by: &str| {
            let _ = writeln!(text, "| {name} | {us:.0} | {:.0} % | {lifted_by} |", 100.0 * us / all);
        };
        let samples: usize = self.samples.values().sum();
        let lifted_by = |name| {
            PARTS
                .iter()
                .find(|part| part.name == name)
                .map_or("", |part| part.lifted_by)
        };
        let order = PARTS.iter().map(|part| part.name).chain([OTHERS]);
        for name in order.filter(|_| samples > 0) {
            let count = self.samples.get(name).copied().unwrap_or(0);
            #[expect(clippy::cast_precision_loss, reason = "a few thousand samples")]
            let share = count as f64 / samples as f64;
            line(name, self.server_us * share, lifted_by(name));
        }
        if samples == 0 {
            line("the server, undivided: there was no `perf`", self.server_us, "");
        }
        line("the sender (`smtp-source`)", self.sender_us, "nothing of ours");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_belongs_to_the_first_part_that_its_stack_names() {
        let stacks = "\
            \tff keccak_permute\n\tff mldsa65_sign\n\tff restante_storage::x\n\n\
            \tff __fdatasync\n\tff restante_storage::log\n\n\
            \tff ext4_writepages\n";
        let samples = count(stacks);
        assert_eq!(samples[PARTS[0].name], 1);
        assert_eq!(samples["storage: log, sync, index"], 1);
        assert_eq!(samples[OTHERS], 1);
    }
}
