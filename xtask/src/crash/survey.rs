//! Everything that the server shows, read while nobody changes anything.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_testkit::digest::sha256;
use restante_testkit::payload::Client;
use serde_json::Value;

use super::address;
use super::ledger::{Found, FoundEmail, FoundInbox, Ledger, Pages, Source, Violation};
use super::load::now_ms;
use crate::probe::dice::Dice;
use crate::probe::target::trace_end;
use crate::server::Server;
use crate::trial::api::{Answer, Api};
use crate::trial::emails_hash::emails_hash;
use crate::trial::instant::milliseconds;

/// Of the emails that were compared before, one in so many is read again.
const READ_AGAIN: usize = 16;

/// Whose source is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// That of emails that were never compared, and of some others.
    New,
    /// That of every email.
    All,
}

/// Holds what a server shows against the ledger, in which nothing is open any more afterwards.
///
/// # Errors
/// Every broken promise, also those that clients met before.
pub(crate) fn compare(server: &Server, ledger: &Ledger, depth: Depth, dice: &mut Dice) -> Result<()> {
    let api = Api::of(server)?;
    let known = ledger.pages().clone();
    let survey = Survey {
        api: &api,
        pages: &known,
        depth,
    };
    let (found, violations) = survey.read(dice)?;
    let mut pages = ledger.pages();
    pages.settle(&found);
    pages.violations.extend(violations);
    let broken: Vec<_> = pages.violations.iter().map(ToString::to_string).collect();
    if !broken.is_empty() {
        bail!("{}\n{}", broken.join("\n"), server.log_tail());
    }
    Ok(())
}

/// A reader of everything.
struct Survey<'a> {
    api: &'a Api,
    /// What is known, which says what is worth reading.
    pages: &'a Pages,
    depth: Depth,
}

impl Survey<'_> {
    /// Reads all places, and what contradicts itself on the way.
    fn read(&self, dice: &mut Dice) -> Result<(Found, Vec<Violation>)> {
        let (mut found, mut violations) = (Found::default(), Vec::new());
        found.begun_ms = now_ms();
        for place in 0..self.pages.places.len() {
            let inbox = self.inbox(place, dice, &mut violations);
            found.inboxes.push(inbox.with_context(|| address(place))?);
        }
        let listed = self.listed()?;
        found.ended_ms = now_ms();
        violations.extend(contradictions(&found, &listed));
        Ok((found, violations))
    }

    /// The inbox at a place; one that expires while it is read is gone.
    fn inbox(&self, place: usize, dice: &mut Dice, violations: &mut Vec<Violation>) -> Result<Option<FoundInbox>> {
        let path = format!("/api/inboxes/{}", address(place));
        let [inbox, list, sync] = ["", "/emails", "/sync"].map(|end| self.get(&format!("{path}{end}")));
        let (Some(inbox), Some(list), Some(sync)) = (inbox?, list?, sync?) else {
            return Ok(None);
        };
        let (inbox, list, sync) = (inbox.json()?, list.json()?, sync.json()?);
        let list = list.as_array().context("a list of emails")?;
        let mut emails = BTreeMap::new();
        for email in list {
            let id = email["id"].as_str().context("an email has an id")?;
            let Some(email) = self.email(place, id, email, dice)? else {
                return Ok(None);
            };
            if emails.insert(id.to_owned(), email).is_some() {
                violations.push(Violation::Changed(format!("{id} is listed twice")));
            }
        }
        let hash = emails_hash(emails.keys().map(String::as_str));
        if sync["emailCount"] != emails.len() || sync["emailsHash"] != hash {
            let text = format!("place {place} lists {} emails, and sync says {sync}", emails.len());
            violations.push(Violation::Changed(text));
        }
        Ok(Some(FoundInbox {
            expires_ms: milliseconds(inbox["expiresAt"].as_str().context("an inbox expires")?)?,
            is_encrypted: inbox["encrypted"] == true,
            emails,
        }))
    }

    fn email(&self, place: usize, id: &str, record: &Value, dice: &mut Dice) -> Result<Option<FoundEmail>> {
        let known = self.pages.mails.get(id);
        let is_wanted =
            self.depth == Depth::All || known.is_none_or(|mail| !mail.is_compared()) || dice.below(READ_AGAIN) == 0;
        let source = if is_wanted {
            let Some(answer) = self.get(&format!("/api/inboxes/{}/emails/{id}/raw", address(place)))? else {
                return Ok(None);
            };
            let life = self.pages.places[place].life.as_ref();
            Some(source(&answer, life.and_then(|life| life.client))?)
        } else {
            None
        };
        let mut fixed = record.clone();
        let is_read = fixed.as_object_mut().and_then(|fields| fields.remove("isRead"));
        Ok(Some(FoundEmail {
            is_read: is_read.context("an email is read or not")? == true,
            record: sha256(fixed.to_string().as_bytes()),
            source,
        }))
    }

    /// The addresses of all inboxes.
    fn listed(&self) -> Result<BTreeSet<String>> {
        let answer = self
            .get("/api/inboxes?limit=1000")?
            .context("a list of inboxes")?
            .json()?;
        let inboxes = answer["inboxes"].as_array().context("a list of inboxes")?;
        let address = |inbox: &Value| inbox["emailAddress"].as_str().map(str::to_owned);
        Ok(inboxes.iter().filter_map(address).collect())
    }

    /// An answer; `None` where there is nothing.
    fn get(&self, path: &str) -> Result<Option<Answer>> {
        let answer = self.api.get(path);
        let answer = answer.map_err(|_| anyhow!("{path} is not answered by a server that nobody ended"))?;
        match answer.status {
            404 => Ok(None),
            200 => Ok(Some(answer)),
            _ => Err(anyhow!("{path} is answered {answer}")),
        }
    }
}

/// The message in an answer of `raw`, opened by the client that the inbox is sealed for.
pub(crate) fn source(answer: &Answer, client: Option<u64>) -> Result<Source> {
    let record = answer.json()?;
    let raw = match client {
        None => record["raw"].as_str().map(|raw| raw.as_bytes().to_vec()),
        Some(client) => Client::numbered(client).open(&record["encryptedRaw"]),
    };
    let raw = raw.and_then(|text| STANDARD.decode(text).ok());
    let message = raw.and_then(|raw| Some(sha256(&raw[trace_end(&raw)?..])));
    Ok(Source {
        answer: sha256(&answer.body),
        message,
    })
}

/// The list of inboxes has those that are there, and no others.
fn contradictions(found: &Found, listed: &BTreeSet<String>) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut known = BTreeSet::new();
    for (place, inbox) in found.inboxes.iter().enumerate() {
        let Some(inbox) = inbox else { continue };
        let address = address(place);
        if !listed.contains(&address) && inbox.expires_ms > found.ended_ms {
            violations.push(Violation::Lost(format!("{address} in the list of inboxes")));
        }
        known.insert(address);
    }
    let others = listed.difference(&known);
    violations.extend(others.map(|address| Violation::Returned(format!("{address} in the list of inboxes"))));
    violations
}
