//! What a run came to, for people.

use std::time::Duration;

use super::recording::Cut;
use crate::crash::ledger::Pages;
use crate::crash::report;

/// The figures of a run.
#[derive(Debug, Default)]
pub(super) struct Figures {
    /// Loads that power cuts were made of.
    pub(super) trials: u32,
    pub(super) cuts: u32,
    /// Cuts with a write that was not flushed.
    pub(super) unflushed_cuts: u32,
    /// Of all cuts.
    pub(super) writes: Cut,
    pub(super) longest_start: Duration,
    /// Stores that `server store verify` found nothing wrong with.
    pub(super) verified: u32,
}

impl Figures {
    pub(super) fn add(&mut self, cut: Cut) {
        self.cuts += 1;
        self.unflushed_cuts += u32::from(cut.unflushed() > 0);
        self.writes.add(cut);
    }

    /// In Markdown; the pages are those that the last cut left.
    pub(super) fn table(&self, pages: &Pages, build: &str, seed: u64) -> String {
        let (writes, tally) = (&self.writes, &pages.tally);
        let [lost, returned, other] = report::counts(&pages.violations);
        let cuts = format!("{} in {} loads ({build} build, seed {seed})", self.cuts, self.trials);
        let unflushed = format!("{} whole, {} torn, {} lost", writes.whole, writes.torn, writes.lost);
        let rows = [
            ("power cuts", cuts),
            ("cuts between a write and its flush", self.unflushed_cuts.to_string()),
            ("writes of the disk that were flushed", writes.flushed.to_string()),
            ("writes that were not", unflushed),
            ("acknowledged before the cuts: mails", tally.mails.to_string()),
            ("acknowledged: emails deleted", tally.deletions.to_string()),
            ("acknowledged: emails marked as read", tally.marks.to_string()),
            ("acknowledged: inboxes created", tally.creations.to_string()),
            ("acknowledged: inboxes deleted", tally.inbox_deletions.to_string()),
            ("lost", lost.to_string()),
            ("returned from the dead", returned.to_string()),
            ("otherwise not as promised", other.to_string()),
            (
                "stores in which `server store verify` finds nothing",
                self.verified.to_string(),
            ),
            ("longest start", format!("{:.2} s", self.longest_start.as_secs_f64())),
        ];
        let row = |(name, value): (&str, String)| format!("| {name} | {value} |\n");
        let rows: String = rows.into_iter().map(row).collect();
        format!("| | |\n|---|---:|\n{rows}")
    }
}
