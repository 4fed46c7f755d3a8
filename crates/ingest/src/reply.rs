//! The one table from refusals to SMTP replies. An internal text never gets on the wire.

use std::time::Duration;

use restante_inbox::{DepositError, RecipientError};
use restante_monitor::Refusal;
use restante_smtp::{Enhanced, Reply};

/// A refusal: what the client is told, and why, for the monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) reply: Reply,
    pub(crate) cause: Refusal,
}

impl Refused {
    pub(crate) fn new(cause: Refusal, reply: Reply) -> Self {
        Self { reply, cause }
    }
}

/// The answer to RCPT for a recipient that is not taken.
pub(crate) fn recipient(error: &RecipientError) -> Refused {
    match error {
        RecipientError::Domain(domain) => {
            let text = format!("This server does not accept mail for domain: {domain}");
            Refused::new(Refusal::Domain, Reply::new(550, Enhanced(5, 7, 1), &text))
        }
        RecipientError::NoInbox => Refused::new(
            Refusal::NoInbox,
            Reply::new(550, Enhanced(5, 1, 1), "Recipient address rejected"),
        ),
        RecipientError::Unavailable => storage_trouble(),
    }
}

/// The answer to the end of data for a message that was not stored.
pub(crate) fn deposit(error: DepositError) -> Refused {
    match error {
        DepositError::Gone => recipient(&RecipientError::NoInbox),
        DepositError::NoRoom => no_room(),
        DepositError::TooLarge => {
            too_large("Message too large for so many encrypted inboxes, send it to fewer at a time")
        }
        DepositError::BeyondStorage => too_large("Message too large, it exceeds the storage"),
        DepositError::Unavailable => storage_trouble(),
    }
}

fn too_large(text: &str) -> Refused {
    Refused::new(Refusal::Size, Reply::new(552, Enhanced(5, 3, 4), text))
}

/// The disk, or the memory for messages in flight, has no room.
pub(crate) fn no_room() -> Refused {
    let text = "Insufficient system storage, try again later";
    Refused::new(Refusal::NoRoom, Reply::new(452, Enhanced(4, 3, 1), text))
}

/// The message may be sent again.
pub(crate) fn storage_trouble() -> Refused {
    let text = "Storage trouble, try again later";
    Refused::new(Refusal::Storage, Reply::new(451, Enhanced(4, 3, 0), text))
}

/// A mail beyond what one client may bring in a span of time.
pub(crate) fn too_much_mail(wait: Duration) -> Refused {
    let seconds = wait.as_millis().div_ceil(1000);
    let text = format!("Too much mail from your address, try again in {seconds} seconds");
    Refused::new(Refusal::Rate, Reply::new(450, Enhanced(4, 7, 1), &text))
}

/// What an inbox may ask for instead of a 250 (docs/spec/additions.md): to be tried again. The 421 ends its session.
pub(crate) static TEMPORARY_FAULTS: [Reply; 4] = [
    Reply::fixed(
        421,
        Enhanced(4, 7, 0),
        "Simulated fault: the service is not available, closing connection",
    ),
    Reply::fixed(450, Enhanced(4, 2, 1), "Simulated fault: the mailbox is busy"),
    Reply::fixed(451, Enhanced(4, 3, 0), "Simulated fault: an error in processing"),
    Reply::fixed(452, Enhanced(4, 3, 1), "Simulated fault: the storage is full"),
];

/// The same, to be given up.
pub(crate) static PERMANENT_FAULTS: [Reply; 5] = [
    Reply::fixed(550, Enhanced(5, 1, 1), "Simulated fault: there is no such mailbox"),
    Reply::fixed(551, Enhanced(5, 1, 6), "Simulated fault: the mailbox has moved"),
    Reply::fixed(552, Enhanced(5, 3, 4), "Simulated fault: the message is too large"),
    Reply::fixed(553, Enhanced(5, 1, 3), "Simulated fault: the address is not valid"),
    Reply::fixed(554, Enhanced(5, 0, 0), "Simulated fault: the transaction failed"),
];

/// An attempt that comes too early for an inbox that asked for a greylist.
pub(crate) const GREYLISTED: Reply =
    Reply::fixed(451, Enhanced(4, 7, 1), "Simulated fault: greylisted, try again later");

/// A connection beyond the limits.
pub(crate) fn too_many_connections() -> Reply {
    Reply::new(421, Enhanced(4, 7, 0), "Too many connections, try again later")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_cause_and_its_code() {
        let elsewhere = "elsewhere.test".to_owned();
        for (refused, cause, code) in [
            (recipient(&RecipientError::Domain(elsewhere)), Refusal::Domain, 550),
            (recipient(&RecipientError::NoInbox), Refusal::NoInbox, 550),
            (recipient(&RecipientError::Unavailable), Refusal::Storage, 451),
            (deposit(DepositError::Gone), Refusal::NoInbox, 550),
            (deposit(DepositError::NoRoom), Refusal::NoRoom, 452),
            (deposit(DepositError::TooLarge), Refusal::Size, 552),
            (deposit(DepositError::BeyondStorage), Refusal::Size, 552),
            (deposit(DepositError::Unavailable), Refusal::Storage, 451),
            (no_room(), Refusal::NoRoom, 452),
            (too_much_mail(Duration::from_millis(1)), Refusal::Rate, 450),
        ] {
            assert_eq!(
                (refused.cause, refused.reply.code()),
                (cause, code),
                "{:?}",
                refused.reply
            );
        }
    }
}
