//! What a store takes and holds, for people and for machines.

use std::path::Path;

use restante_model::Timestamp;
use restante_storage::embedded::{HeldStore, Statistics};
use serde_json::{Value, json};

use super::StoreCommandError;
use super::progress::Console;

pub(super) fn stats(path: &Path, as_json: bool, console: &mut Console<'_>) -> Result<(), StoreCommandError> {
    let counted = HeldStore::hold(path)?.statistics()?;
    if as_json {
        console.say(json_of(&counted));
    } else {
        console.say(text_of(&counted));
    }
    Ok(())
}

fn text_of(counted: &Statistics) -> String {
    let time = |at: Option<Timestamp>| at.map_or_else(|| "none".to_owned(), |at| at.to_string());
    let stamp = &counted.stamp;
    let rows = [
        ("inboxes", counted.inboxes.to_string()),
        ("emails", counted.emails.to_string()),
        ("webhooks", counted.webhooks.to_string()),
        ("deliveries", format!("{} queued", counted.queued_deliveries)),
        ("oldest email", time(counted.oldest_email)),
        ("newest email", time(counted.newest_email)),
        ("live", size(counted.live_bytes)),
        (
            "log",
            format!("{} in {}", size(counted.log_bytes), count(counted.segments, "segment")),
        ),
        ("dead", format!("{:.0} % of the log", 100.0 * dead_share(counted))),
        ("index", size(counted.index_bytes)),
        ("format", counted.format.to_string()),
        ("wire profile", stamp.profile.clone()),
        ("signing key", stamp.signing_key.clone()),
        ("event key", stamp.event_key.clone()),
        ("seal MAC key", stamp.seal_mac_key.clone()),
    ];
    rows.map(|(name, value)| format!("{name:<13} {value}")).join("\n")
}

fn json_of(counted: &Statistics) -> Value {
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
    let stamp = &counted.stamp;
    json!({
        "inboxes": counted.inboxes,
        "emails": counted.emails,
        "webhooks": counted.webhooks,
        "queuedDeliveries": counted.queued_deliveries,
        "oldestEmail": time(counted.oldest_email),
        "newestEmail": time(counted.newest_email),
        "liveBytes": counted.live_bytes,
        "logBytes": counted.log_bytes,
        "segments": counted.segments,
        "deadShare": dead_share(counted),
        "indexBytes": counted.index_bytes,
        "format": counted.format,
        "stamp": {
            "wireProfile": stamp.profile,
            "signingKey": stamp.signing_key,
            "eventKey": stamp.event_key,
            "sealMacKey": stamp.seal_mac_key,
        },
    })
}

/// How much of the log compaction could give back, from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn dead_share(counted: &Statistics) -> f64 {
    let dead = counted.log_bytes.saturating_sub(counted.live_bytes);
    dead as f64 / counted.log_bytes.max(1) as f64
}

/// So many of something: `1 email`, `2 emails`.
pub(super) fn count(many: u64, one: &str) -> String {
    match (many, one.strip_suffix('x')) {
        (1, _) => format!("1 {one}"),
        (many, Some(stem)) => format!("{many} {stem}xes"),
        (many, None) => format!("{many} {one}s"),
    }
}

/// Bytes, in the unit that fits.
#[expect(clippy::cast_precision_loss, reason = "a size for people")]
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_the_number_that_fits() {
        let said = [
            count(0, "email"),
            count(1, "inbox"),
            count(2, "inbox"),
            count(9, "finding"),
        ];
        assert_eq!(said, ["0 emails", "1 inbox", "2 inboxes", "9 findings"]);
    }

    #[test]
    fn sizes_have_the_unit_that_fits() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1000, "1.0 KB"),
            (999_949, "999.9 KB"),
            (999_950, "1.0 MB"),
            (3_200_000_000, "3.2 GB"),
            (u64::MAX, "18446744.1 TB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
