//! A client that does one thing after the other and notes when it asked, when it was answered, and what it saw.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::address;
use super::notes::Notes;
use super::operation::{Action, Letter, Shown, Summary};
use crate::probe::dice::Dice;
use crate::probe::peer::Peer;
use crate::server::Server;
use crate::stopwatch;
use crate::trial::api::{Answer, Api, Unanswered};
use crate::trial::instant;

/// The shortest time to live that there is.
pub(super) const TTL: Duration = Duration::from_mins(1);
const LONG_TTL: Duration = Duration::from_hours(1);
/// The inbox that nobody deletes, so that it expires.
const LEFT_ALONE: usize = 0;

/// A client with connections of its own.
pub(super) struct Client<'a> {
    api: Api,
    peer: Peer,
    notes: &'a Notes,
    dice: Dice,
}

/// What came of an operation.
enum Outcome {
    /// It was answered.
    Answered(Action),
    /// It was not, and may have had its effect; `None` if it has none.
    Lost(Option<Action>),
}

impl<'a> Client<'a> {
    pub(super) fn of(server: &Server, notes: &'a Notes, dice: Dice) -> Result<Self> {
        Ok(Self {
            api: Api::of(server)?,
            peer: Peer::greeted(&server.discovery().smtp)?,
            notes,
            dice,
        })
    }

    /// Does one thing; `false` once the server is gone.
    ///
    /// # Errors
    /// An answer that no operation has.
    pub(super) fn step(&mut self) -> Result<bool> {
        let inbox = self.dice.below(super::INBOXES);
        let invoked = stopwatch::since_epoch();
        let crowded = self.notes.crowded(inbox, &mut self.dice);
        let outcome = match self.dice.below(100) {
            0..8 => self.create(inbox)?,
            8..10 if inbox != LEFT_ALONE => self.remove(inbox)?,
            10..42 => match crowded {
                None => self.deliver(inbox)?,
                Some(named) => self.change(inbox, named, Action::Delete)?,
            },
            42..62 => self.list(inbox)?,
            62..72 => self.sync(inbox)?,
            72..82 => self.change_seen(inbox, Action::Mark)?,
            _ => self.change_seen(inbox, Action::Delete)?,
        };
        Ok(self.note(inbox, invoked, outcome))
    }

    /// Lists an inbox.
    pub(super) fn look(&mut self, inbox: usize) -> Result<bool> {
        let invoked = stopwatch::since_epoch();
        let outcome = self.list(inbox)?;
        Ok(self.note(inbox, invoked, outcome))
    }

    fn note(&self, inbox: usize, invoked: Duration, outcome: Outcome) -> bool {
        let ended = stopwatch::since_epoch();
        match outcome {
            Outcome::Answered(action) => {
                self.notes.answered(inbox, invoked, ended, action);
                return true;
            }
            Outcome::Lost(Some(action)) => self.notes.broken(inbox, invoked, ended, action),
            Outcome::Lost(None) => {}
        }
        false
    }

    fn create(&mut self, inbox: usize) -> Result<Outcome> {
        let life = self.notes.next_number();
        let is_brief = inbox == LEFT_ALONE || self.dice.below(2) == 0;
        let ttl = if is_brief { TTL } else { LONG_TTL };
        let body = json!({ "emailAddress": address(inbox), "encryption": "plain", "ttl": ttl.as_secs() });
        let invoked = stopwatch::since_epoch();
        let Ok(answer) = self.api.post("/api/inboxes", &body) else {
            let broken = stopwatch::since_epoch();
            self.notes.will_expire(inbox, life, invoked + ttl, broken + ttl);
            return Ok(Outcome::Lost(Some(Action::Create(life))));
        };
        match answer.status {
            201 => {
                let expires_at = answer.json()?["expiresAt"].as_str().map(instant::milliseconds);
                let expires_at = Duration::from_millis(expires_at.context("an inbox expires")??);
                self.notes.will_expire(inbox, life, expires_at, expires_at);
                Ok(Outcome::Answered(Action::Create(life)))
            }
            409 => Ok(Outcome::Answered(Action::Taken)),
            _ => bail!("a creation is answered {answer}"),
        }
    }

    fn remove(&mut self, inbox: usize) -> Result<Outcome> {
        match self.api.delete(&format!("/api/inboxes/{}", address(inbox))) {
            Err(Unanswered) => Ok(Outcome::Lost(Some(Action::Remove))),
            Ok(answer) if answer.status == 204 => Ok(Outcome::Answered(Action::Remove)),
            Ok(answer) => bail!("a deletion is answered {answer}"),
        }
    }

    fn deliver(&mut self, inbox: usize) -> Result<Outcome> {
        let letter = self.notes.next_number();
        let message = format!("Subject: {letter}\r\n\r\n{}\r\n", "body ".repeat(self.dice.below(100)));
        let said = [
            "MAIL FROM:<history@sender.test>".to_owned(),
            format!("RCPT TO:<{}>", address(inbox)),
            format!("BDAT {} LAST\r\n{message}", message.len()),
        ];
        let last = said.len() - 1;
        for (number, command) in said.iter().enumerate() {
            // A chunk has no line end of its own.
            let text = if number == last {
                command.clone()
            } else {
                format!("{command}\r\n")
            };
            let reply = self.peer.send(text).and_then(|()| self.peer.reply());
            match reply {
                Err(_) => return Ok(Outcome::Lost((number == last).then_some(Action::Deliver(letter)))),
                Ok(reply) if reply.code == 250 && number == last => {
                    let id = reply.ids().pop().context("a stored email has an id")?;
                    self.notes.named(inbox, letter, &id);
                }
                Ok(reply) if reply.code == 250 => {}
                Ok(reply) if reply.code == 550 => {
                    // A server that is gone by now shows with the next command.
                    let _ = self.peer.say("RSET");
                    return Ok(Outcome::Answered(Action::NoInbox));
                }
                Ok(reply) => bail!("`{}` is answered {reply}", command.lines().next().unwrap_or_default()),
            }
        }
        Ok(Outcome::Answered(Action::Deliver(letter)))
    }

    fn list(&mut self, inbox: usize) -> Result<Outcome> {
        let Ok(answer) = self.api.get(&format!("/api/inboxes/{}/emails", address(inbox))) else {
            return Ok(Outcome::Lost(None));
        };
        if answer.status == 404 {
            return not_found(&answer, None).map(Outcome::Answered);
        }
        let list = answer.json()?;
        let mut shown = Shown::new();
        for email in list.as_array().context("a list of emails")? {
            let letter = letter_of(email)?;
            let id = email["id"].as_str().context("an email has an id")?;
            self.notes.named(inbox, letter, id);
            let twice = shown.insert(letter, email["isRead"] == true);
            ensure!(twice.is_none(), "letter {letter} is listed twice");
        }
        Ok(Outcome::Answered(Action::List(shown)))
    }

    fn sync(&mut self, inbox: usize) -> Result<Outcome> {
        let Ok(answer) = self.api.get(&format!("/api/inboxes/{}/sync", address(inbox))) else {
            return Ok(Outcome::Lost(None));
        };
        if answer.status == 404 {
            return not_found(&answer, None).map(Outcome::Answered);
        }
        let sync = answer.json()?;
        let count = sync["emailCount"].as_u64().context("a number of emails")?;
        Ok(Outcome::Answered(Action::Sync(Summary {
            count: usize::try_from(count)?,
            hash: sync["emailsHash"].as_str().context("a hash")?.to_owned(),
        })))
    }

    /// Marks or deletes an email that somebody has seen.
    fn change_seen(&mut self, inbox: usize, action: fn(Letter) -> Action) -> Result<Outcome> {
        match self.notes.seen(inbox, &mut self.dice) {
            Some(named) => self.change(inbox, named, action),
            None => self.list(inbox),
        }
    }

    fn change(
        &mut self,
        inbox: usize,
        (letter, id): (Letter, String),
        action: fn(Letter) -> Action,
    ) -> Result<Outcome> {
        let path = format!("/api/inboxes/{}/emails/{id}", address(inbox));
        let answer = match action(letter) {
            Action::Mark(_) => self.api.patch(&format!("{path}/read")),
            _ => self.api.delete(&path),
        };
        match answer {
            Err(Unanswered) => Ok(Outcome::Lost(Some(action(letter)))),
            Ok(answer) if answer.status == 204 => Ok(Outcome::Answered(action(letter))),
            Ok(answer) => not_found(&answer, Some(letter)).map(Outcome::Answered),
        }
    }
}

/// What a 404 says is not there.
fn not_found(answer: &Answer, letter: Option<Letter>) -> Result<Action> {
    let text = String::from_utf8_lossy(&answer.body);
    match letter {
        _ if answer.status == 404 && text.contains("Inbox not found") => Ok(Action::NoInbox),
        Some(letter) if answer.status == 404 && text.contains("Email not found") => Ok(Action::NoEmail(letter)),
        _ => bail!("answered {answer}"),
    }
}

/// The number of a letter is its subject.
fn letter_of(email: &Value) -> Result<Letter> {
    let metadata = STANDARD.decode(email["metadata"].as_str().context("an email has metadata")?)?;
    let metadata: Value = serde_json::from_slice(&metadata)?;
    let subject = metadata["subject"].as_str().context("a subject")?;
    subject
        .parse()
        .with_context(|| format!("nobody sent a message with the subject {subject}"))
}
