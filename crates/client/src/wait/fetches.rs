//! The emails that a wait fetches, because they may be among those that it waits for.
//!
//! One after the other, in the order of their arrival, so that of two that fit the older one is found.
//! But none keeps the others for ever: one that takes long lets the next one begin, one that cannot be had for now is
//! put aside.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::FuturesUnordered;
use restante_model::EmailId;
use tokio::time::{Instant, sleep_until};

use crate::{Email, Error, Inbox};

/// How many are on their way at a time, at most.
const AT_ONCE: usize = 8;

/// What was to be fetched, and what came of it.
pub(super) type Fetched = (EmailId, Result<Email, Error>);

/// The emails that are to be fetched.
#[derive(Debug)]
pub(super) struct Fetches {
    inbox: Inbox,
    /// After it the next one begins, though this one has not come.
    head_start: Duration,
    waiting: BTreeSet<EmailId>,
    under_way: FuturesUnordered<BoxFuture<'static, Fetched>>,
    /// When the last one began.
    begun_at: Instant,
    /// Those that could not be had, and why.
    aside: BTreeMap<EmailId, Error>,
    /// When they are tried again.
    again_at: Option<Instant>,
}

impl Fetches {
    pub(super) fn new(inbox: Inbox, head_start: Duration) -> Self {
        Self {
            inbox,
            head_start,
            waiting: BTreeSet::new(),
            under_way: FuturesUnordered::new(),
            begun_at: Instant::now(),
            aside: BTreeMap::new(),
            again_at: None,
        }
    }

    /// One more.
    pub(super) fn add(&mut self, id: EmailId) {
        self.waiting.insert(id);
    }

    /// What came of the next one; `None` if none is to be fetched now. May be given up at any time.
    pub(super) async fn next(&mut self) -> Option<Fetched> {
        loop {
            if self.under_way.is_empty() {
                self.begin();
            }
            let may_begin = !self.waiting.is_empty() && self.under_way.len() < AT_ONCE;
            tokio::select! {
                biased;
                fetched = self.under_way.next() => return fetched,
                () = sleep_until(self.begun_at + self.head_start), if may_begin => self.begin(),
            }
        }
    }

    fn begin(&mut self) {
        let Some(id) = self.waiting.pop_first() else { return };
        let inbox = self.inbox.clone();
        self.under_way.push(async move { (id, inbox.email(id).await) }.boxed());
        self.begun_at = Instant::now();
    }

    /// Leaves one for later that cannot be had for now.
    pub(super) fn put_aside(&mut self, id: EmailId, why: Error, pause: Duration) {
        self.aside.insert(id, why);
        self.again_at.get_or_insert(Instant::now() + pause);
    }

    /// When those that were put aside are to be tried again, if there are any.
    pub(super) fn again_at(&self) -> Option<Instant> {
        self.again_at
    }

    /// Those that were put aside are to be fetched now.
    pub(super) fn bring_back(&mut self) {
        self.again_at = None;
        self.waiting.extend(std::mem::take(&mut self.aside).into_keys());
    }

    /// Why the oldest of those that are put aside cannot be had.
    pub(super) fn into_trouble(self) -> Option<Error> {
        self.aside.into_values().next()
    }
}
