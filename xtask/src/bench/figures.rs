//! What is measured: figures round by round, what must hold of them, and whether it does.

use std::time::Duration;

use serde::Serialize;

use super::case::Case;

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Unit {
    /// One figure divided by another.
    Ratio,
    /// So many a second.
    PerSecond,
    Milliseconds,
    /// Millions of bytes.
    Megabytes,
}

/// What must hold of the median of the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

/// A figure in each round.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) unit: Unit,
    pub(super) rounds: Vec<f64>,
}

/// One line of the table.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    pub(super) case: Case,
    pub(super) goal: Goal,
    /// What the goal is about.
    #[serde(flatten)]
    pub(super) judged: Figure,
    /// What it was made from, and what else a reader wants to know.
    pub(super) behind: Vec<Figure>,
    /// Mails that were acknowledged and are not there, where mails were counted.
    pub(super) lost: Option<u64>,
}

/// Half of the waits were no longer than `p50_ms`, and 99 of 100 no longer than `p99_ms`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Waits {
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

impl Unit {
    /// A figure for people.
    pub(super) fn show(self, figure: f64) -> String {
        match self {
            Self::Ratio => format!("{figure:.2}"),
            Self::PerSecond => format!("{figure:.0}/s"),
            Self::Milliseconds if figure < 10.0 => format!("{figure:.2} ms"),
            Self::Milliseconds => format!("{figure:.0} ms"),
            Self::Megabytes => format!("{figure:.0} MB"),
        }
    }
}

impl Goal {
    fn is_met_by(self, figure: f64) -> bool {
        match self {
            Self::AtLeast(least) => figure >= least,
            Self::AtMost(most) => figure <= most,
        }
    }

    /// The goal in words.
    pub(super) fn show(self, unit: Unit) -> String {
        match self {
            Self::AtLeast(least) => format!("at least {}", unit.show(least)),
            Self::AtMost(most) => format!("at most {}", unit.show(most)),
        }
    }
}

impl Figure {
    pub(super) fn new(name: impl Into<String>, unit: Unit, rounds: Vec<f64>) -> Self {
        Self {
            name: name.into(),
            unit,
            rounds,
        }
    }

    /// The median, the least and the most of the rounds.
    pub(super) fn spread(&self) -> (f64, f64, f64) {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        let least = sorted.first().copied().unwrap_or(f64::NAN);
        let most = sorted.last().copied().unwrap_or(f64::NAN);
        (median(&sorted), least, most)
    }
}

impl Row {
    /// A row without anything behind it.
    pub(super) fn new(case: Case, goal: Goal, judged: Figure) -> Self {
        Self {
            case,
            goal,
            judged,
            behind: Vec::new(),
            lost: None,
        }
    }

    /// Whether the median reaches the goal and nothing was lost.
    pub(super) fn is_met(&self) -> bool {
        self.goal.is_met_by(self.judged.spread().0) && self.lost.unwrap_or(0) == 0
    }
}

impl Waits {
    /// Of at least one wait.
    pub(super) fn of(waits: &[Duration]) -> Self {
        let mut sorted: Vec<f64> = waits.iter().map(|wait| wait.as_secs_f64() * 1e3).collect();
        sorted.sort_by(f64::total_cmp);
        Self {
            p50_ms: quantile(&sorted, 0.5),
            p99_ms: quantile(&sorted, 0.99),
        }
    }
}

/// The two rows of a wait, its median and its 99th of 100.
pub(super) fn rows_of_waits(case: Case, name: &str, goal: Goal, rounds: &[Waits]) -> [Row; 2] {
    let row = |which: &str, of: fn(&Waits) -> f64| {
        let figures = rounds.iter().map(of).collect();
        Row::new(
            case,
            goal,
            Figure::new(format!("{name}, {which}"), Unit::Milliseconds, figures),
        )
    };
    [row("p50", |waits| waits.p50_ms), row("p99", |waits| waits.p99_ms)]
}

/// The middle of the sorted figures, or between the two in the middle; not a number if there are none.
fn median(sorted: &[f64]) -> f64 {
    let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
    let above = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        at(above.wrapping_sub(1)).midpoint(at(above))
    } else {
        at(above)
    }
}

/// The figure below which this share of the sorted figures lies (nearest rank); not a number if there are none.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a position among a few million figures"
    )]
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(goal: Goal, rounds: &[f64]) -> Row {
        Row::new(Case::P1, goal, Figure::new("x", Unit::Ratio, rounds.to_vec()))
    }

    #[test]
    fn the_median_of_the_rounds_counts() {
        let row = row(Goal::AtLeast(0.5), &[0.75, 0.25, 0.5]);
        assert_eq!(row.judged.spread(), (0.5, 0.25, 0.75));
        assert_eq!(Figure::new("x", Unit::Ratio, vec![3.0, 1.0]).spread(), (2.0, 1.0, 3.0));
        assert!(row.is_met());
    }

    #[test]
    fn a_goal_missed_or_a_mail_lost_is_not_met() {
        assert!(!row(Goal::AtLeast(0.5), &[0.4, 0.4, 0.9]).is_met());
        assert!(!row(Goal::AtMost(2.0), &[2.1]).is_met());
        assert!(!row(Goal::AtMost(2.0), &[]).is_met(), "nothing measured is nothing met");
        let lossy = Row {
            lost: Some(1),
            ..row(Goal::AtMost(2.0), &[1.0])
        };
        assert!(!lossy.is_met());
    }

    #[test]
    fn waits_are_told_by_nearest_rank() {
        let waits: Vec<_> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(
            Waits::of(&waits),
            Waits {
                p50_ms: 100.0,
                p99_ms: 198.0
            }
        );
        let one = [Duration::from_millis(7)];
        assert_eq!((Waits::of(&one).p50_ms, Waits::of(&one).p99_ms), (7.0, 7.0));
    }
}
