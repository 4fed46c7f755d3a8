//! What becomes of one inbox's copy of a message.

use std::time::Duration;

use restante_model::ChaosConfig;
use restante_model::chaos::{ErrorKind, Greylist, Latency, RandomError};
use restante_monitor::Fault;
use restante_smtp::Reply;

use super::dice::{For, Throw};
use crate::reply;

/// What becomes of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    /// How late it is, and its reply.
    pub(super) delay: Option<Duration>,
    /// The fault that decides the outcome.
    pub(super) struck: Option<Fault>,
    pub(super) outcome: Outcome,
}

impl Verdict {
    /// That of an inbox that asked for nothing.
    pub(super) const NONE: Self = Self {
        delay: None,
        struck: None,
        outcome: Outcome::Stored,
    };
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Stored,
    /// Answered like one that is stored.
    ThrownAway(Hearing),
    Refused(Reply),
    HungUp(Hangup),
}

/// Whether webhooks hear of what is thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hearing {
    Nobody,
    Webhooks,
}

/// How a connection ends without a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hangup {
    /// As if all had been said.
    Fin,
    /// As if the server had crashed.
    Reset,
}

/// Decides by the dice, and by which attempt of its sender this is, which is asked only if it matters.
///
/// The first fault that strikes is the outcome; a delay goes with any.
pub(super) fn decide(chaos: &ChaosConfig, throw: &Throw, attempt: impl FnOnce(&Greylist) -> u64) -> Verdict {
    let struck = hung_up(chaos, throw)
        .or_else(|| greylisted(chaos, attempt))
        .or_else(|| refused(chaos, throw))
        .or_else(|| thrown_away(chaos));
    let (struck, outcome) = struck.map_or((None, Outcome::Stored), |(fault, outcome)| (Some(fault), outcome));
    Verdict {
        delay: delay(chaos, throw),
        struck,
        outcome,
    }
}

fn delay(chaos: &ChaosConfig, throw: &Throw) -> Option<Duration> {
    let latency = chaos.latency.filter(|latency| latency.enabled)?;
    let strikes = throw.strikes(For::Latency, latency.probability);
    strikes.then(|| Duration::from_millis(delay_ms(&latency, throw)))
}

fn delay_ms(latency: &Latency, throw: &Throw) -> u64 {
    let (min, max) = (latency.min_delay_ms, latency.max_delay_ms);
    if latency.jitter && min < max {
        throw.between(For::Delay, min, max)
    } else {
        max.max(min)
    }
}

fn hung_up(chaos: &ChaosConfig, throw: &Throw) -> Option<(Fault, Outcome)> {
    let drop = chaos.connection_drop.filter(|drop| drop.enabled)?;
    let how = if drop.graceful { Hangup::Fin } else { Hangup::Reset };
    throw
        .strikes(For::ConnectionDrop, drop.probability)
        .then_some((Fault::ConnectionDrop, Outcome::HungUp(how)))
}

fn greylisted(chaos: &ChaosConfig, attempt: impl FnOnce(&Greylist) -> u64) -> Option<(Fault, Outcome)> {
    let greylist = chaos.greylist.filter(|greylist| greylist.enabled)?;
    (attempt(&greylist) < u64::from(greylist.max_attempts))
        .then_some((Fault::Greylist, Outcome::Refused(reply::GREYLISTED)))
}

fn refused(chaos: &ChaosConfig, throw: &Throw) -> Option<(Fault, Outcome)> {
    let error = chaos.random_error.as_ref().filter(|error| error.enabled)?;
    throw
        .strikes(For::RandomError, error.error_rate)
        .then(|| (Fault::RandomError, Outcome::Refused(error_reply(error, throw))))
}

fn error_reply(error: &RandomError, throw: &Throw) -> Reply {
    let kind = error
        .error_types
        .get(throw.one_of(For::ErrorKind, error.error_types.len()));
    let replies: &[Reply] = match kind {
        Some(ErrorKind::Permanent) => &reply::PERMANENT_FAULTS,
        Some(ErrorKind::Temporary) | None => &reply::TEMPORARY_FAULTS,
    };
    replies[throw.one_of(For::ErrorReply, replies.len())].clone()
}

fn thrown_away(chaos: &ChaosConfig) -> Option<(Fault, Outcome)> {
    let blackhole = chaos.blackhole.filter(|blackhole| blackhole.enabled)?;
    let heard_by = if blackhole.trigger_webhooks {
        Hearing::Webhooks
    } else {
        Hearing::Nobody
    };
    Some((Fault::Blackhole, Outcome::ThrownAway(heard_by)))
}

#[cfg(test)]
mod tests;
