//! R3: more large messages at once than there is memory for.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use restante_testkit::payload::client_public_key;
use serde_json::json;

use super::letter;
use crate::probe::target::{Inbox, Target};
use crate::stopwatch;

const SENDERS: usize = 50;
/// The most that the server may ever hold.
const PEAK_MAX: u64 = 256_000_000;
/// Before a refused message is sent again.
const PAUSE: Duration = Duration::from_millis(20);

/// Into a plain inbox; each message is read back and compared.
pub(super) fn plain(target: &Target) -> Result<String> {
    let inbox = target.inbox()?;
    flood(target, &inbox, |number, id| {
        letter::compare(inbox.raw_reader(id)?, number)
    })
}

/// Into an encrypted inbox; each message is read back and measured, as only its owner can open it.
pub(super) fn encrypted(target: &Target) -> Result<String> {
    let key = URL_SAFE_NO_PAD.encode(client_public_key());
    let inbox = target.create(&json!({ "encryption": "encrypted", "clientKemPk": key }))?;
    flood(target, &inbox, |_, id| {
        let bytes = letter::ciphertext_bytes(inbox.raw_reader(id)?)?;
        ensure!(bytes >= letter::SEALED_BYTES, "{bytes} bytes of ciphertext");
        Ok(())
    })
}

fn flood(target: &Target, inbox: &Inbox<'_>, check: impl Fn(usize, &str) -> Result<()>) -> Result<String> {
    let (took, delivered) = stopwatch::time(|| send_all(target, &inbox.address));
    let delivered = delivered?;
    let after_sending = peak(target)?;
    let listed = inbox.ids()?;
    ensure!(listed.len() == SENDERS, "{} of {SENDERS} are there", listed.len());
    for id in &listed {
        let sent = delivered
            .get(id)
            .with_context(|| format!("{id} was never acknowledged"))?;
        check(sent.number, id)?;
    }
    let refusals: usize = delivered.values().map(|sent| sent.refusals).sum();
    let peak = peak(target)?;
    ensure!(
        peak < PEAK_MAX,
        "VmHWM {} MB ({} MB after sending)",
        mb(peak),
        mb(after_sending)
    );
    Ok(format!(
        "{SENDERS} delivered in {:.1} s after {refusals} times 452, read back; VmHWM {} MB, {} MB before reading",
        took.as_secs_f64(),
        mb(peak),
        mb(after_sending)
    ))
}

fn peak(target: &Target) -> Result<u64> {
    target.memory("VmHWM")?.context("a local server")
}

fn mb(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

/// What became of one message.
struct Sent {
    number: usize,
    refusals: usize,
}

/// All senders at once; what was acknowledged under which id.
fn send_all(target: &Target, address: &str) -> Result<BTreeMap<String, Sent>> {
    thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS)
            .map(|number| scope.spawn(move || insist(target, address, number)))
            .collect();
        let joined = senders
            .into_iter()
            .map(|sender| sender.join().expect("a sender does not panic"));
        joined.collect()
    })
}

/// Sends until it is taken. Every other sender declares the size of its message.
fn insist(target: &Target, address: &str, number: usize) -> Result<(String, Sent)> {
    let declared = if number.is_multiple_of(2) {
        format!(" SIZE={}", letter::BYTES)
    } else {
        String::new()
    };
    for refusals in 0..100_000 {
        let mut peer = target.peer()?;
        let mut reply = peer.say(format!("MAIL FROM:<sender-{number}@sender.test>{declared}"))?;
        if reply.code == 250 {
            peer.expect(format!("RCPT TO:<{address}>"), 250)?;
            peer.expect("DATA", 354)?;
            for block in letter::blocks(number) {
                peer.send(block)?;
            }
            reply = peer.say(".")?;
        }
        if let [id] = reply.ids().as_slice() {
            return Ok((id.clone(), Sent { number, refusals }));
        }
        ensure!(reply.text.starts_with("452 4.3.1 "), "`{reply}`");
        thread::sleep(PAUSE);
    }
    bail!("message {number} is never taken")
}
