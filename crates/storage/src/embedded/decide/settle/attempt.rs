//! What an attempt means for its delivery and its webhook.

use restante_model::Timestamp;

use crate::embedded::record::{DeliveryState, Standing, WebhookState};
use crate::{AttemptVerdict, LastAttempt, Switch};

/// A delivery after an attempt.
pub(super) fn after(state: DeliveryState, verdict: AttemptVerdict, now: Timestamp) -> DeliveryState {
    let at = now.unix_ms();
    let standing = match verdict {
        AttemptVerdict::Succeeded => Standing::Succeeded { at },
        AttemptVerdict::Failed { retry_at: Some(due) } if !state.is_single => Standing::Queued { due: due.unix_ms() },
        AttemptVerdict::Failed { .. } => Standing::Failed { at },
    };
    DeliveryState {
        attempts: state.attempts + 1,
        is_single: false,
        standing,
    }
}

/// Counts an attempt; says whether it disables the webhook.
pub(super) fn note(state: &mut WebhookState, attempt: LastAttempt, disable_after: u32) -> bool {
    let activity = &mut state.activity;
    if activity.last.is_none_or(|last| last.started_at <= attempt.started_at) {
        activity.last = Some(attempt);
    }
    if attempt.succeeded {
        activity.successful += 1;
        activity.failures_in_a_row = 0;
        return false;
    }
    activity.failed += 1;
    activity.failures_in_a_row = activity.failures_in_a_row.saturating_add(1);
    if activity.failures_in_a_row < disable_after || state.switch != Switch::Enabled {
        return false;
    }
    state.switch = Switch::DisabledByFailures;
    state.revision += 1;
    true
}
