//! What a server counts, for people.

use std::time::Duration;

use restante_client::metrics::{Metrics, StorageMetrics, VerdictMetrics};

use super::table::Table;
use super::time;

/// The counts, those of one kind on a line.
pub(crate) fn table(work: &Metrics, storage: &StorageMetrics) -> Table {
    let mut table = Table::facts();
    let span = |seconds| time::span(Duration::from_secs(seconds));
    table.fact("Running for", span(work.uptime_seconds));
    let of = &work.connections;
    let counts = [("taken", of.total), ("open", of.active), ("turned away", of.rejected)];
    table.fact("Connections", line(&counts));
    let of = &work.inboxes;
    let counts = [
        ("there", of.active),
        ("created", of.created),
        ("deleted or expired", of.deleted),
    ];
    table.fact("Inboxes", line(&counts));
    let of = &work.emails;
    table.fact(
        "Mail",
        format!("{} taken, {:.1} ms each", of.received, of.processing_time_ms),
    );
    table.fact("Refused", refused(work));
    for (name, check) in [
        ("SPF", &work.auth.spf),
        ("DKIM", &work.auth.dkim),
        ("DMARC", &work.auth.dmarc),
        ("Reverse DNS", &work.auth.reverse_dns),
    ] {
        table.fact(name, verdicts(check));
    }
    let of = &work.spam;
    let counts = [
        ("analysed", of.analyzed),
        ("spam", of.spam),
        ("skipped", of.skipped),
        ("failed", of.errors),
    ];
    table.fact("Spam filter", line(&counts));
    let of = &work.chaos;
    let counts = [
        ("late", of.latency),
        ("cut off", of.connection_drop),
        ("greylisted", of.greylist),
        ("refused", of.random_error),
        ("thrown away", of.blackhole),
    ];
    table.fact("Chaos", line(&counts));
    if let Some(certificate) = &work.certificate {
        table.fact("Certificate", format!("good for {} days", certificate.days_left));
    }
    add_storage(&mut table, storage);
    table
}

fn add_storage(table: &mut Table, storage: &StorageMetrics) {
    let counts = [("there", storage.stored_emails), ("evicted", storage.evicted_emails)];
    table.fact("Emails", line(&counts));
    let size = |bytes| super::email::size(usize::try_from(bytes).unwrap_or(usize::MAX));
    let room = format!(
        "{} taken, {} left",
        size(storage.used_bytes),
        size(storage.available_bytes)
    );
    table.fact("Room", room);
    let ages = storage.oldest_email_age_seconds.zip(storage.newest_email_age_seconds);
    if let Some((oldest, newest)) = ages {
        let ago = |seconds| time::span(Duration::from_secs(seconds));
        table.fact("Age", format!("oldest {}, newest {}", ago(oldest), ago(newest)));
    }
}

/// The causes that there were.
fn refused(work: &Metrics) -> String {
    let of = &work.rejections;
    let causes = [
        ("no such inbox", of.no_inbox),
        ("domain", of.domain),
        ("recipients", of.recipients),
        ("rate", of.rate),
        ("size", of.size),
        ("no room", of.no_room),
        ("storage", of.storage),
        ("chaos", of.chaos),
    ];
    let causes: Vec<_> = causes.into_iter().filter(|(_, count)| *count > 0).collect();
    if causes.is_empty() {
        return of.total.to_string();
    }
    format!("{} ({})", of.total, line(&causes))
}

fn verdicts(check: &VerdictMetrics) -> String {
    line(&[
        ("passed", check.pass),
        ("failed", check.fail),
        ("other", check.other),
        ("skipped", check.skipped),
    ])
}

fn line(counts: &[(&str, u64)]) -> String {
    let counts: Vec<_> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    counts.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_count_has_its_place() {
        let check = |count: u64| json!({ "pass": count, "fail": 0, "other": 0, "skipped": 1 });
        let work = json!({
            "uptimeSeconds": 7200,
            "connections": { "total": 3, "active": 1, "rejected": 2 },
            "inboxes": { "created": 5, "deleted": 4, "expired": 2, "active": 1 },
            "emails": {
                "received": 6, "recipients": 7, "receivedBytes": 9, "testEmails": 0, "processingTimeMs": 2.34,
                "processingTimeTotalMs": 14,
            },
            "rejections": {
                "total": 8, "noInbox": 5, "domain": 0, "recipients": 0, "rate": 0, "size": 3, "noRoom": 0,
                "storage": 0, "chaos": 0,
            },
            "auth": { "spf": check(1), "dkim": check(2), "dmarc": check(3), "reverseDns": check(4) },
            "spam": { "analyzed": 4, "spam": 1, "skipped": 2, "errors": 0, "processingTimeTotalMs": 9 },
            "chaos": { "latency": 1, "connectionDrop": 2, "randomError": 3, "greylist": 4, "blackhole": 5 },
            "certificate": { "daysLeft": 30, "expiresAt": "2026-01-25T11:41:16.000Z" },
        });
        let storage = json!({
            "usedBytes": 1500, "availableBytes": 2_000_000, "liveBytes": 1, "storedEmails": 3, "evictedEmails": 1,
            "oldestEmailAgeSeconds": 600, "newestEmailAgeSeconds": 3,
        });
        let mut work: Metrics = serde_json::from_value(work).unwrap();
        let storage: StorageMetrics = serde_json::from_value(storage).unwrap();
        let shown = anstream::adapter::strip_str(&table(&work, &storage).render(None)).to_string();
        assert_eq!(
            shown,
            "Running for  2 h\n\
             Connections  3 taken, 1 open, 2 turned away\n\
             Inboxes      1 there, 5 created, 4 deleted or expired\n\
             Mail         6 taken, 2.3 ms each\n\
             Refused      8 (5 no such inbox, 3 size)\n\
             SPF          1 passed, 0 failed, 0 other, 1 skipped\n\
             DKIM         2 passed, 0 failed, 0 other, 1 skipped\n\
             DMARC        3 passed, 0 failed, 0 other, 1 skipped\n\
             Reverse DNS  4 passed, 0 failed, 0 other, 1 skipped\n\
             Spam filter  4 analysed, 1 spam, 2 skipped, 0 failed\n\
             Chaos        1 late, 2 cut off, 4 greylisted, 3 refused, 5 thrown away\n\
             Certificate  good for 30 days\n\
             Emails       3 there, 1 evicted\n\
             Room         1.5 KB taken, 2.0 MB left\n\
             Age          oldest 10 min, newest 3 s\n"
        );
        work.certificate = None;
        assert!(!table(&work, &storage).render(None).contains("Certificate"));
    }
}
