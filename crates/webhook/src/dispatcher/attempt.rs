//! One attempt of one delivery.

use std::sync::Arc;

use restante_model::{DeliveryId, Timestamp};
use restante_storage::{AttemptVerdict, Lease, LeasedDelivery, ReadError, Settlement, Switch, Unavailable};

use super::recent::{OpenEvent, Recent};
use crate::compiled::{Compiled, Posting};
use crate::report::Report;
use crate::schedule::Schedule;
use crate::{Outcome, Webhooks};

/// What becomes of a lease.
#[derive(Debug)]
pub(super) enum Ended {
    /// The attempt was made, or can never be.
    Settled(Settlement),
    /// The webhook is not sent anything any more.
    Unwanted,
    /// The store could not be read: it is to be claimed again later.
    Unavailable(Unavailable),
}

/// What an attempt needs.
struct Prepared {
    webhook: Arc<Result<Compiled, String>>,
    event: Arc<OpenEvent>,
}

/// Makes one attempt with the webhook as it is now.
pub(super) async fn attempt(webhooks: Webhooks, recent: Arc<Recent>, delivery: LeasedDelivery) -> Ended {
    let prepared = match prepare(&webhooks, &recent, &delivery).await {
        Ok(Some(prepared)) => prepared,
        Ok(None) => return Ended::Unwanted,
        Err(ReadError::Unavailable(error)) => return Ended::Unavailable(error),
        Err(error @ ReadError::Damaged) => return Ended::Settled(impossible(&webhooks, &delivery, &error.to_string())),
    };
    Ended::Settled(match send(&webhooks, &prepared, &delivery).await {
        Ok((started_at, outcome)) => made(&webhooks, &delivery, started_at, &outcome),
        Err(why) => impossible(&webhooks, &delivery, why),
    })
}

/// The settlement of an attempt that broke off for a reason of our own: a defect, or the end of the runtime.
pub(super) fn broken_off(webhooks: &Webhooks, delivery: &LeasedDelivery) -> Settlement {
    let now = webhooks.now();
    settlement(
        webhooks,
        delivery,
        now,
        &Report::unsent("the attempt broke off inside the server"),
        failed(webhooks, delivery, now),
    )
}

/// Reads the webhook and the event; `None` if the webhook is gone, or disabled since it was claimed.
async fn prepare(
    webhooks: &Webhooks,
    recent: &Recent,
    delivery: &LeasedDelivery,
) -> Result<Option<Prepared>, ReadError> {
    let Lease { webhook, event, .. } = delivery.lease;
    // One whose inbox is gone is not visible, and cannot be changed any more.
    let webhook = match webhooks.store().webhook(webhook, webhooks.now()).await? {
        Some(visible) if visible.switch != Switch::Enabled => return Ok(None),
        Some(visible) => recent.of_revision(webhook, visible.revision).await?,
        None => recent.current(webhook).await?,
    };
    let event = recent.event(event).await?;
    let Some(webhook) = webhook else { return Ok(None) };
    // Nothing takes the data of an event away while a delivery of it is queued.
    let event = event.ok_or(ReadError::Damaged)?;
    Ok(Some(Prepared { webhook, event }))
}

/// Sends; the error says why nothing ever can be.
async fn send<'a>(
    webhooks: &Webhooks,
    prepared: &'a Prepared,
    delivery: &LeasedDelivery,
) -> Result<(Timestamp, Outcome), &'a str> {
    let Prepared { webhook, event } = prepared;
    let webhook = webhook.as_ref().as_ref().map_err(String::as_str)?;
    let envelope = event.envelope(delivery.lease.event_type, delivery.event_id, webhooks.policy())?;
    let started_at = webhooks.now();
    let posting = Posting {
        delivery_id: &delivery_id(delivery).to_string(),
        attempt: delivery.attempts.saturating_add(1),
        now: started_at,
    };
    let attempt = webhook.post(&envelope, posting, webhooks.policy());
    let outcome = webhooks.shared.sender.send(&attempt).await;
    Ok((started_at, outcome))
}

/// The settlement of an attempt that was made.
fn made(webhooks: &Webhooks, delivery: &LeasedDelivery, started_at: Timestamp, outcome: &Outcome) -> Settlement {
    let verdict = if outcome.is_success() {
        AttemptVerdict::Succeeded
    } else {
        failed(webhooks, delivery, webhooks.now())
    };
    tracing::debug!(
        webhook = %delivery.lease.webhook,
        delivery = %delivery_id(delivery),
        attempt = delivery.attempts + 1,
        status = outcome.status,
        duration_ms = outcome.duration_ms,
        "attempted a delivery"
    );
    settlement(webhooks, delivery, started_at, &Report::of(outcome), verdict)
}

/// The settlement of a delivery that can never be made.
fn impossible(webhooks: &Webhooks, delivery: &LeasedDelivery, why: &str) -> Settlement {
    tracing::error!(webhook = %delivery.lease.webhook, delivery = %delivery_id(delivery), "a delivery cannot be made: {why}");
    let verdict = AttemptVerdict::Failed { retry_at: None };
    settlement(webhooks, delivery, webhooks.now(), &Report::unsent(why), verdict)
}

fn failed(webhooks: &Webhooks, delivery: &LeasedDelivery, now: Timestamp) -> AttemptVerdict {
    let schedule = Schedule::new(webhooks.policy().max_attempts);
    let retry_at = schedule.retry_at(delivery.attempts.saturating_add(1), now);
    AttemptVerdict::Failed {
        retry_at: retry_at.filter(|_| !delivery.is_single),
    }
}

fn settlement(
    webhooks: &Webhooks,
    delivery: &LeasedDelivery,
    started_at: Timestamp,
    report: &Report,
    verdict: AttemptVerdict,
) -> Settlement {
    Settlement {
        lease: delivery.lease,
        started_at,
        verdict,
        report: report.seal(&webhooks.shared.key, delivery_id(delivery)),
    }
}

fn delivery_id(delivery: &LeasedDelivery) -> DeliveryId {
    DeliveryId::of(delivery.event_id, delivery.lease.webhook)
}
