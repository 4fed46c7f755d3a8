//! Faults that inboxes ask for.

/// How faults are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChaosRules {
    /// The same seed and the same mail meet the same faults; `None` is chance.
    pub seed: Option<u64>,
}
