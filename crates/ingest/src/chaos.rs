//! Faults that inboxes ask for.
//!
//! What becomes of a message is decided without IO; `meet` is where mail and decisions come together.
//!
//! Modules, in reading order: `dice` throws, `counts` remembers how often something came, `greylist` tells senders apart,
//! `verdict` decides for one inbox, `sentence` for all recipients of a message, `meet` carries it out.

mod counts;
mod dice;
mod greylist;
pub(crate) mod meet;
mod sentence;
mod verdict;

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use restante_model::{ChaosConfig, Inbox, InboxKey, Timestamp};

use self::counts::Counts;
use self::dice::{Dice, Throw};
use self::greylist::{SenderKey, sender_key};
pub(crate) use self::verdict::Hangup;
use self::verdict::{Verdict, decide};

/// Inboxes whose messages are counted, and senders whose attempts are; beyond that, who came longest ago begins anew.
const REMEMBERED_MAX: usize = 65_536;

/// How faults are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChaosRules {
    /// The same seed and the same mail meet the same faults; `None` is chance.
    pub seed: Option<u64>,
}

/// Decides about faults, and remembers in memory what that takes.
#[derive(Debug)]
pub(crate) struct Chaos {
    dice: Dice,
    past: Mutex<Past>,
}

/// What was before. A life of an inbox has a key of its own, so that nothing outlives it.
#[derive(Debug)]
struct Past {
    messages: Counts<InboxKey>,
    attempts: Counts<SenderKey>,
}

/// Who brings a message.
#[derive(Debug, Clone)]
struct Sender {
    ip: IpAddr,
    /// In lower case; empty if it is null.
    reverse_path: String,
}

impl Chaos {
    pub(crate) fn new(rules: ChaosRules) -> Self {
        Self {
            dice: Dice::of(rules.seed),
            past: Mutex::new(Past {
                messages: Counts::of_at_most(REMEMBERED_MAX),
                attempts: Counts::of_at_most(REMEMBERED_MAX),
            }),
        }
    }

    /// What becomes of the copy of an inbox whose faults are on.
    fn judge(&self, inbox: &Inbox, config: &ChaosConfig, sender: &Sender, now: Timestamp) -> Verdict {
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        let throw = self.throw(&mut past, inbox, now);
        decide(config, &throw, |greylist| {
            let window_ends = now.after(Duration::from_millis(greylist.retry_window_ms));
            let key = sender_key(inbox.key, greylist.track_by, sender);
            past.attempts.next(key, window_ends, now)
        })
    }

    /// The dice of the next message to an inbox. Without a seed nothing has to be counted for them.
    fn throw(&self, past: &mut Past, inbox: &Inbox, now: Timestamp) -> Throw {
        self.dice.throw(|| past.messages.next(inbox.key, inbox.expires_at, now))
    }
}

#[cfg(test)]
mod tests;
