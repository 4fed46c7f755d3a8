//! Reading: from the index alone where that is enough, and from segments where content is wanted.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use restante_envelope::EncapsulationKey;
use restante_model::{EmailId, Inbox, InboxAddress, InboxHash, InboxKey, InboxMode, Timestamp};

use super::decide;
use super::index::{Index, IndexError, Rows, inbox_key};
use super::relocate::inbox_row;
use super::rows::{BlobAt, CountRow, InboxRow, MailRow, decode, key};
use super::segments::{SegmentError, damaged};
use super::shared::Shared;
use crate::chaos_json;
use crate::{Arrival, EmailPage, InboxPage, ListPage, Part, ReadError, StoredEmail, SyncStatus, Unavailable};

/// Readers retry so often before they hold up the committer to see an inbox that does not change.
const RETRIES: usize = 3;
/// Inboxes that may have got mail within one second and are looked at for the newest: with more, the answer is of that
/// second, but perhaps not of its last email.
const NEWEST_INBOXES: usize = 4096;
/// Segments that may go away under one read: more hardly go within its time.
const ATTEMPTS: usize = 64;

impl Shared {
    /// The inbox of a row; `None` if it was reaped meanwhile. Blocks on the disk if it is encrypted.
    fn load(&self, inbox: InboxKey, row: &InboxRow) -> Result<Option<Arc<Inbox>>, ReadError> {
        let damaged = |what: &'static str| {
            tracing::error!(
                segment = row.place.segment,
                offset = row.place.offset,
                what,
                "an inbox is damaged"
            );
            ReadError::Damaged
        };
        let mode = match row.key_at() {
            None => InboxMode::Plain,
            Some(at) => {
                let Some(bytes) = self.client_key(inbox, at)? else {
                    return Ok(None);
                };
                let key = EncapsulationKey::parse(&bytes).map_err(|_| damaged("key"))?;
                InboxMode::Encrypted { key }
            }
        };
        let chaos = row.chaos.as_deref().map(|json| chaos_json::decode(json).map(Arc::new));
        let chaos = chaos.map(|read| read.ok_or_else(|| damaged("chaos"))).transpose()?;
        Ok(Some(Arc::new(Inbox {
            key: inbox,
            address: InboxAddress::parse_exact(&row.address).map_err(|_| damaged("address"))?,
            hash: InboxHash::from_bytes(row.hash),
            mode,
            email_auth: row.email_auth,
            spam_analysis: row.spam_analysis,
            persistent: row.persistent,
            chaos,
            created_at: Timestamp::from_unix_ms(row.created_at),
            expires_at: Timestamp::from_unix_ms(row.expires_at),
        })))
    }

    /// The client's key, wherever compaction moves it; `None` if the inbox was reaped meanwhile.
    fn client_key(&self, inbox: InboxKey, mut at: BlobAt) -> Result<Option<Bytes>, ReadError> {
        following(|missing| {
            if !missing.is_empty() {
                match inbox_row(&*self.index().map_err(ReadError::from)?, inbox)?.and_then(|row| row.key_at()) {
                    Some(moved) => at = moved,
                    None => return Ok(None),
                }
            }
            self.blob(at, missing).map(Some)
        })
    }

    /// A blob, where a row that was read after these segments were found missing says that it is: if in one of them,
    /// that is lost, as compaction deletes only what no row points to.
    pub(super) fn blob(&self, at: BlobAt, missing: &[u32]) -> Result<Bytes, SegmentError> {
        match self.segments.read(at) {
            Err(SegmentError::Gone(segment)) if missing.contains(&segment) => {
                Err(damaged(at, "the segment is missing").into())
            }
            read => read,
        }
    }

    /// The inbox that a row of addresses or hashes points to, live or expired, and kept in the cache.
    pub(super) async fn inbox_at(
        self: &Arc<Self>,
        find: impl FnOnce(&Index) -> Result<Option<InboxKey>, IndexError>,
    ) -> Result<Option<Arc<Inbox>>, ReadError> {
        let epoch = self.inboxes.epoch();
        let index = self.index()?;
        let Some(inbox) = find(&index)? else { return Ok(None) };
        // Retired in between: then it is as gone as if it had not been found.
        let Some(row) = index.inbox(inbox)? else {
            return Ok(None);
        };
        let loaded = if row.key.is_some() {
            self.blocking(move |shared| shared.load(inbox, &row)).await?
        } else {
            self.load(inbox, &row)?
        };
        if let Some(inbox) = &loaded {
            self.inboxes.keep(inbox, epoch);
        }
        Ok(loaded)
    }

    /// The inbox that an earlier request made, whatever became of it.
    pub(super) async fn inbox_of_key(self: &Arc<Self>, inbox: InboxKey) -> Result<Option<Arc<Inbox>>, ReadError> {
        let index = self.index()?;
        match inbox_row(&*index, inbox)? {
            Some(row) => self.blocking(move |shared| shared.load(inbox, &row)).await,
            None => Ok(None),
        }
    }

    /// A page of live inboxes. Blocks on the disk.
    pub(super) fn inboxes(
        &self,
        after: Option<InboxHash>,
        limit: usize,
        now: Timestamp,
    ) -> Result<InboxPage, ReadError> {
        let index = self.index()?;
        let from = match after {
            Some(hash) => [key::hash(&hash).as_slice(), &[0]].concat(),
            None => key::HASH.to_vec(),
        };
        let mut page = InboxPage::default();
        for found in index.iter(from..key::end_of(key::HASH)) {
            let (_, value) = found?;
            let inbox = inbox_key(&value).ok_or(IndexError::Missing)?;
            let Some(row) = index.inbox(inbox)?.filter(|row| !row.is_expired(now)) else {
                continue;
            };
            if page.inboxes.len() >= limit {
                page.more = true;
                break;
            }
            page.inboxes.extend(self.load(inbox, &row)?);
        }
        Ok(page)
    }

    /// Reads several rows of an inbox as they stood together at one moment; `None` if it is gone.
    ///
    /// A scan is no snapshot, but every change of an inbox changes its counts: equal ones before and after prove it.
    fn stable<T>(
        &self,
        inbox: InboxKey,
        now: Timestamp,
        mut read: impl FnMut(&Index, &CountRow) -> Result<T, IndexError>,
    ) -> Result<Option<T>, ReadError> {
        let index = self.index()?;
        let mut attempt = || {
            let Some(before) = live_counts(&index, inbox, now)? else {
                return Ok(Some(None));
            };
            let value = read(&index, &before)?;
            let is_same = index.counts(inbox)? == Some(before);
            Ok::<_, IndexError>(is_same.then_some(Some(value)))
        };
        for _ in 0..RETRIES {
            if let Some(value) = attempt()? {
                return Ok(value);
            }
        }
        let _unchanging = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        attempt()?.ok_or_else(|| IndexError::Missing.into())
    }

    /// A page of emails with the wanted parts. Blocks on the disk if parts are wanted.
    pub(super) fn list(&self, inbox: InboxKey, page: &ListPage, now: Timestamp) -> Result<EmailPage, ReadError> {
        following(|missing| {
            let found = self.stable(inbox, now, |index, counts| find_page(index, inbox, counts, page))?;
            let Some((found, more)) = found else {
                return Ok(EmailPage::default());
            };
            let emails = found
                .into_iter()
                .map(|email| self.fetch(email, Spoiled::LeftOut, missing))
                .collect::<Result<_, _>>()?;
            Ok(EmailPage { emails, more })
        })
    }

    /// One email with the wanted parts. Blocks on the disk if parts are wanted.
    pub(super) fn email(
        &self,
        inbox: InboxKey,
        email: EmailId,
        parts: &[Part],
        now: Timestamp,
    ) -> Result<Option<StoredEmail>, ReadError> {
        following(|missing| {
            let found = self.stable(inbox, now, |index, _| {
                let mail = index.mail(inbox, email)?;
                mail.map(|mail| Found::new(index, inbox, email, &mail, parts))
                    .transpose()
            })?;
            let found = found.flatten();
            found
                .map(|email| self.fetch(email, Spoiled::Refused, missing))
                .transpose()
        })
    }

    fn fetch(&self, found: Found, spoiled: Spoiled, missing: &[u32]) -> Result<StoredEmail, SegmentError> {
        let read = |(part, blob)| match self.blob(blob, missing) {
            Err(SegmentError::Read(ReadError::Damaged)) if spoiled == Spoiled::LeftOut => None,
            read => Some(read.map(|bytes| (part, bytes))),
        };
        Ok(StoredEmail {
            id: found.id,
            received_at: found.received_at,
            is_read: found.is_read,
            bytes: found.bytes,
            parts: found
                .blobs
                .into_iter()
                .filter_map(read)
                .collect::<Result<_, SegmentError>>()?,
        })
    }

    /// Ids that [`Shared::sync`] would have to read, to tell a quick answer from a slow one.
    pub(super) fn sync_cost(&self, inbox: InboxKey) -> Result<u64, ReadError> {
        let counts = self.index()?.counts(inbox)?;
        Ok(counts.map_or(0, |counts| self.lists.missing(inbox, &counts)))
    }

    /// The exact count and hash of an inbox.
    pub(super) fn sync(&self, inbox: InboxKey, now: Timestamp) -> Result<Option<SyncStatus>, ReadError> {
        self.stable(inbox, now, |index, counts| self.lists.status(index, inbox, counts))
    }

    pub(super) fn arrivals(
        &self,
        inbox: InboxKey,
        after: u64,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<Arrival>, ReadError> {
        let Some(first) = after.checked_add(1) else {
            return Ok(Vec::new());
        };
        let found = self.stable(inbox, now, |index, counts| {
            // Whatever was removed left a mark: none is gone through that need not be.
            let Some(oldest) = counts.oldest else {
                return Ok(Vec::new());
            };
            let keys = key::sequence(inbox, first.max(oldest.sequence))..key::end_of(&key::sequences(inbox));
            let rows = index.range(keys, limit.min(at_most(counts)))?;
            rows.iter().map(|(name, value)| arrival(inbox, name, value)).collect()
        })?;
        Ok(found.unwrap_or_default())
    }

    pub(super) fn sequence_of(&self, inbox: InboxKey, email: EmailId) -> Result<Option<u64>, ReadError> {
        let index = self.index()?;
        // Deleted between the two looks: the second finds what the first missed.
        let known = decide::sequence_of(&*index, inbox, email)?;
        let is_evicting = || Ok::<_, IndexError>(index.counts(inbox)?.is_some_and(|counts| counts.evicted.is_some()));
        Ok(if known.is_none() && is_evicting()? {
            Some(0)
        } else {
            known
        })
    }

    pub(super) fn oldest_email(&self) -> Result<Option<Timestamp>, ReadError> {
        let first = self.index()?.prefix(key::OLDEST, 1)?;
        let received_at = first.first().and_then(|(name, _)| key::number_at(name, 0));
        Ok(received_at.map(Timestamp::from_unix_ms))
    }

    /// Goes through the inboxes that got mail in the last second that any did.
    pub(super) fn newest_email(&self) -> Result<Option<Timestamp>, ReadError> {
        let index = self.index()?;
        let (mut second, mut newest) = (None, None::<u64>);
        for row in index.iter(key::all(key::NEWEST)).rev().take(NEWEST_INBOXES) {
            let (name, _) = row?;
            let at = key::number_at(&name, 0).ok_or(IndexError::Missing)?;
            if *second.get_or_insert(at) != at {
                break;
            }
            let inbox = InboxKey::from_bytes(key::last_id(&name).ok_or(IndexError::Missing)?);
            let counts = index.counts(inbox)?.and_then(|counts| counts.newest);
            newest = newest.max(counts.map(|newest| newest.received_at));
        }
        // All of them may have lost their mail meanwhile.
        let newest = newest.or(second.map(|second| second * 1000));
        Ok(newest.map(Timestamp::from_unix_ms))
    }

    pub(super) fn next_expiry(&self) -> Result<Option<Timestamp>, ReadError> {
        let first = self.index()?.prefix(key::EXPIRY, 1)?;
        let expires_at = first.first().and_then(|(name, _)| key::number_at(name, 0));
        Ok(expires_at.map(Timestamp::from_unix_ms))
    }
}

/// Reads rows and then content; again if compaction took a segment away in between.
///
/// Each attempt is told which segments were missing in those before: its rows do not point there any more, unless the
/// file is lost. So it meets another segment that has just gone, or none.
pub(super) fn following<T>(mut read: impl FnMut(&[u32]) -> Result<T, SegmentError>) -> Result<T, ReadError> {
    let mut missing = Vec::new();
    for _ in 0..ATTEMPTS {
        match read(&missing) {
            Ok(value) => return Ok(value),
            Err(SegmentError::Gone(segment)) => missing.push(segment),
            Err(SegmentError::Unreadable { .. }) => return Err(Unavailable.into()),
            Err(SegmentError::Read(error)) => return Err(error),
        }
    }
    tracing::warn!(attempts = ATTEMPTS, "compaction is faster than a read");
    Err(Unavailable.into())
}

/// The counts of an inbox that is neither retired nor expired.
fn live_counts(index: &Index, inbox: InboxKey, now: Timestamp) -> Result<Option<CountRow>, IndexError> {
    match index.inbox(inbox)? {
        Some(row) if !row.is_expired(now) => index.counts(inbox),
        _ => Ok(None),
    }
}

fn arrival(inbox: InboxKey, name: &[u8], value: &[u8]) -> Result<Arrival, IndexError> {
    Ok(Arrival {
        inbox,
        email: EmailId::from_bytes(value.try_into().map_err(|_| IndexError::Missing)?),
        sequence: key::number_at(name, 16).ok_or(IndexError::Missing)?,
    })
}

/// What becomes of a part that does not match its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spoiled {
    Refused,
    LeftOut,
}

/// An email in the index, and where the wanted parts lie.
struct Found {
    id: EmailId,
    received_at: Timestamp,
    is_read: bool,
    /// Of all parts, wanted or not.
    bytes: u64,
    blobs: Vec<(Part, BlobAt)>,
}

impl Found {
    fn new(index: &Index, inbox: InboxKey, id: EmailId, mail: &MailRow, wanted: &[Part]) -> Result<Self, IndexError> {
        let mut blobs = Vec::with_capacity(wanted.len());
        for part in wanted {
            let blob = if mail.has_signature(*part) {
                index.signature(inbox, id, *part)?.map(|row| row.blob())
            } else {
                mail.part(*part)
            };
            blobs.extend(blob.map(|blob| (*part, blob)));
        }
        Ok(Self {
            id,
            received_at: Timestamp::from_unix_ms(mail.received_at),
            is_read: mail.is_read,
            bytes: mail.bytes,
            blobs,
        })
    }

    fn wanted_bytes(&self) -> usize {
        self.blobs.iter().map(|(_, blob)| blob.len as usize).sum()
    }
}

/// Rows that there can be of emails of an inbox: behind the last of them there may be marks of many that are gone.
fn at_most(counts: &CountRow) -> usize {
    usize::try_from(counts.emails).unwrap_or(usize::MAX)
}

/// The emails of a page, newest first, and whether older ones remain.
fn find_page(
    index: &Index,
    inbox: InboxKey,
    counts: &CountRow,
    page: &ListPage,
) -> Result<(Vec<Found>, bool), IndexError> {
    let mut found: Vec<Found> = Vec::new();
    let mut bytes = 0_usize;
    for row in index.iter(page_keys(inbox, page)).rev().take(at_most(counts)) {
        let (name, value) = row?;
        let id = EmailId::from_bytes(key::last_id(&name).ok_or(IndexError::Missing)?);
        let email = Found::new(index, inbox, id, &decode::<MailRow>(&value)?, &page.parts)?;
        bytes = bytes.saturating_add(email.wanted_bytes());
        let is_full = found.len() >= page.max_rows || (bytes > page.max_bytes && !found.is_empty());
        if is_full {
            return Ok((found, true));
        }
        found.push(email);
    }
    Ok((found, false))
}

fn page_keys(inbox: InboxKey, page: &ListPage) -> Range<Vec<u8>> {
    let all = key::mails(inbox);
    let end = match page.before {
        Some(before) => key::mail(inbox, before),
        None => key::end_of(&all),
    };
    all..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_outruns_many_segments_that_go_away() {
        let read = |missing: &[u32]| match u32::try_from(missing.len()).unwrap() {
            30 => Ok("read"),
            gone => Err(SegmentError::Gone(gone)),
        };
        assert_eq!(following(read), Ok("read"));
    }

    #[test]
    fn a_read_that_never_ends_is_no_damage() {
        let read = |_: &[u32]| Err::<(), _>(SegmentError::Gone(1));
        assert_eq!(following(read), Err(Unavailable.into()));
    }
}
