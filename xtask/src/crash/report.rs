//! What a run came to, for people.

use std::fmt::Write as _;
use std::time::Duration;

use super::ledger::{Tally, Violation};

/// The figures of a run.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) build: &'static str,
    pub(super) seed: u64,
    pub(super) rounds: u32,
    /// Kills under load.
    pub(super) kills: u32,
    /// Kills of a server that was starting.
    pub(super) interrupted: u32,
    /// Ends by SIGTERM.
    pub(super) stops: u32,
    /// Starts that had to make the index anew.
    pub(super) rebuilds: u32,
    pub(super) longest_start: Duration,
    pub(super) longest_rebuild: Duration,
    /// Segment files that were deleted.
    pub(super) segments_deleted: u64,
    /// Events of acknowledged changes, what a webhook was told in all, and what of that it had been told before.
    pub(super) events: usize,
    pub(super) deliveries: u64,
    pub(super) repeated: u64,
    pub(super) tally: Tally,
    pub(super) violations: Vec<Violation>,
}

impl Report {
    /// The figures in Markdown.
    pub(super) fn table(&self) -> String {
        let tally = &self.tally;
        let [lost, returned, other] = counts(&self.violations);
        let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
        let rows = [
            (
                "rounds",
                format!("{} ({} build, seed {})", self.rounds, self.build, self.seed),
            ),
            ("kills under load", self.kills.to_string()),
            ("kills during a start", self.interrupted.to_string()),
            ("ends by SIGTERM under load", self.stops.to_string()),
            ("starts without an index", self.rebuilds.to_string()),
            ("segments deleted", self.segments_deleted.to_string()),
            (
                "acknowledged: mails",
                format!("{} in {} transactions", tally.mails, tally.transactions),
            ),
            ("acknowledged: emails deleted", tally.deletions.to_string()),
            ("acknowledged: emails marked as read", tally.marks.to_string()),
            ("acknowledged: inboxes created", tally.creations.to_string()),
            ("acknowledged: inboxes deleted", tally.inbox_deletions.to_string()),
            ("acknowledged: deletions of all inboxes", tally.clearings.to_string()),
            ("inboxes expired", tally.expiries.to_string()),
            (
                "emails gone from the inbox that is flooded",
                tally.evictions.to_string(),
            ),
            ("sources compared under load", tally.reads.to_string()),
            ("events that a webhook must be told", self.events.to_string()),
            (
                "told to it",
                format!("{} deliveries, {} of them repeated", self.deliveries, self.repeated),
            ),
            ("lost", lost.to_string()),
            ("returned from the dead", returned.to_string()),
            ("otherwise not as promised", other.to_string()),
            ("longest start", seconds(self.longest_start)),
            ("longest start without an index", seconds(self.longest_rebuild)),
        ];
        let mut table = "| | |\n|---|---:|\n".to_owned();
        for (name, value) in rows {
            let _ = writeln!(table, "| {name} | {value} |");
        }
        table
    }
}

/// How many are losses, returns from the dead, and others.
pub(crate) fn counts(violations: &[Violation]) -> [usize; 3] {
    let mut counts = [0; 3];
    for violation in violations {
        counts[match violation {
            Violation::Lost(_) => 0,
            Violation::Returned(_) => 1,
            _ => 2,
        }] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_not_be_is_counted_by_its_kind() {
        let text = String::new;
        let report = Report {
            violations: vec![
                Violation::Lost(text()),
                Violation::Returned(text()),
                Violation::Returned(text()),
                Violation::Torn(text()),
            ],
            ..Report::default()
        };
        let table = report.table();
        for row in [
            "| lost | 1 |",
            "| returned from the dead | 2 |",
            "| otherwise not as promised | 1 |",
        ] {
            assert!(table.contains(row), "{table}");
        }
    }
}
