//! A client that sends message after message over one connection.

use std::thread;
use std::time::Duration;

use super::{Shared, now_ms};
use crate::crash::address;
use crate::crash::ledger::{FLOODED, Pages, Recipient, Violation};
use crate::crash::message::Message;
use crate::probe::dice::Dice;
use crate::probe::peer::{Peer, Reply};
use crate::trial::api::Unanswered;

/// Messages begun for one inbox, at most, so that nothing but the flooded one is ever too full.
const SENT_MAX: usize = 150;
/// Recipients of one message, at most.
const RECIPIENTS_MAX: usize = 4;
/// Until there is an inbox that takes mail.
const PAUSE: Duration = Duration::from_millis(5);
/// Bytes of a message to the flooded place.
const FLOOD_BYTES: usize = 500;

/// Sends to random places, or to one only, until the server is gone.
pub(super) fn run(shared: &Shared<'_>, smtp: &str, aim: Option<usize>, name: &str, dice: &mut Dice) -> Unanswered {
    let Ok(mut peer) = Peer::greeted(smtp) else {
        return Unanswered;
    };
    for number in 0_u64.. {
        let name = format!("{name}-{number}");
        let message = match aim {
            Some(_) => Message::of(dice, &name, FLOOD_BYTES),
            None => Message::mixed(dice, &name),
        };
        if let Err(unanswered) = send(shared, &mut peer, aim, &message, dice) {
            return unanswered;
        }
    }
    Unanswered
}

fn send(
    shared: &Shared<'_>,
    peer: &mut Peer,
    aim: Option<usize>,
    message: &Message,
    dice: &mut Dice,
) -> Result<(), Unanswered> {
    let gate = shared.gate.read().expect("no client panics");
    let recipients = {
        let mut pages = shared.ledger.pages();
        let recipients = choose(&pages, aim, dice);
        pages.sending(message.digest, &recipients);
        recipients
    };
    if recipients.is_empty() {
        drop(gate);
        shared.ledger.pages().letters.remove(&message.digest);
        thread::sleep(PAUSE);
        return say(peer, "NOOP").map(drop);
    }
    let refusal = match deliver(peer, message, &recipients)? {
        Ok(ids) => {
            shared.ledger.pages().stored(message.digest, ids);
            return Ok(());
        }
        Err(refusal) => refusal,
    };
    let mut pages = shared.ledger.pages();
    if refusal.code == 550 {
        pages.refused(&message.digest, &refusal.text, now_ms());
    } else {
        let text = format!("a message is answered {refusal}");
        pages.violations.push(Violation::Refused(text));
    }
    Ok(())
}

/// One transaction: the ids of its emails, or what it is refused with.
fn deliver(
    peer: &mut Peer,
    message: &Message,
    recipients: &[Recipient],
) -> Result<Result<Vec<String>, Reply>, Unanswered> {
    if let Some(refusal) = open(peer, recipients)? {
        say(peer, "RSET")?;
        return Ok(Err(refusal));
    }
    let chunk = format!("BDAT {} LAST\r\n", message.bytes.len());
    let sent = peer.send([chunk.as_bytes(), &message.bytes].concat());
    sent.map_err(|_| Unanswered)?;
    let reply = reply(peer.reply())?;
    Ok(if reply.code == 250 { Ok(reply.ids()) } else { Err(reply) })
}

/// Says MAIL and each RCPT; what one of them is refused with.
fn open(peer: &mut Peer, recipients: &[Recipient]) -> Result<Option<Reply>, Unanswered> {
    let mail = std::iter::once("MAIL FROM:<crash@sender.test>".to_owned());
    let rcpts = recipients
        .iter()
        .map(|(place, _)| format!("RCPT TO:<{}>", address(*place)));
    for command in mail.chain(rcpts) {
        let reply = say(peer, &command)?;
        if reply.code != 250 {
            return Ok(Some(reply));
        }
    }
    Ok(None)
}

/// Open inboxes that may have more, in the order of their places; or the one that always gets more.
fn choose(pages: &Pages, aim: Option<usize>, dice: &mut Dice) -> Vec<Recipient> {
    let now_ms = now_ms();
    let current = |place: usize| Some((place, pages.places[place].life.as_ref()?.number));
    let is_open = |to: &Recipient| pages.is_surely_open(*to, now_ms);
    if let Some(place) = aim {
        return current(place).filter(is_open).into_iter().collect();
    }
    let has_room = |to: &Recipient| {
        pages.places[to.0]
            .life
            .as_ref()
            .is_some_and(|life| life.sent < SENT_MAX)
    };
    let general = (FLOODED + 1..pages.places.len()).filter_map(current);
    let mut fit: Vec<Recipient> = general.filter(is_open).filter(has_room).collect();
    let count = if dice.below(3) == 0 {
        1 + dice.below(RECIPIENTS_MAX)
    } else {
        1
    };
    while fit.len() > count {
        fit.swap_remove(dice.below(fit.len()));
    }
    fit
}

fn say(peer: &mut Peer, command: &str) -> Result<Reply, Unanswered> {
    reply(peer.say(command))
}

/// A reply that answers; a server that stops says 421 between transactions.
fn reply(reply: anyhow::Result<Reply>) -> Result<Reply, Unanswered> {
    reply.ok().filter(|reply| reply.code != 421).ok_or(Unanswered)
}
