//! The one table from refusals to SMTP replies. An internal text never gets on the wire.

use std::time::Duration;

use restante_inbox::{DepositError, RecipientError};
use restante_smtp::{Enhanced, Reply};

/// The answer to RCPT for a recipient that is not taken.
pub(crate) fn recipient(error: &RecipientError) -> Reply {
    match error {
        RecipientError::Domain(domain) => {
            let text = format!("This server does not accept mail for domain: {domain}");
            Reply::new(550, Enhanced(5, 7, 1), &text)
        }
        RecipientError::NoInbox => Reply::new(550, Enhanced(5, 1, 1), "Recipient address rejected"),
        RecipientError::Unavailable => storage_trouble(),
    }
}

/// The answer to the end of data for a message that was not stored.
pub(crate) fn deposit(error: DepositError) -> Reply {
    match error {
        DepositError::Gone => recipient(&RecipientError::NoInbox),
        DepositError::NoRoom => no_room(),
        DepositError::TooLarge => Reply::new(
            552,
            Enhanced(5, 3, 4),
            "Message too large for so many encrypted inboxes, send it to fewer at a time",
        ),
        DepositError::BeyondStorage => Reply::new(552, Enhanced(5, 3, 4), "Message too large, it exceeds the storage"),
        DepositError::Unavailable => storage_trouble(),
    }
}

/// The disk, or the memory for messages in flight, has no room.
pub(crate) fn no_room() -> Reply {
    Reply::new(452, Enhanced(4, 3, 1), "Insufficient system storage, try again later")
}

/// The message may be sent again.
pub(crate) fn storage_trouble() -> Reply {
    Reply::new(451, Enhanced(4, 3, 0), "Storage trouble, try again later")
}

/// A mail beyond what one client may bring in a span of time.
pub(crate) fn too_much_mail(wait: Duration) -> Reply {
    let seconds = wait.as_millis().div_ceil(1000);
    let text = format!("Too much mail from your address, try again in {seconds} seconds");
    Reply::new(450, Enhanced(4, 7, 1), &text)
}

/// A connection beyond the limits.
pub(crate) fn too_many_connections() -> Reply {
    Reply::new(421, Enhanced(4, 7, 0), "Too many connections, try again later")
}
