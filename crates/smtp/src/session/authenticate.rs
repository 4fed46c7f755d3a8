//! AUTH: when it may come, and the lines of its exchange (RFC 4954 section 4).

use super::{Greeting, Session, State, Step};
use crate::auth::{Exchange, RESPONSE_LINE_MAX, Response};
use crate::config::Auth;
use crate::line::{Line, LineReader};
use crate::reply::Reply;
use crate::wording;

impl Session {
    pub(super) fn authenticate(&mut self, argument: Response<'_>) -> Step {
        let begun = match self.auth_refusal() {
            Some(reply) => Err(reply),
            None => Exchange::begin(argument),
        };
        match begun {
            Ok((exchange, Some(response))) => self.respond(exchange.take(response)),
            Ok((exchange, None)) => self.respond(Ok(Some(exchange))),
            Err(reply) => self.respond(Err(reply)),
        }
    }

    /// Why the client may not authenticate now, if so.
    fn auth_refusal(&self) -> Option<Reply> {
        let greeted = matches!(&self.client, Some(client) if client.greeting == Greeting::Ehlo);
        match self.config.auth {
            Auth::Off => Some(wording::NOT_IMPLEMENTED),
            Auth::AcceptAny if !greeted => Some(wording::EHLO_FIRST),
            Auth::AcceptAny if self.authenticated => Some(wording::AUTHENTICATED),
            Auth::AcceptAny if self.draft.is_some() => Some(wording::AUTH_IN_TRANSACTION),
            Auth::AcceptAny => None,
        }
    }

    /// Reads a line of the exchange.
    pub(super) fn read_response(&mut self, exchange: Exchange, input: &mut &[u8]) -> Step {
        let next = match self.lines.read(input, RESPONSE_LINE_MAX) {
            Line::NeedInput => return Step::NeedInput,
            Line::TooLong => Err(wording::RESPONSE_TOO_LONG),
            Line::Complete(line) => exchange.take(Response(line)),
        };
        // What was read may be a password: the reader begins anew, with nothing kept.
        self.lines = LineReader::default();
        self.respond(next)
    }

    /// Goes on with the exchange, or ends it.
    fn respond(&mut self, next: Result<Option<Exchange>, Reply>) -> Step {
        let (state, reply) = match next {
            Ok(Some(exchange)) => (State::Auth(exchange), exchange.challenge()),
            Ok(None) => {
                self.authenticated = true;
                (State::Commands, wording::AUTH_OK)
            }
            Err(reply) => (State::Commands, reply),
        };
        self.state = state;
        self.say(&reply);
        Step::Continue
    }
}
