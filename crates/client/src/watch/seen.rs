//! Which emails of one inbox a subscription has taken in: what makes "exactly once" true.
//!
//! An id is in one of two states.
//! *Held*: taken in, and in the inbox when it was last looked at.
//! *Gone*: taken in, but missing in a later listing, so it was deleted; it may still be on its way as an event of a
//! stream that was asked for before, and is remembered until no such stream is left.
//! What is held is bounded by what the inbox holds, what is gone by one connection.

use std::collections::{BTreeMap, BTreeSet};

use restante_envelope::base64url;
use restante_envelope::digest::Sha256;
use restante_model::EmailId;
use tokio::time::Instant;

/// The emails that were taken in.
#[derive(Debug, Default)]
pub(super) struct Seen {
    held: BTreeSet<EmailId>,
    /// Those that the present stream has told of: it tells of each once, so that they need not be remembered as gone.
    heard: BTreeSet<EmailId>,
    /// When they were found missing.
    gone: BTreeMap<EmailId, Instant>,
    /// The `emailsHash` of exactly what is held: the server's formula need not be the one here.
    told: Option<String>,
}

impl Seen {
    /// Whether an email was taken in.
    pub(super) fn contains(&self, id: EmailId) -> bool {
        self.held.contains(&id) || self.gone.contains_key(&id)
    }

    /// Takes in an email that a listing shows; whether it is new.
    pub(super) fn list(&mut self, id: EmailId) -> bool {
        !self.contains(id) && self.held.insert(id)
    }

    /// Takes in an email that the stream tells of; whether it is new.
    pub(super) fn hear(&mut self, id: EmailId) -> bool {
        if self.gone.contains_key(&id) {
            return false;
        }
        self.heard.insert(id);
        let is_new = self.held.insert(id);
        if is_new {
            self.told = None;
        }
        is_new
    }

    /// Notes what the server told of the inbox before it showed what is held.
    pub(super) fn note(&mut self, told: Option<String>) {
        self.told = told;
    }

    /// Whether the inbox, of which the server tells this, holds what is held here.
    pub(super) fn agrees(&self, told: &str) -> bool {
        self.told.as_deref() == Some(told) || self.hash() == told
    }

    /// What `emailsHash` is if the inbox holds these emails and no other (decisions, section 3).
    fn hash(&self) -> String {
        hash(self.held.iter())
    }

    /// The same with more emails.
    pub(super) fn hash_with<'a>(&'a self, more: impl Iterator<Item = &'a EmailId>) -> String {
        let all: BTreeSet<_> = self.held.iter().chain(more).collect();
        hash(all.into_iter())
    }

    /// Forgets what a whole listing does not show, and what that listing was later than.
    ///
    /// Everything that is held must have been taken in before the listing began.
    pub(super) fn keep_only(&mut self, listed: &BTreeSet<EmailId>, now: Instant) {
        for id in listed {
            if self.gone.remove(id).is_some() {
                self.held.insert(*id);
            }
        }
        for id in self.held.extract_if(.., |id| !listed.contains(id)) {
            if !self.heard.remove(&id) {
                self.gone.insert(id, now);
            }
        }
    }

    /// A stream that was asked for at this moment is the only one from now on: it tells of nothing deleted before.
    pub(super) fn begin_stream(&mut self, asked_at: Instant) {
        self.heard.clear();
        self.forget_gone(asked_at);
    }

    /// Forgets what was found missing before this moment: every stream that could tell of it is over.
    pub(super) fn forget_gone(&mut self, before: Instant) {
        self.gone.retain(|_, missed| *missed >= before);
    }
}

fn hash<'a>(ids: impl Iterator<Item = &'a EmailId>) -> String {
    let mut digest = Sha256::new();
    for (index, id) in ids.enumerate() {
        if index > 0 {
            digest.update(b",");
        }
        digest.update(id.to_string().as_bytes());
    }
    base64url::encode(digest.finish())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use restante_envelope::digest::sha256;

    use super::*;

    fn id(byte: u8) -> EmailId {
        EmailId::from_bytes([byte; 16])
    }

    fn seen(ids: &[u8]) -> Seen {
        let mut seen = Seen::default();
        assert!(ids.iter().all(|byte| seen.list(id(*byte))));
        seen
    }

    fn listed(ids: &[u8]) -> BTreeSet<EmailId> {
        ids.iter().map(|byte| id(*byte)).collect()
    }

    #[test]
    fn the_hash_is_that_of_the_sorted_ids_joined_with_commas() {
        assert_eq!(Seen::default().hash(), base64url::encode(sha256(b"")));
        let text = format!("{},{}", id(1), id(2));
        let expected = base64url::encode(sha256(text.as_bytes()));
        assert_eq!(seen(&[2, 1]).hash(), expected);
        assert_eq!(seen(&[2]).hash_with([id(1), id(2)].iter()), expected);
    }

    #[test]
    fn what_the_server_told_counts_until_another_email_is_heard_of() {
        let mut seen = seen(&[1]);
        seen.note(Some("another formula".to_owned()));
        assert!(!seen.hear(id(1)) && seen.agrees("another formula") && seen.agrees(&seen.hash()));
        assert!(seen.hear(id(2)) && !seen.agrees("another formula") && seen.agrees(&seen.hash()));
    }

    #[test]
    fn an_email_is_new_once_whichever_way_it_comes() {
        let mut seen = Seen::default();
        assert!(seen.hear(id(1)) && !seen.list(id(1)) && !seen.hear(id(1)));
        assert!(seen.list(id(2)) && !seen.hear(id(2)) && !seen.list(id(2)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_deleted_email_is_not_new_while_the_stream_may_still_tell_of_it() {
        let mut seen = seen(&[1, 2]);
        seen.begin_stream(Instant::now());
        tokio::time::advance(Duration::from_secs(1)).await;
        seen.keep_only(&listed(&[2]), Instant::now());
        assert_eq!(seen.hash(), hash([id(2)].iter()), "it no longer counts");
        assert!(!seen.hear(id(1)), "the event was on its way");
    }

    #[tokio::test(start_paused = true)]
    async fn a_deleted_email_is_forgotten_with_the_stream_that_could_tell_of_it() {
        let mut seen = seen(&[1, 2]);
        let asked_before = Instant::now();
        tokio::time::advance(Duration::from_secs(1)).await;
        seen.keep_only(&listed(&[]), Instant::now());
        seen.begin_stream(asked_before);
        assert_eq!(seen.gone.len(), 2, "the stream was asked for before they were missed");
        tokio::time::advance(Duration::from_secs(1)).await;
        seen.begin_stream(Instant::now());
        assert!(seen.gone.is_empty() && seen.held.is_empty() && seen.heard.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_deleted_email_that_the_stream_has_told_of_takes_no_memory() {
        let mut seen = Seen::default();
        seen.begin_stream(Instant::now());
        for byte in 0..=255 {
            assert!(seen.hear(id(byte)));
            seen.keep_only(&listed(&[]), Instant::now());
        }
        assert!(seen.gone.is_empty() && seen.held.is_empty() && seen.heard.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_listed_is_held_and_never_new_again() {
        let mut seen = seen(&[1]);
        seen.keep_only(&listed(&[]), Instant::now());
        seen.keep_only(&listed(&[1]), Instant::now());
        assert_eq!(seen.hash(), hash([id(1)].iter()));
        assert!(!seen.list(id(1)));
    }
}
