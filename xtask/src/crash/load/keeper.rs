//! A client that creates and deletes inboxes, and marks, reads and deletes emails.

use std::ops::Range;

use restante_testkit::payload::Client;
use serde_json::json;

use super::{KEEPERS, Shared, now_ms};
use crate::crash::ledger::{FLOODED, Ledger, Life, Violation, Wish};
use crate::crash::{address, survey};
use crate::probe::dice::Dice;
use crate::trial::api::{Answer, Api, Unanswered};
use crate::trial::instant;

/// Places whose inboxes are left to expire; their time to live in seconds is the shortest that there is.
const BRIEF_PLACES: Range<usize> = 1..5;
const BRIEF_TTL: u64 = 60;
const TTL: u64 = 86_400;
/// All inboxes are deleted only while those that are left to expire have so long to live yet.
const FRESH_MS: u64 = 42_000;
/// An inbox that was sent so many messages makes room for another.
const SENT_MANY: usize = 120;
/// One of so many loads has a turn that deletes all inboxes, and before it so many others at most.
const CLEARING: usize = 4;
const TURNS_BEFORE_MAX: usize = 60;

/// Does one thing after the other until the server is gone; the places of keepers do not overlap.
pub(super) fn run(shared: &Shared<'_>, api: &Api, number: usize, dice: &mut Dice) -> Unanswered {
    let is_clearing = number == 0 && dice.below(CLEARING) == 0;
    let clearing = is_clearing.then(|| dice.below(TURNS_BEFORE_MAX));
    for turn in 0.. {
        let done = match dice.below(100) {
            _ if clearing == Some(turn) => clear(shared, api),
            0..12 => keep(shared, api, number, dice),
            12..55 => email(shared, api, dice, Wish::Delete),
            55..80 => email(shared, api, dice, Wish::Mark),
            _ => email(shared, api, dice, Wish::Read),
        };
        if let Err(unanswered) = done {
            return unanswered;
        }
    }
    Unanswered
}

/// Creates the inbox at a place that has none, and now and then deletes one.
fn keep(shared: &Shared<'_>, api: &Api, number: usize, dice: &mut Dice) -> Result<(), Unanswered> {
    let _gate = shared.gate.read().expect("no client panics");
    let places = shared.ledger.pages().places.len();
    let place = dice.below(places);
    if place == FLOODED || place % KEEPERS != number {
        return Ok(());
    }
    let place_now = shared.ledger.pages().places[place].clone();
    if place_now.has_expired(now_ms()) {
        return bury(shared, api, place);
    }
    let life = place_now.life;
    let Some(life) = life else {
        let client = (dice.below(2) == 0).then(|| client_number(dice));
        let ttl = if BRIEF_PLACES.contains(&place) { BRIEF_TTL } else { TTL };
        return create(shared.ledger, api, place, client, ttl);
    };
    if !BRIEF_PLACES.contains(&place) && (life.sent > SENT_MANY || dice.below(6) == 0) {
        return delete(shared, api, place);
    }
    Ok(())
}

/// An inbox that has expired is gone with its mail; its address is free again, which the next turn here tries.
fn bury(shared: &Shared<'_>, api: &Api, place: usize) -> Result<(), Unanswered> {
    let id = {
        let pages = shared.ledger.pages();
        let mut mails = pages.mails.iter();
        mails.find(|(_, mail)| mail.place == place).map(|(id, _)| id.clone())
    };
    let inbox = format!("/api/inboxes/{}", address(place));
    let email = id.map(|id| format!("{inbox}/emails/{id}"));
    for path in std::iter::once(inbox).chain(email) {
        let answer = api.get(&path)?;
        if answer.status != 404 {
            let text = format!("{path}, which has expired, is answered {answer}");
            shared.ledger.pages().violations.push(Violation::Returned(text));
        }
    }
    shared.ledger.pages().expired(place);
    Ok(())
}

/// A number that no client had before, in all likelihood.
fn client_number(dice: &mut Dice) -> u64 {
    (0..8).fold(0, |number, _| number << 8 | u64::from(dice.byte()))
}

/// Creates an inbox at a place that is free, as far as the ledger knows.
pub(super) fn create(
    ledger: &Ledger,
    api: &Api,
    place: usize,
    client: Option<u64>,
    ttl_secs: u64,
) -> Result<(), Unanswered> {
    ledger.pages().creating(place, client);
    let encryption = if client.is_some() { "encrypted" } else { "plain" };
    let key = client.map(|client| Client::numbered(client).public_key());
    let body = json!({
        "emailAddress": address(place), "encryption": encryption, "clientKemPk": key, "ttl": ttl_secs,
    });
    let answer = api.post("/api/inboxes", &body)?;
    let mut pages = ledger.pages();
    match expiry(&answer) {
        Some(expires_ms) => pages.created(place, expires_ms),
        None => pages.not_created(place, &answer.to_string()),
    }
    Ok(())
}

/// When the inbox of a 201 expires.
fn expiry(answer: &Answer) -> Option<u64> {
    let inbox = answer.json().ok().filter(|_| answer.status == 201)?;
    instant::milliseconds(inbox["expiresAt"].as_str()?).ok()
}

fn delete(shared: &Shared<'_>, api: &Api, place: usize) -> Result<(), Unanswered> {
    shared.ledger.pages().deleting(place);
    let answer = api.delete(&format!("/api/inboxes/{}", address(place)))?;
    let mut pages = shared.ledger.pages();
    if answer.status == 204 {
        pages.deleted(place);
    } else {
        pages
            .violations
            .push(Violation::Refused(format!("deleting an inbox is answered {answer}")));
    }
    Ok(())
}

/// Deletes all inboxes while nobody else does anything, so that it is certain which they are.
fn clear(shared: &Shared<'_>, api: &Api) -> Result<(), Unanswered> {
    let _gate = shared.gate.write().expect("no client panics");
    let ends = {
        let (mut pages, now_ms) = (shared.ledger.pages(), now_ms());
        let is_late = |life: &Life| life.expires_ms.is_some_and(|end| end < now_ms + FRESH_MS);
        if pages.places.iter().filter_map(|place| place.life.as_ref()).any(is_late) {
            return Ok(());
        }
        pages.clearing(now_ms)
    };
    let answer = api.delete("/api/inboxes")?;
    let mut pages = shared.ledger.pages();
    match answer.json() {
        Ok(body) => pages.cleared(body["deleted"].as_u64(), ends.as_deref(), now_ms()),
        Err(_) => pages
            .violations
            .push(Violation::Refused(format!("deleting all inboxes is answered {answer}"))),
    }
    Ok(())
}

/// Wants something of a random email.
fn email(shared: &Shared<'_>, api: &Api, dice: &mut Dice, wish: Wish) -> Result<(), Unanswered> {
    let wished = shared.ledger.pages().wish(dice, wish, now_ms());
    let Some((id, place, client)) = wished else {
        // Whoever has nothing to do still notices that the server is gone.
        return api.get("/health/live").map(drop);
    };
    let path = format!("/api/inboxes/{}/emails/{id}", address(place));
    let answer = match wish {
        Wish::Delete => api.delete(&path),
        Wish::Mark => api.patch(&format!("{path}/read")),
        Wish::Read => api.get(&format!("{path}/raw")),
    }?;
    match answer.status {
        404 => shared.ledger.pages().not_found(&id, wish, now_ms()),
        204 => shared.ledger.pages().granted(&id, wish),
        200 => {
            // Opening takes its time, and must not hold the ledger.
            let source = survey::source(&answer, client);
            let mut pages = shared.ledger.pages();
            match source {
                Ok(source) => pages.read(&id, &source),
                Err(error) => pages.violations.push(Violation::Changed(format!("{id}: {error:#}"))),
            }
            pages.granted(&id, wish);
        }
        _ => {
            let text = format!("{wish:?} of {id} is answered {answer}");
            shared.ledger.pages().violations.push(Violation::Refused(text));
        }
    }
    Ok(())
}
