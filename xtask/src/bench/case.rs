//! Which cases there are, and how much of each is measured.

use clap::ValueEnum;
use serde::Serialize;

/// A goal of speed, or a table beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[value(rename_all = "verbatim")]
pub(super) enum Case {
    /// Plain inbox, connections kept
    P1,
    /// Encrypted inbox, connections kept
    P2,
    /// Plain inbox, a connection for each mail
    P3,
    /// Mails of 75 KB beside appends of as much
    P4,
    /// End of data to the event on a stream
    P5,
    /// Memory: idle, a million mails, one of 25 MB
    P6,
    /// Start: with nothing, with a million mails
    P7,
    /// Lists, sync and new inboxes beside 100,000 mails
    P8,
    /// Deliveries to a local receiver
    P9,
    /// P5, P7 and P8 beside a million inboxes
    P11,
    /// A good webhook beside one whose target is dead
    W6,
    /// What a kill in the middle of the load leaves
    #[value(name = "kill")]
    Kill,
    /// Where the time of a sealed mail goes
    #[value(name = "profile")]
    Profile,
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Interleaved rounds.
    pub(super) rounds: usize,
    /// Mails of one measurement of P1 to P3, of P9, of the kill and of the profile.
    pub(super) mails: u32,
    /// Mails of one measurement of P4.
    pub(super) large_mails: u32,
    /// Mails of one measurement of P5.
    pub(super) paced_mails: usize,
    /// Syncs that a measurement of P5 is compared with.
    pub(super) paced_syncs: usize,
    /// Mails of one round of W6, on either side.
    pub(super) mails_beside_dead: usize,
    /// Mails and inboxes of P6 and P7.
    pub(super) million: usize,
    pub(super) million_inboxes: usize,
    /// Mails of the one inbox of P8.
    pub(super) listed: usize,
    /// Requests of one kind in a round of P8.
    pub(super) requests: usize,
    /// Inboxes that are made in a round of P8.
    pub(super) created: usize,
    /// Empty inboxes of P11.
    pub(super) empty_inboxes: usize,
}

impl Sizes {
    /// What the goals speak of.
    pub(super) const FULL: Self = Self {
        rounds: 5,
        mails: 10_000,
        large_mails: 2_000,
        paced_mails: 1_000,
        paced_syncs: 500,
        mails_beside_dead: 2_000,
        million: 1_000_000,
        million_inboxes: 10_000,
        listed: 100_000,
        requests: 500,
        created: 10_000,
        empty_inboxes: 1_000_000,
    };

    /// For trying the tool.
    pub(super) const QUICK: Self = Self {
        rounds: 2,
        mails: 3_000,
        large_mails: 200,
        paced_mails: 100,
        paced_syncs: 100,
        mails_beside_dead: 200,
        million: 20_000,
        million_inboxes: 200,
        listed: 5_000,
        requests: 100,
        created: 1_000,
        empty_inboxes: 10_000,
    };
}
