//! What the server counts of its work.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use restante_monitor::{Counts, Fault, Refusal, Verdicts};
use restante_wire::metrics::{
    AuthMetrics, CertificateMetrics, ChaosMetrics, ConnectionMetrics, EmailMetrics, InboxMetrics, RejectionMetrics,
    SpamMetrics, VerdictMetrics,
};
use restante_wire::{Metrics, StorageMetrics};

use crate::answer;
use crate::error::ApiError;
use crate::state::Api;

const DAY: Duration = Duration::from_hours(24);

pub(crate) async fn counts(State(api): State<Arc<Api>>) -> Result<Response<Body>, ApiError> {
    let active = api.inboxes.count().await;
    let active = active.map_err(|error| ApiError::reading(error, "", ""))?;
    let counts = api.monitor.counts();
    let metrics = Metrics {
        uptime_seconds: api.monitor.uptime().as_secs(),
        connections: connections(counts),
        inboxes: inboxes(counts, active),
        emails: emails(counts),
        rejections: rejections(counts),
        auth: auth(counts),
        spam: spam(counts),
        chaos: chaos(counts),
        certificate: certificate(&api),
    };
    Ok(answer::json(StatusCode::OK, &metrics))
}

pub(crate) async fn storage(State(api): State<Arc<Api>>) -> Result<Response<Body>, ApiError> {
    let usage = api.inboxes.storage_usage().await;
    let usage = usage.map_err(|error| ApiError::reading(error, "", ""))?;
    let metrics = StorageMetrics {
        used_bytes: usage.used_bytes,
        available_bytes: usage.available_bytes,
        max_bytes: usage.max_bytes,
        live_bytes: usage.live_bytes,
        stored_emails: usage.emails,
        evicted_emails: usage.evicted,
        oldest_email_age_seconds: usage.oldest_age.map(|age| age.as_secs()),
        newest_email_age_seconds: usage.newest_age.map(|age| age.as_secs()),
    };
    Ok(answer::json(StatusCode::OK, &metrics))
}

fn connections(counts: &Counts) -> ConnectionMetrics {
    let connections = &counts.connections;
    ConnectionMetrics {
        total: connections.opened.value(),
        active: connections.active(),
        rejected: connections.refused.value(),
    }
}

fn inboxes(counts: &Counts, active: u64) -> InboxMetrics {
    let inboxes = &counts.inboxes;
    InboxMetrics {
        created: inboxes.created.value(),
        deleted: inboxes.deleted.value(),
        expired: inboxes.expired.value(),
        active,
    }
}

fn emails(counts: &Counts) -> EmailMetrics {
    let emails = &counts.emails;
    EmailMetrics {
        received: emails.received.value(),
        recipients: emails.recipients.value(),
        received_bytes: emails.bytes.value(),
        test_emails: emails.made_up.value(),
        processing_time_ms: emails.average_millis(),
        processing_time_total_ms: emails.micros.value() / 1000,
    }
}

fn rejections(counts: &Counts) -> RejectionMetrics {
    RejectionMetrics {
        total: Refusal::ALL.into_iter().map(|cause| counts.refused(cause)).sum(),
        no_inbox: counts.refused(Refusal::NoInbox),
        domain: counts.refused(Refusal::Domain),
        recipients: counts.refused(Refusal::Recipients),
        rate: counts.refused(Refusal::Rate),
        size: counts.refused(Refusal::Size),
        no_room: counts.refused(Refusal::NoRoom),
        storage: counts.refused(Refusal::Storage),
        chaos: counts.refused(Refusal::Chaos),
    }
}

fn auth(counts: &Counts) -> AuthMetrics {
    let checks = &counts.checks;
    AuthMetrics {
        spf: verdicts(&checks.spf),
        dkim: verdicts(&checks.dkim),
        dmarc: verdicts(&checks.dmarc),
        reverse_dns: verdicts(&checks.reverse_dns),
    }
}

fn verdicts(verdicts: &Verdicts) -> VerdictMetrics {
    VerdictMetrics {
        pass: verdicts.pass.value(),
        fail: verdicts.fail.value(),
        other: verdicts.other.value(),
        skipped: verdicts.skipped.value(),
    }
}

fn spam(counts: &Counts) -> SpamMetrics {
    let spam = &counts.spam;
    SpamMetrics {
        analyzed: spam.analyzed.value(),
        spam: spam.positive.value(),
        skipped: spam.skipped.value(),
        errors: spam.errors.value(),
        processing_time_total_ms: spam.millis.value(),
    }
}

fn chaos(counts: &Counts) -> ChaosMetrics {
    ChaosMetrics {
        latency: counts.met(Fault::Latency),
        connection_drop: counts.met(Fault::ConnectionDrop),
        random_error: counts.met(Fault::RandomError),
        greylist: counts.met(Fault::Greylist),
        blackhole: counts.met(Fault::Blackhole),
    }
}

/// The certificate that holds now: one may replace another while the server runs.
fn certificate(api: &Api) -> Option<CertificateMetrics> {
    let validity = api.certificate.as_ref()?.validity()?;
    let left = api.monitor.now().until(validity.end);
    Some(CertificateMetrics {
        days_left: left.as_secs() / DAY.as_secs(),
        expires_at: validity.end,
    })
}
