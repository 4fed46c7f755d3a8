//! What is asked of a new inbox, and what the server passed over.

use restante_client::{Inbox, NewInbox};

use crate::args::inbox::CreateArgs;

/// What a server may pass over without an error.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wishes {
    encrypted: Option<bool>,
    email_auth: Option<bool>,
    spam_analysis: Option<bool>,
    persistent: Option<bool>,
    never_expires: bool,
}

impl Wishes {
    /// Those of the flags.
    pub(super) fn of(flags: &CreateArgs) -> Self {
        Self {
            encrypted: either(flags.encrypted, flags.plain),
            email_auth: either(flags.email_auth, flags.no_email_auth),
            spam_analysis: either(flags.spam_analysis, flags.no_spam_analysis),
            persistent: either(flags.persistent, flags.ephemeral),
            never_expires: flags.never_expires,
        }
    }

    /// Adds them to a request.
    pub(super) fn add_to(self, mut inbox: NewInbox) -> NewInbox {
        inbox = match self.encrypted {
            Some(true) => inbox.encrypted(),
            Some(false) => inbox.plain(),
            None => inbox,
        };
        if let Some(checked) = self.email_auth {
            inbox = inbox.email_auth(checked);
        }
        if let Some(asked) = self.spam_analysis {
            inbox = inbox.spam_analysis(asked);
        }
        if self.never_expires {
            inbox = inbox.never_expires();
        }
        match self.persistent {
            Some(true) => inbox.persistent(),
            Some(false) => inbox.ephemeral(),
            None => inbox,
        }
    }

    /// A line for each that was passed over: what the inbox is instead, and which setting of the server decides.
    pub(super) fn passed_over_in(self, inbox: &Inbox) -> impl Iterator<Item = &'static str> {
        let encryption = match (self.encrypted, inbox.is_encrypted()) {
            (Some(true), false) => {
                Some("warning: it is plain: the server's encryption policy decides (SVC_ENCRYPTION_ENABLED)")
            }
            (Some(false), true) => {
                Some("warning: it is encrypted: the server's encryption policy decides (SVC_ENCRYPTION_ENABLED)")
            }
            _ => None,
        };
        let checks = is_denied(self.email_auth, inbox.email_auth())
            .then_some("warning: its mail is not checked: the server does not do that (SVC_EMAIL_AUTH_ENABLED)");
        let scores = is_denied(self.spam_analysis, inbox.spam_analysis())
            .then_some("warning: its mail is not scored: the server asks no spam filter (SVC_SPAM_ANALYSIS_ENABLED)");
        [encryption, checks, scores, self.other_lifetime(inbox)]
            .into_iter()
            .flatten()
    }

    /// The line of persistence and its end: who asks for no end asks for a persistent inbox.
    fn other_lifetime(self, inbox: &Inbox) -> Option<&'static str> {
        let persistent = self.persistent.or(self.never_expires.then_some(true));
        let ends = self.never_expires && inbox.expires_at().is_some();
        match (persistent, inbox.is_persistent()) {
            (Some(true), Some(false)) if ends => Some(
                "warning: it expires, as it is ephemeral: the server's persistence policy decides \
                 (SVC_PERSISTENCE_POLICY)",
            ),
            (Some(true), Some(false)) => {
                Some("warning: it is ephemeral: the server's persistence policy decides (SVC_PERSISTENCE_POLICY)")
            }
            (Some(false), Some(true)) => {
                Some("warning: it is persistent: the server's persistence policy decides (SVC_PERSISTENCE_POLICY)")
            }
            _ if ends => Some(
                "warning: it expires: for one without an end the server must speak the wire profile vaultsandbox \
                 (SVC_WIRE_PROFILE)",
            ),
            _ => None,
        }
    }
}

/// Whether something was asked for and is not done; an answer that does not say denies nothing.
fn is_denied(wish: Option<bool>, answer: Option<bool>) -> bool {
    wish == Some(true) && answer == Some(false)
}

/// What one of two flags says.
fn either(yes: bool, no: bool) -> Option<bool> {
    (yes || no).then_some(yes)
}
