//! Where mail meets the faults that its inboxes asked for.

use std::collections::HashSet;
use std::net::SocketAddr;

use bytes::Bytes;
use restante_inbox::{Announcement, Deposit, Recipient};
use restante_model::{EmailId, SessionFacts};
use restante_monitor::{Fault, Happening, Refusal};
use restante_smtp::Transaction;

use super::sentence::Sentence;
use super::verdict::{Hearing, Outcome, Verdict};
use super::{Chaos, Sender, sentence};
use crate::accept::NotTaken;
use crate::ingest::Ingest;
use crate::patience::Patience;
use crate::reply::{self, Refused};

/// The recipients of a message, each inbox once.
#[derive(Debug)]
pub(crate) struct Sorted {
    /// Those who get it.
    pub(crate) kept: Vec<Recipient>,
    /// Those who only seem to.
    pub(crate) thrown_away: Vec<ThrownAway>,
}

/// A copy that is answered like the others and not stored.
#[derive(Debug)]
pub(crate) struct ThrownAway {
    recipient: Recipient,
    /// Its place among all recipients.
    place: usize,
    heard_by: Hearing,
}

impl Ingest {
    /// Has the message meet the faults of its inboxes, and says who gets it after that. It may take as long as the
    /// longest delay that an inbox can ask for.
    ///
    /// # Errors
    /// What is done to the client instead; nobody gets the message then.
    pub(crate) async fn meet_faults(
        &self,
        transaction: &Transaction,
        peer: SocketAddr,
        recipients: Vec<Recipient>,
        patience: &Patience<'_>,
    ) -> Result<Sorted, NotTaken> {
        match &self.chaos {
            Some(chaos) if recipients.iter().any(|to| to.inbox.chaos.is_some()) => {
                // On the heap: a connection whose mail meets no fault has no room for it.
                Box::pin(self.meet(chaos, transaction, peer, recipients, patience)).await
            }
            _ => Ok(Sorted {
                kept: recipients,
                thrown_away: Vec::new(),
            }),
        }
    }

    async fn meet(
        &self,
        chaos: &Chaos,
        transaction: &Transaction,
        peer: SocketAddr,
        mut recipients: Vec<Recipient>,
        patience: &Patience<'_>,
    ) -> Result<Sorted, NotTaken> {
        let mut seen = HashSet::new();
        recipients.retain(|to| seen.insert(to.inbox.key));
        let verdicts = self.judge(chaos, transaction, peer, &recipients);
        if let Some(delay) = sentence::delay(&verdicts) {
            patience.wait(delay).await?;
        }
        match sentence::strictest(&verdicts) {
            None => Ok(sort(recipients, &verdicts)),
            Some(sentence) => Err(carry_out(sentence)),
        }
    }

    /// One verdict for each recipient, with those faults told to the monitor that struck.
    fn judge(
        &self,
        chaos: &Chaos,
        transaction: &Transaction,
        peer: SocketAddr,
        recipients: &[Recipient],
    ) -> Vec<Verdict> {
        let now = self.clock.now();
        let sender = Sender {
            ip: peer.ip(),
            reverse_path: transaction.reverse_path.as_str().to_lowercase(),
        };
        let judge = |to: &Recipient| {
            let inbox = &to.inbox;
            let config = inbox.chaos.as_deref().filter(|config| config.is_on(now));
            let verdict = config.map_or(Verdict::NONE, |config| chaos.judge(inbox, config, &sender, now));
            let late = verdict.delay.map(|_| Fault::Latency);
            for fault in late.into_iter().chain(verdict.struck) {
                tracing::debug!(%peer, ?fault, "a simulated fault");
                let inbox = &inbox.address;
                self.monitor.note(Happening::FaultMet { fault, inbox });
            }
            verdict
        };
        recipients.iter().map(judge).collect()
    }

    /// Gives ids to copies that are thrown away, in the order of their places, and tells webhooks where that is wanted.
    ///
    /// # Errors
    /// What a deposit would answer; nobody was told, unless the store cannot tell.
    pub(crate) async fn throw_away(
        &self,
        raw: &Bytes,
        facts: &SessionFacts,
        thrown_away: Vec<ThrownAway>,
    ) -> Result<Thrown, Refused> {
        let mut thrown = Thrown::default();
        let mut told = Vec::new();
        for copy in thrown_away {
            match copy.heard_by {
                Hearing::Nobody => thrown.ids.push((copy.place, EmailId::new(facts.received_at))),
                Hearing::Webhooks => told.push(copy),
            }
        }
        if !told.is_empty() {
            Box::pin(self.tell(raw, facts, told, &mut thrown)).await?;
        }
        Ok(thrown)
    }

    async fn tell(
        &self,
        raw: &Bytes,
        facts: &SessionFacts,
        told: Vec<ThrownAway>,
        thrown: &mut Thrown,
    ) -> Result<(), Refused> {
        let (places, mut recipients): (Vec<_>, Vec<_>) =
            told.into_iter().map(|copy| (copy.place, copy.recipient)).unzip();
        self.authenticate(raw, facts, &mut recipients).await;
        let deposit = Deposit {
            facts: facts.clone(),
            raw: raw.clone(),
            recipients,
        };
        let announcement = self.inboxes.tell_of(deposit).await.map_err(reply::deposit)?;
        thrown.ids.extend(places.into_iter().zip(announcement.ids()));
        thrown.ids.sort_unstable();
        thrown.announcement = Some(announcement);
        Ok(())
    }
}

/// What was answered and not stored.
#[derive(Debug, Default)]
pub(crate) struct Thrown {
    /// By place among all recipients.
    ids: Vec<(usize, EmailId)>,
    /// Has webhooks hear of it when it is dropped.
    pub(crate) announcement: Option<Announcement>,
}

impl Thrown {
    /// All ids in the order of the recipients, those of the copies that were stored included.
    pub(crate) fn among(&self, stored: impl Iterator<Item = EmailId>) -> Vec<EmailId> {
        let mut ids: Vec<_> = stored.collect();
        for (place, id) in &self.ids {
            ids.insert(*place, *id);
        }
        ids
    }
}

fn carry_out(sentence: Sentence) -> NotTaken {
    let refused = |reply| Refused::new(Refusal::Chaos, reply);
    match sentence {
        Sentence::HungUp(how) => NotTaken::HungUp(how),
        Sentence::Refused(reply) if reply.code() == 421 => NotTaken::Dismissed(refused(reply)),
        Sentence::Refused(reply) => NotTaken::Refused(refused(reply)),
    }
}

fn sort(recipients: Vec<Recipient>, verdicts: &[Verdict]) -> Sorted {
    let (mut kept, mut thrown_away) = (Vec::with_capacity(recipients.len()), Vec::new());
    for (place, (recipient, verdict)) in recipients.into_iter().zip(verdicts).enumerate() {
        match verdict.outcome {
            Outcome::ThrownAway(heard_by) => thrown_away.push(ThrownAway {
                recipient,
                place,
                heard_by,
            }),
            _ => kept.push(recipient),
        }
    }
    Sorted { kept, thrown_away }
}
