//! A client that creates and deletes inboxes, and marks, reads and deletes emails.

use restante_testkit::payload::Client;
use serde_json::json;

use super::{KEEPERS, Shared, now_ms};
use crate::crash::api::{Answer, Api, Unanswered};
use crate::crash::ledger::{FLOODED, Ledger, Violation, Wish};
use crate::crash::{address, instant, survey};
use crate::probe::dice::Dice;

/// Times to live in seconds: a quarter of all inboxes expire while the run goes on.
const BRIEF_TTL: u64 = 60;
const TTL: u64 = 86_400;
/// An inbox that was sent so many messages makes room for another.
const SENT_MANY: usize = 120;
/// One of so many turns deletes all inboxes.
const CLEARING: usize = 4_000;

/// Does one thing after the other until the server is gone; the places of keepers do not overlap.
pub(super) fn run(shared: &Shared<'_>, api: &Api, number: usize, dice: &mut Dice) -> Unanswered {
    loop {
        let done = match dice.below(100) {
            _ if number == 0 && dice.below(CLEARING) == 0 => clear(shared, api),
            0..12 => keep(shared, api, number, dice),
            12..55 => email(shared, api, dice, Wish::Delete),
            55..80 => email(shared, api, dice, Wish::Mark),
            _ => email(shared, api, dice, Wish::Read),
        };
        if let Err(unanswered) = done {
            return unanswered;
        }
    }
}

/// Creates the inbox at a place that has none, and now and then deletes one.
fn keep(shared: &Shared<'_>, api: &Api, number: usize, dice: &mut Dice) -> Result<(), Unanswered> {
    let _gate = shared.gate.read().expect("no client panics");
    let places = shared.ledger.pages().places.len();
    let place = dice.below(places);
    if place == FLOODED || place % KEEPERS != number {
        return Ok(());
    }
    let now_ms = now_ms();
    let life = {
        let mut pages = shared.ledger.pages();
        if pages.places[place].has_expired(now_ms) {
            pages.expired(place);
        }
        pages.places[place].life.clone()
    };
    let Some(life) = life else {
        let client = (dice.below(2) == 0).then(|| client_number(dice));
        let ttl = match dice.below(4) {
            0 => BRIEF_TTL + dice.below(30) as u64,
            _ => TTL,
        };
        return create(shared.ledger, api, place, client, ttl);
    };
    // One that expires soon is left to it.
    let is_brief = life.expires_ms.is_some_and(|end| end < now_ms + TTL * 500);
    if !is_brief && (life.sent > SENT_MANY || dice.below(6) == 0) {
        return delete(shared, api, place);
    }
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
    let places = shared.ledger.pages().places.len();
    (0..places).for_each(|place| shared.ledger.pages().deleting(place));
    let answer = api.delete("/api/inboxes")?;
    let mut pages = shared.ledger.pages();
    if answer.status == 200 {
        (0..places).for_each(|place| pages.deleted(place));
    } else {
        pages
            .violations
            .push(Violation::Refused(format!("deleting all inboxes is answered {answer}")));
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
