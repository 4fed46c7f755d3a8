//! What an inbox holds, compared with what a subscription has seen of it.

use std::collections::{BTreeMap, BTreeSet};

use restante_model::EmailId;

use super::seen::Seen;
use crate::listing::Content;
use crate::record::EmailRecord;
use crate::{Error, Inbox};

/// The emails asked for with one request of a listing: a sealed one takes some nine thousand bytes, a plain one a few
/// hundred.
const PAGE: usize = 100;
const SEALED_PAGE: usize = 25;

/// Where an inbox differs from what was seen of it.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// Emails that were not seen.
    pub(super) unseen: BTreeMap<EmailId, EmailRecord>,
    /// All emails of the inbox, if they had to be listed to the end: what was seen and is not among them was deleted.
    pub(super) listed: Option<BTreeSet<EmailId>>,
    /// The `emailsHash` that all of this explains, if it does.
    pub(super) told: Option<String>,
}

impl Difference {
    /// Whether there is any.
    pub(super) fn is_empty(&self) -> bool {
        self.unseen.is_empty() && self.listed.is_none()
    }
}

/// Compares; what differs is added to `found`, also what was found before a failure.
///
/// The listing, newest first, ends as soon as what it showed and what was seen explain the hash that the server told.
pub(super) async fn compare(inbox: &Inbox, seen: &Seen, found: &mut Difference) -> Result<(), Error> {
    let told = inbox.sync_status().await?.emails_hash;
    if seen.agrees(&told) {
        return Ok(());
    }
    let mut listing = Listing::of(inbox);
    let mut meets_seen = false;
    while !listing.is_whole {
        let page = listing.next_page().await?;
        let (old, new): (Vec<_>, Vec<_>) = page.into_iter().partition(|record| seen.contains(record.id));
        // Before it meets what was seen, or without anything new, it explains no more than it did.
        let may_explain = !listing.is_whole && !old.is_empty() && (!new.is_empty() || !meets_seen);
        meets_seen |= !old.is_empty();
        found.unseen.extend(new.into_iter().map(|record| (record.id, record)));
        if may_explain && seen.hash_with(found.unseen.keys()) == told {
            found.told = Some(told);
            return Ok(());
        }
    }
    found.listed = Some(listing.ids);
    found.told = Some(told);
    Ok(())
}

/// What the inbox holds: ids alone, all of them.
pub(super) async fn ids(inbox: &Inbox) -> Result<Difference, Error> {
    let told = inbox.sync_status().await?.emails_hash;
    let mut listing = Listing::of(inbox);
    if !Seen::default().agrees(&told) {
        while !listing.is_whole {
            listing.next_page().await?;
        }
    }
    Ok(Difference {
        unseen: BTreeMap::new(),
        listed: Some(listing.ids),
        told: Some(told),
    })
}

/// The emails of an inbox, newest first, page by page.
struct Listing<'a> {
    inbox: &'a Inbox,
    page_size: usize,
    ids: BTreeSet<EmailId>,
    /// There is no further page.
    is_whole: bool,
}

impl<'a> Listing<'a> {
    fn of(inbox: &'a Inbox) -> Self {
        Self {
            inbox,
            page_size: if inbox.is_encrypted() { SEALED_PAGE } else { PAGE },
            ids: BTreeSet::new(),
            is_whole: false,
        }
    }

    async fn next_page(&mut self) -> Result<Vec<EmailRecord>, Error> {
        let oldest = self.ids.first().copied();
        let page = self.inbox.page(Content::LeftOut, self.page_size, oldest).await?;
        self.is_whole = page.len() < self.page_size;
        self.ids.extend(page.iter().map(|record| record.id));
        Ok(page)
    }
}
