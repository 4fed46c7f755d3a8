//! The whole log read from front to back: what is damaged in it, and the index that it makes.

use std::io;
use std::path::{Path, PathBuf};

use restante_model::{EmailId, InboxKey, WebhookId};

use super::super::apply::apply;
use super::super::frame::{FILE_HEADER, FileHeader, Salt};
use super::super::index::Index;
use super::super::log::{segment_numbers, segment_path};
use super::super::manifest::Manifest;
use super::super::record::Head;
use super::super::relocate::{inbox_row, is_live};
use super::super::replay::ReplayError;
use super::super::rows::Meta;
use super::super::sweep::{forget_missing, remove_orphans};
use super::super::view::{BATCH_ROWS, View};
use super::Progress;
use super::finding::{Finding, Problem};
use super::walk::{Found, Walk, Walked, header};

/// The files of a log, in their order.
pub(super) struct Files {
    dir: PathBuf,
    all: Vec<SegmentFile>,
    /// Up to here the log was synced once.
    synced: (u32, u64),
    /// What says which damage was accepted; none if it cannot be read.
    manifest: Option<Manifest>,
}

/// Reads the manifest, which is there if there are segments; unlike a start, this makes none.
fn manifest(dir: &Path, segments: &[u32], tell: &mut impl FnMut(Finding)) -> Result<Option<Manifest>, ReplayError> {
    match Manifest::read(dir) {
        Ok(manifest) => Ok(Some(manifest)),
        Err(ReplayError::Missing { .. }) if segments.is_empty() => Ok(None),
        Err(ReplayError::Missing { file }) => {
            tell(Finding::of(Problem::FileMissing(file)));
            Ok(None)
        }
        Err(ReplayError::Spoiled { file }) => {
            tell(Finding::of(Problem::FileUnreadable(file)));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct SegmentFile {
    pub(super) segment: u32,
    pub(super) len: u64,
    header: Option<FileHeader>,
}

impl SegmentFile {
    /// Whether it was begun, at the end of the log, and nothing was synced in it.
    fn is_unused(&self, (synced, _): (u32, u64)) -> bool {
        self.len <= FILE_HEADER as u64 && self.segment > synced
    }

    /// What is in its checksums, if it can be read.
    pub(super) fn salt(&self) -> Option<Salt> {
        self.header.map(|header| header.salt)
    }
}

impl Files {
    /// Lists the segments, but for those at the end that were begun and never used.
    pub(super) fn list(dir: &Path, tell: &mut impl FnMut(Finding)) -> Result<Self, ReplayError> {
        let numbers = segment_numbers(dir)?;
        let manifest = manifest(dir, &numbers, tell)?;
        let synced = manifest.as_ref().map_or((0, 0), Manifest::synced);
        let is_gone = |segment: u32| manifest.as_ref().is_some_and(|manifest| manifest.is_gone(segment));
        let mut files = Vec::new();
        for segment in numbers.iter().copied().filter(|segment| !is_gone(*segment)) {
            let (header, len) = header(dir, segment)?;
            files.push(SegmentFile { segment, len, header });
        }
        while files.last().is_some_and(|last| last.is_unused(synced)) {
            files.pop();
        }
        let end = numbers.last().copied().unwrap_or(0).max(synced.0);
        for lost in (1..=end).filter(|segment| !is_gone(*segment) && numbers.binary_search(segment).is_err()) {
            tell(Finding {
                segment: Some(lost),
                ..Finding::of(Problem::FileMissing(segment_path(dir, lost)))
            });
        }
        for file in files.iter().filter(|file| file.header.is_none()) {
            let path = segment_path(dir, file.segment);
            let is_sealed = files.last().is_some_and(|last| last.segment != file.segment);
            let is_accepted = |manifest: &Manifest| manifest.is_accepted(file.segment, 0);
            let problem = if is_sealed && manifest.as_ref().is_some_and(is_accepted) {
                Problem::GivenUp { bytes: file.len }
            } else {
                Problem::FileUnreadable(path)
            };
            tell(Finding::of(problem).at(file.segment, 0));
        }
        let dir = dir.to_owned();
        Ok(Self {
            dir,
            all: files,
            synced,
            manifest,
        })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &SegmentFile> {
        self.all.iter()
    }

    /// As [`Manifest::floor`]; without a manifest every record is believed, as nobody knows better.
    fn floor(&self) -> u32 {
        self.manifest.as_ref().map_or(0, Manifest::floor)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.all.iter().map(|file| file.len).sum()
    }

    pub(super) fn count(&self) -> u64 {
        self.all.len() as u64
    }

    /// Whether what begins here may be an unfinished write: at the end of the log, behind what was synced.
    fn may_be_torn(&self, file: &SegmentFile, from: u64) -> bool {
        let is_last = self.all.last().is_some_and(|last| last.segment == file.segment);
        is_last && (file.segment, from) >= self.synced
    }

    /// Bytes behind the end of a file that were synced once.
    fn lost_bytes(&self, file: &SegmentFile) -> Option<u64> {
        let (segment, synced) = self.synced;
        (segment == file.segment && synced > file.len).then(|| synced - file.len)
    }

    /// What bytes are that are no records.
    fn unreadable(&self, file: &SegmentFile, from: u64, bytes: u64) -> Problem {
        let is_accepted = |manifest: &Manifest| manifest.is_accepted(file.segment, from);
        if self.manifest.as_ref().is_some_and(is_accepted) {
            Problem::GivenUp { bytes }
        } else {
            Problem::Unreadable { bytes }
        }
    }

    fn numbers(&self) -> Vec<u32> {
        self.all.iter().map(|file| file.segment).collect()
    }
}

/// A reading of the log.
pub(super) struct Survey<'a> {
    pub(super) files: &'a Files,
    /// What the stored index has applied, and so was synced.
    pub(super) applied: Meta,
    /// The index to make, which is empty.
    pub(super) into: &'a Index,
}

impl Survey<'_> {
    /// Reads all of it, and tells what is damaged.
    pub(super) fn run(
        &self,
        watch: &mut impl FnMut(Progress),
        tell: &mut impl FnMut(Finding),
    ) -> Result<(), ReplayError> {
        let mut view = View::of_log(self.into, self.files.floor())?;
        let (mut done, total) = (0, self.files.bytes());
        let mut spoiled = Vec::new();
        for file in self.files.iter() {
            let Some(header) = file.header else { continue };
            view.meta.last_sequence = view.meta.last_sequence.max(header.sequence);
            let mut walk = Walk::open(&self.files.dir, file.segment, header.salt, 0)?;
            while let Some(walked) = walk.next()? {
                self.take(&mut view, file, &mut walk, walked, tell, &mut spoiled)?;
                let step = "reading the log";
                let done = done + walk.offset();
                watch(Progress { step, done, total });
            }
            done += file.len;
            if let Some(bytes) = self.files.lost_bytes(file) {
                tell(Finding::of(Problem::Unreadable { bytes }).at(file.segment, file.len));
            }
        }
        finish(&mut view, self.files)?;
        tell_spoiled(self.into, spoiled, tell)
    }

    fn take(
        &self,
        view: &mut View<'_>,
        file: &SegmentFile,
        walk: &mut Walk,
        walked: Walked,
        tell: &mut impl FnMut(Finding),
        spoiled: &mut Vec<Spoiled>,
    ) -> Result<(), ReplayError> {
        match walked {
            Walked::Gap(from, _) if self.is_unfinished(file, walk, from)? => {
                let bytes = file.len - from;
                tell(Finding::of(Problem::Unfinished { bytes }).at(file.segment, from));
                walk.end();
            }
            Walked::Gap(from, until) => {
                let bytes = until - from;
                tell(Finding::of(self.files.unreadable(file, from, bytes)).at(file.segment, from));
            }
            Walked::Call(call) => {
                let is_spoiled = call.iter().any(|found| !found.spoiled.is_empty());
                let start = call.first().map_or(0, |first| first.place.offset);
                if is_spoiled && self.is_unfinished(file, walk, start)? {
                    let bytes = file.len - start;
                    tell(Finding::of(Problem::Unfinished { bytes }).at(file.segment, start));
                    walk.end();
                    return Ok(());
                }
                for found in &call {
                    apply(view, &found.head, found.place)?;
                }
                for found in call.into_iter().filter(|found| !found.spoiled.is_empty()) {
                    let findings = findings(view, &found)?;
                    spoiled.push(Spoiled { found, findings });
                }
                if view.len() >= BATCH_ROWS {
                    view.write()?;
                }
            }
        }
        Ok(())
    }

    /// Whether what begins here is what the next start would cut off the end of the log.
    fn is_unfinished(&self, file: &SegmentFile, walk: &Walk, from: u64) -> io::Result<bool> {
        let is_applied = (file.segment, from) < (self.applied.segment, self.applied.offset);
        Ok(!is_applied && self.files.may_be_torn(file, from) && walk.is_torn_from(from)?)
    }
}

/// Brings an index to the end of the log; what cannot be read is left out.
pub(super) fn make_index(index: &Index, files: &Files, watch: &mut impl FnMut(Progress)) -> Result<(), ReplayError> {
    let mut view = View::of_log(index, files.floor())?;
    let start = view.meta;
    let behind = files.iter().filter(|file| file.segment >= start.segment);
    for file in behind {
        let Some(header) = file.header else { continue };
        let from = if file.segment == start.segment { start.offset } else { 0 };
        view.meta.last_sequence = view.meta.last_sequence.max(header.sequence);
        let mut walk = Walk::open(&files.dir, file.segment, header.salt, from)?;
        while let Some(walked) = walk.next()? {
            let Walked::Call(call) = walked else { continue };
            let is_spoiled = call.iter().any(|found| !found.spoiled.is_empty());
            let start = call.first().map_or(0, |first| first.place.offset);
            if is_spoiled && files.may_be_torn(file, start) && walk.is_torn_from(start)? {
                break;
            }
            for found in &call {
                apply(&mut view, &found.head, found.place)?;
            }
            if view.len() >= BATCH_ROWS {
                view.write()?;
            }
            let (step, done, total) = ("applying the log", walk.offset(), file.len);
            watch(Progress { step, done, total });
        }
    }
    finish(&mut view, files)
}

/// What a start does when it has replayed the log.
fn finish(view: &mut View<'_>, files: &Files) -> Result<(), ReplayError> {
    if !view.meta.is_swept {
        remove_orphans(view)?;
        view.meta.is_swept = true;
    }
    forget_missing(view, &files.numbers())?;
    Ok(view.write()?)
}

/// A record with blobs that do not match their checksums.
struct Spoiled {
    found: Found,
    findings: Vec<Finding>,
}

/// Tells of spoiled records when the whole log is known: what came later may have made them dead.
fn tell_spoiled(index: &Index, spoiled: Vec<Spoiled>, tell: &mut impl FnMut(Finding)) -> Result<(), ReplayError> {
    for Spoiled { found, findings } in spoiled {
        let is_live = is_live(index, &found.head, found.place)?;
        for finding in findings {
            tell(if is_live {
                finding
            } else {
                Finding {
                    problem: Problem::DeadDamaged,
                    ..finding
                }
            });
        }
    }
    Ok(())
}

/// What is wrong in a record, with the names that it has now.
fn findings(view: &View<'_>, found: &Found) -> Result<Vec<Finding>, ReplayError> {
    let Found {
        head, place, spoiled, ..
    } = found;
    let (inbox, email, webhook) = match head {
        Head::InboxStored(stored) => (Some(stored.inbox), None, None),
        Head::MailStored(mail) => (Some(mail.inbox), Some(mail.email), None),
        Head::SignatureAttached { inbox, email, .. } => (Some(*inbox), Some(*email), None),
        Head::WebhookStored(stored) => (stored.inbox, None, Some(stored.webhook)),
        Head::EventStored(event) | Head::ThrownAway(event) => (Some(event.inbox), Some(event.email), None),
        Head::DeliveryStored(delivery) => (None, None, Some(delivery.webhook)),
        _ => (None, None, None),
    };
    let inbox = match inbox {
        Some(inbox) => inbox_row(view, InboxKey::from_bytes(inbox))?.map(|row| row.address),
        None => None,
    };
    let mut offset = place.offset + u64::from(place.body);
    let mut findings = Vec::new();
    for (position, blob) in head.blobs().iter().enumerate() {
        if spoiled.contains(&position) {
            findings.push(Finding {
                inbox: inbox.clone(),
                email: email.map(EmailId::from_bytes),
                webhook: webhook.map(WebhookId::from_bytes),
                ..Finding::of(problem(head, position)).at(place.segment, offset)
            });
        }
        offset += u64::from(blob.len);
    }
    Ok(findings)
}

fn problem(head: &Head, blob: usize) -> Problem {
    match head {
        Head::InboxStored(_) => Problem::KeyDamaged,
        Head::MailStored(mail) => match mail.parts.get(blob) {
            Some((part, _)) => Problem::PartDamaged(*part),
            None => Problem::BlobDamaged,
        },
        Head::SignatureAttached { part, .. } => Problem::PartDamaged(*part),
        Head::WebhookStored(_) => Problem::ConfigDamaged,
        Head::EventStored(_) | Head::ThrownAway(_) => Problem::EventDamaged,
        Head::DeliveryStored(_) => Problem::ReportDamaged,
        _ => Problem::BlobDamaged,
    }
}
