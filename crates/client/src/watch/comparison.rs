//! What an inbox holds, compared with what a subscription has seen of it.

use std::collections::{BTreeMap, BTreeSet};

use restante_model::EmailId;

use super::seen::Seen;
use crate::listing::Content;
use crate::record::EmailRecord;
use crate::{Error, Inbox};

/// The emails asked for with one request of a listing.
const PAGE: usize = 100;

/// Where an inbox differs from what was seen of it.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// Emails that were not seen.
    pub(super) unseen: BTreeMap<EmailId, EmailRecord>,
    /// All emails of the inbox, if they had to be listed to the end: what was seen and is not among them was deleted.
    pub(super) listed: Option<BTreeSet<EmailId>>,
}

/// Compares; `None` if the inbox holds exactly what was seen.
///
/// The listing, newest first, ends as soon as what it showed and what was seen explain the hash that the server told.
pub(super) async fn compare(inbox: &Inbox, seen: &Seen) -> Result<Option<Difference>, Error> {
    let told = inbox.sync_status().await?.emails_hash;
    if told == seen.hash() {
        return Ok(None);
    }
    let mut unseen = BTreeMap::new();
    let mut listed = BTreeSet::new();
    loop {
        let page = inbox.page(Content::LeftOut, PAGE, listed.first().copied()).await?;
        let is_last = page.len() < PAGE;
        listed.extend(page.iter().map(|record| record.id));
        let new = page.into_iter().filter(|record| !seen.contains(record.id));
        unseen.extend(new.map(|record| (record.id, record)));
        if is_last {
            let listed = Some(listed);
            return Ok(Some(Difference { unseen, listed }));
        }
        if seen.hash_with(unseen.keys()) == told {
            return Ok(Some(Difference { unseen, listed: None }));
        }
    }
}
