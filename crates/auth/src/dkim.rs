//! DKIM (RFC 6376): every signature of a message, verified and reported in header order.

mod body;
mod flaw;
mod key;
mod signature;
mod tags;
mod verify;

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use restante_message::RawMessage;
use restante_model::Timestamp;
use restante_model::auth::{DkimResult, Verdict};
use tokio::sync::Semaphore;

use crate::dns::Dns;
use crate::shown::{compact, shown_bytes};
use flaw::Flaw;
use key::{Key, NoKey};
use signature::Signature;
use tags::Tags;
use verify::Verifier;

/// Signatures that are verified; each may cost a DNS query and a hash of the whole body.
const MOST_VERIFIED: usize = 10;
/// Signatures that are reported.
const MOST_REPORTED: usize = 100;
/// Largest message that is verified where it is; a larger one goes to a thread that may block.
const SMALL_BYTES: usize = 64 * 1024;

/// Places for large messages that are verified at the same time: one a core, so that they do not crowd out the rest.
#[derive(Debug)]
pub(crate) struct Lane(Arc<Semaphore>);

impl Lane {
    /// With all places free.
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self(Arc::new(Semaphore::new(cores)))
    }
}

/// A signature of a message, before its key is known.
pub(crate) struct Found {
    /// Its place among the header fields.
    index: usize,
    domain: String,
    selector: String,
    value: String,
    read: Result<Signature, Flaw>,
}

/// All signatures of a message, in header order.
pub(crate) fn find(source: &RawMessage<'_>, now: Timestamp) -> Vec<Found> {
    let fields = source.fields.iter().enumerate();
    let mut tried = 0;
    fields
        .filter(|(_, field)| field.is("DKIM-Signature"))
        .take(MOST_REPORTED)
        .map(|(index, field)| {
            let mut found = Found::read(index, field.value, now);
            tried += usize::from(found.read.is_ok());
            if source.has_surplus {
                found.read = found.read.and(Err(Flaw::LongHeader));
            } else if tried > MOST_VERIFIED {
                found.read = found.read.and(Err(Flaw::NotTried(MOST_VERIFIED)));
            }
            found
        })
        .collect()
}

/// What stands for the signatures of a message whose reading broke off.
pub(crate) fn unread() -> Vec<Found> {
    vec![Found {
        index: 0,
        domain: String::new(),
        selector: String::new(),
        value: String::new(),
        read: Err(Flaw::Unread),
    }]
}

impl Found {
    fn read(index: usize, value: &[u8], now: Timestamp) -> Self {
        let (tags, flaw) = Tags::read(value);
        let text = |tag| tags.get(tag).map(shown_bytes).unwrap_or_default();
        Self {
            index,
            domain: text("d"),
            selector: text("s"),
            value: tags.get("b").map(compact).unwrap_or_default(),
            read: match flaw {
                Some(flaw) => Err(flaw.into()),
                None => Signature::read(&tags, now),
            },
        }
    }

    fn result(&self, verdict: Verdict, details: String) -> DkimResult {
        DkimResult {
            result: verdict,
            domain: Some(self.domain.clone()),
            selector: Some(self.selector.clone()),
            signature: Some(self.value.clone()),
            details: Some(details),
        }
    }
}

/// The results of all signatures: their keys are looked up side by side, then the message is read once for all.
pub(crate) async fn check(dns: &Dns, lane: &Lane, raw: &Bytes, found: &[Found]) -> Vec<DkimResult> {
    if found.is_empty() {
        return vec![unsigned()];
    }
    let keys = join_all(found.iter().map(|found| find_key(dns, found))).await;
    let judged = judge(lane, raw, found, keys).await;
    let results = found.iter().zip(judged);
    results
        .map(|(found, (verdict, details))| found.result(verdict, details))
        .collect()
}

/// The results when time was up, or the check broke off: what is certain from the message alone, and `none` for the rest.
pub(crate) fn unfinished(found: &[Found], why: &str) -> Vec<DkimResult> {
    if found.is_empty() {
        return vec![unsigned()];
    }
    let result = |found: &Found| match &found.read {
        Ok(_) => found.result(Verdict::None, why.to_owned()),
        Err(flaw) => found.result(flaw.verdict(), flaw.to_string()),
    };
    found.iter().map(result).collect()
}

/// Of a message without a signature: one entry (decisions, section 9).
fn unsigned() -> DkimResult {
    DkimResult {
        result: Verdict::None,
        domain: Some(String::new()),
        selector: Some(String::new()),
        signature: Some(String::new()),
        details: Some("the message has no DKIM signature".to_owned()),
    }
}

type Judged = (Verdict, String);

/// What is known of a signature once its key was looked up.
type Keyed = Result<(usize, Signature, Key), Judged>;

async fn find_key(dns: &Dns, found: &Found) -> Keyed {
    let signature = match &found.read {
        Ok(signature) => signature.clone(),
        Err(flaw) => return Err((flaw.verdict(), flaw.to_string())),
    };
    match Key::find(dns, &signature).await {
        Ok(key) => Ok((found.index, signature, key)),
        Err(problem) => Err((missing(&problem), problem.to_string())),
    }
}

fn missing(problem: &NoKey) -> Verdict {
    if problem.is_temporary() {
        Verdict::None
    } else {
        Verdict::Fail
    }
}

/// Verifies on this thread, or on one that may block if the message is large.
async fn judge(lane: &Lane, raw: &Bytes, found: &[Found], keys: Vec<Keyed>) -> Vec<Judged> {
    let unread = keys.iter().all(Result::is_err);
    if unread || raw.len() <= SMALL_BYTES {
        return judge_now(raw, keys);
    }
    let broken = || found.iter().map(|_| broken()).collect();
    let Ok(place) = Arc::clone(&lane.0).acquire_owned().await else {
        return broken();
    };
    let raw = raw.clone();
    let verify = move || {
        // Kept until the work is done, even if nobody waits for it any more.
        let _place = place;
        judge_now(&raw, keys)
    };
    tokio::task::spawn_blocking(verify).await.unwrap_or_else(|_| broken())
}

/// The task ended without a result: the server is stopping, or a bug in it was caught.
fn broken() -> Judged {
    (Verdict::None, "the signature could not be verified".to_owned())
}

fn judge_now(raw: &[u8], keys: Vec<Keyed>) -> Vec<Judged> {
    let source = RawMessage::split(raw);
    let mut verifier = Verifier::new(&source);
    keys.into_iter()
        .map(|keyed| {
            keyed.map_or_else(
                |judged| judged,
                |(index, signature, key)| verify(&mut verifier, index, &signature, &key),
            )
        })
        .collect()
}

fn verify(verifier: &mut Verifier<'_>, index: usize, signature: &Signature, key: &Key) -> Judged {
    let testing = if key.testing {
        "; the domain is testing DKIM (t=y)"
    } else {
        ""
    };
    match verifier.verify(index, signature, key) {
        Ok(None) => (
            Verdict::Pass,
            format!("signature verified with the key at {}{testing}", signature.key_name()),
        ),
        Ok(Some(limit)) => (
            Verdict::Pass,
            format!(
                "signature verified with the key at {}, but it covers only the first {limit} bytes of the body (l=){testing}",
                signature.key_name()
            ),
        ),
        Err(invalid) => (invalid.verdict(), format!("{invalid}{testing}")),
    }
}
