//! The message on its way in: room for it, its refusal, its end.

use super::{Greeting, Pending, Session, State, Step};
use crate::action::{Action, CloseReason};
use crate::body::{Body, Framing, Progress};
use crate::chunk::ChunkKind;
use crate::reply::Reply;
use crate::wording;

impl Session {
    /// Reads what there is of a message.
    pub(super) fn read_body(&mut self, input: &mut &[u8]) -> Step {
        let State::Body(body) = &mut self.state else {
            return Step::Continue;
        };
        let progress = match &mut self.draft {
            Some(draft) if body.refusal.is_none() => {
                let room = draft.make_room(input.len());
                body.keep(input, room, &mut draft.message)
            }
            _ => body.drain(input, self.config.drain_limit()),
        };
        let drained = body.drained;
        match progress {
            Progress::End => self.end_body(),
            Progress::Full => self.grow(),
            Progress::NeedInput if drained > self.config.drain_limit() => self.give_up(),
            Progress::NeedInput => Step::NeedInput,
        }
    }

    /// Asks for more room, or refuses the message that is at the limit already.
    fn grow(&mut self) -> Step {
        let limit = self.config.max_message_bytes;
        if let Some(more) = self.draft.as_ref().and_then(|draft| draft.next_reservation(limit)) {
            self.pending = Some(Pending::Growth(more));
            return Step::Act(Action::Reserve(more));
        }
        let reply = self.too_large();
        self.refuse_body(reply);
        Step::Continue
    }

    /// Drops what has come and will drop what comes; the reply waits for the end, since a client reads none before.
    pub(super) fn refuse_body(&mut self, reply: Reply) {
        self.draft = None;
        if let State::Body(body) = &mut self.state {
            body.refusal = Some(reply);
        }
    }

    /// Ends a session whose client sends without end.
    fn give_up(&mut self) -> Step {
        match std::mem::replace(&mut self.state, State::Commands) {
            State::Body(Body {
                refusal: Some(reply), ..
            }) => self.close(CloseReason::DrainLimit, &reply),
            _ => self.close(
                CloseReason::DrainLimit,
                &wording::message_too_large(self.config.max_message_bytes),
            ),
        }
    }

    /// Answers the end of DATA or of a chunk.
    fn end_body(&mut self) -> Step {
        let State::Body(body) = std::mem::replace(&mut self.state, State::Commands) else {
            return Step::Continue;
        };
        if let Some(reply) = body.refusal {
            self.say(&reply);
            return Step::Continue;
        }
        if let (Framing::Chunk(_, ChunkKind::Inner), Some(draft)) = (&body.framing, &self.draft) {
            let reply = wording::chunk_received(draft.message.len());
            self.say(&reply);
            return Step::Continue;
        }
        self.finish()
    }

    /// Hands the complete message to the driver.
    fn finish(&mut self) -> Step {
        let (Some(draft), Some(client)) = (self.draft.take(), &self.client) else {
            return Step::Continue;
        };
        if !draft.header_fits(self.config.max_header_bytes) {
            self.refusals.too_large += 1;
            self.say(&wording::header_too_large(self.config.max_header_bytes));
            return Step::Continue;
        }
        let protocol = protocol_keyword(
            client.greeting,
            draft.parameters.smtputf8,
            self.tls.is_some(),
            self.authenticated,
        );
        self.pending = Some(Pending::Accept);
        Step::Act(Action::Accept(draft.finish(
            client.name.clone(),
            protocol,
            self.tls.clone(),
        )))
    }
}

/// The keyword of a trace header for the protocol spoken (RFC 3848; RFC 6531 section 4.3).
fn protocol_keyword(greeting: Greeting, smtputf8: bool, encrypted: bool, authenticated: bool) -> &'static str {
    match (greeting, smtputf8, encrypted, authenticated) {
        (_, true, true, true) => "UTF8SMTPSA",
        (_, true, true, false) => "UTF8SMTPS",
        (_, true, false, true) => "UTF8SMTPA",
        (_, true, false, false) => "UTF8SMTP",
        (Greeting::Helo, false, _, _) => "SMTP",
        (Greeting::Ehlo, false, true, true) => "ESMTPSA",
        (Greeting::Ehlo, false, true, false) => "ESMTPS",
        (Greeting::Ehlo, false, false, true) => "ESMTPA",
        (Greeting::Ehlo, false, false, false) => "ESMTP",
    }
}
