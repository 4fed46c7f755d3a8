//! A global webhook that lives through all ends: whatever was acknowledged is told to it at least once (W3).

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde_json::json;

use super::ledger::{Told, Violation};
use crate::receiver::{Delivery, Manner, Receiver};
use crate::server::Server;
use crate::trial::api::Api;

/// What has not come after so long without anything else is lost.
const PATIENCE: Duration = Duration::from_secs(45);
/// Missing events that are named.
const NAMED_MAX: usize = 5;
const EVENTS: [&str; 3] = ["email.received", "email.stored", "email.deleted"];

/// The webhook's target, and what it was told.
pub(super) struct Hook {
    receiver: Receiver,
    told: HashSet<Told>,
    pub(super) deliveries: u64,
}

impl Hook {
    /// On a server that has taken no mail yet.
    pub(super) fn on(server: &Server) -> Result<Self> {
        let receiver = Receiver::start(Manner::Prompt)?;
        let body = json!({ "url": receiver.url("/"), "events": EVENTS });
        let answer = Api::of(server)?.post("/api/webhooks", &body);
        answer
            .map_err(|_| anyhow!("creating a webhook is not answered"))?
            .json()?;
        Ok(Self {
            receiver,
            told: HashSet::new(),
            deliveries: 0,
        })
    }

    /// Takes note of what has come.
    pub(super) fn listen(&mut self) {
        let came = self.receiver.take(0, Duration::ZERO);
        self.hear(came);
    }

    /// How often something came that had come before.
    pub(super) fn repeated(&self) -> u64 {
        self.deliveries - self.told.len() as u64
    }

    /// Waits until everything was told that must be; what is missing after that.
    pub(super) fn settle(&mut self, promised: &[Told]) -> Option<Violation> {
        self.listen();
        let mut missing: HashSet<&Told> = promised.iter().filter(|event| !self.told.contains(*event)).collect();
        while !missing.is_empty() {
            let came = self.receiver.take(missing.len(), PATIENCE);
            if came.is_empty() {
                return lost(&missing);
            }
            self.hear(came);
            missing.retain(|event| !self.told.contains(*event));
        }
        None
    }

    fn hear(&mut self, came: Vec<Delivery>) {
        self.deliveries += came.len() as u64;
        let named = |delivery: Delivery| {
            let known = EVENTS.into_iter().find(|event| *event == delivery.event);
            Some((known?, delivery.email))
        };
        self.told.extend(came.into_iter().filter_map(named));
    }
}

fn lost(missing: &HashSet<&Told>) -> Option<Violation> {
    let named: Vec<String> = missing
        .iter()
        .take(NAMED_MAX)
        .map(|(event, id)| format!("{event} of {id}"))
        .collect();
    let text = format!("{} events were told to no webhook: {}", missing.len(), named.join(", "));
    (!missing.is_empty()).then_some(Violation::Lost(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_told_is_named() {
        let (one, two) = (
            ("email.stored", "msg_1".to_owned()),
            ("email.deleted", "msg_1".to_owned()),
        );
        let missing = lost(&HashSet::from([&one, &two])).unwrap().to_string();
        for named in ["lost: 2 events", "email.stored of msg_1", "email.deleted of msg_1"] {
            assert!(missing.contains(named), "{missing}");
        }
        assert_eq!(lost(&HashSet::new()), None);
    }
}
