//! Verify, rebuild, reset.

use std::fmt;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use restante_storage::embedded::{self, Accepted, HeldStore};

use super::progress::Console;
use super::report::{count, size};
use super::{Outcome, StoreCommandError};
use crate::secrets::{API_KEY_FILE, EVENT_KEY_FILE, SEAL_MAC_KEY_FILE, SIGNING_KEY_FILE};

pub(super) fn verify(path: &Path, scratch: &Path, console: &mut Console<'_>) -> Result<Outcome, StoreCommandError> {
    let held = HeldStore::hold(path)?;
    let console = std::cell::RefCell::new(console);
    let verified = held.verify(
        scratch,
        |progress| console.borrow_mut().show(progress.step, progress.done, progress.total),
        |finding| console.borrow_mut().say(finding),
    )?;
    let console = console.into_inner();
    let seconds = console.seconds();
    console.say(format_args!(
        "{}: {}, {}, {} in {}, {seconds:.1} s",
        match verified.findings {
            0 => "nothing is wrong".to_owned(),
            findings => count(findings, "finding"),
        },
        count(verified.inboxes, "inbox"),
        count(verified.emails, "email"),
        size(verified.bytes),
        count(verified.segments, "segment"),
    ));
    Ok(if verified.findings == 0 {
        Outcome::Done
    } else {
        Outcome::Findings
    })
}

pub(super) fn rebuild(path: &Path, console: &mut Console<'_>) -> Result<(), StoreCommandError> {
    rebuild_held(&HeldStore::hold(path)?, console)
}

/// Gives up what cannot be read in the log, and makes the index of the rest.
pub(super) fn rebuild_damaged(
    path: &Path,
    is_confirmed: bool,
    console: &mut Console<'_>,
) -> Result<(), StoreCommandError> {
    let held = HeldStore::hold(path)?;
    if !is_confirmed {
        let place = path.display();
        confirm(
            "given up",
            format_args!("This gives up for good what cannot be read in the log of {place}."),
        )?;
    }
    let given_up = held.accept_damage()?;
    for Accepted { segment, offset, bytes } in &given_up {
        console.say(format_args!(
            "segment {segment} byte {offset}: gave up {bytes} bytes; what was recorded there is lost, be it mail, a \
             deletion or an inbox"
        ));
    }
    if given_up.is_empty() {
        console.say("nothing in the log had to be given up");
    }
    rebuild_held(&held, console)
}

fn rebuild_held(held: &HeldStore, console: &mut Console<'_>) -> Result<(), StoreCommandError> {
    let counted = held.rebuild(|progress| console.show(progress.step, progress.done, progress.total))?;
    let seconds = console.seconds();
    console.say(format_args!(
        "made the index anew: {}, {}, {} of log, {} of index, {seconds:.1} s",
        count(counted.inboxes, "inbox"),
        count(counted.emails, "email"),
        size(counted.log_bytes),
        size(counted.index_bytes),
    ));
    Ok(())
}

pub(super) fn reset(
    data_path: &Path,
    path: &Path,
    is_confirmed: bool,
    console: &mut Console<'_>,
) -> Result<(), StoreCommandError> {
    if !is_confirmed {
        let place = path.display();
        confirm("removed", format_args!("This removes all inboxes and mail in {place}."))?;
    }
    embedded::remove(path)?;
    let keys = [API_KEY_FILE, SIGNING_KEY_FILE, EVENT_KEY_FILE, SEAL_MAC_KEY_FILE];
    let kept: Vec<_> = keys.into_iter().filter(|name| data_path.join(name).exists()).collect();
    console.say(format_args!("removed all inboxes and mail of {}", path.display()));
    console.say(format_args!("kept in {}: {}", data_path.display(), kept.join(", ")));
    Ok(())
}

/// Asks on a terminal whether what cannot be undone is meant; `undone` is what has not been done otherwise.
fn confirm(undone: &'static str, what: fmt::Arguments<'_>) -> Result<(), StoreCommandError> {
    let unconfirmed = |reason| Err(StoreCommandError::Unconfirmed { undone, reason });
    if !io::stdin().is_terminal() {
        return unconfirmed("say --yes where there is no terminal to ask on");
    }
    eprint!("{what} Type yes to go on: ");
    let _ = io::stderr().flush();
    let mut answer = String::new();
    match io::stdin().lock().read_line(&mut answer) {
        Ok(_) if answer.trim() == "yes" => Ok(()),
        _ => unconfirmed("the answer was not yes"),
    }
}
