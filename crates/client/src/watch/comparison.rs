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
    if told == seen.hash() {
        return Ok(());
    }
    let size = if inbox.is_encrypted() { SEALED_PAGE } else { PAGE };
    let mut listed = BTreeSet::new();
    loop {
        let page = inbox.page(Content::LeftOut, size, listed.first().copied()).await?;
        let is_last = page.len() < size;
        listed.extend(page.iter().map(|record| record.id));
        let new = page.into_iter().filter(|record| !seen.contains(record.id));
        found.unseen.extend(new.map(|record| (record.id, record)));
        if is_last {
            found.listed = Some(listed);
            return Ok(());
        }
        if seen.hash_with(found.unseen.keys()) == told {
            return Ok(());
        }
    }
}
