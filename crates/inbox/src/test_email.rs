//! Test emails: mail that a client has this server compose, with the results of authentication that it wishes.
//!
//! From here on it is mail like any other: deposited, streamed, told to webhooks.
//!
//! Source: interface additions, "Test emails".

use std::sync::Arc;

use restante_envelope::WireProfile;
use restante_model::auth::{DkimResult, DmarcPolicy, DmarcResult, ReverseDnsResult, SpfResult, SpfVerdict, Verdict};
use restante_model::{AuthResults, ForwardPath, Inbox, SessionFacts, SpamAnalysis};
use restante_monitor::Happening;

pub use self::address::{PathError, Sender, SenderError, forward_path};
pub use self::subject::{Subject, SubjectError};
use crate::{Announcement, Deposit, DepositError, Inboxes, Recipient};

mod address;
mod compose;
mod subject;

/// Where test emails come from; all results name it.
const CLIENT: &str = "127.0.0.1";
/// The selector of the one DKIM result.
const SELECTOR: &str = "test";

/// What a test email says.
#[derive(Clone)]
pub struct TestEmail {
    /// To whom it goes.
    pub to: ForwardPath,
    /// Who sends it.
    pub from: Sender,
    /// What it is about.
    pub subject: Subject,
    /// The plain body.
    pub text: String,
    /// The HTML body.
    pub html: Option<String>,
    /// What the checks are to have said.
    pub verdicts: ForcedVerdicts,
}

/// What the checks of a test email are to have said; they hold whether the inbox is checked or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForcedVerdicts {
    /// Of SPF.
    pub spf: SpfVerdict,
    /// Of the one DKIM signature.
    pub dkim: Verdict,
    /// Of DMARC.
    pub dmarc: Verdict,
    /// Of reverse DNS.
    pub reverse_dns: Verdict,
}

/// Everything passes.
impl Default for ForcedVerdicts {
    fn default() -> Self {
        Self {
            spf: SpfVerdict::Pass,
            dkim: Verdict::Pass,
            dmarc: Verdict::Pass,
            reverse_dns: Verdict::Pass,
        }
    }
}

/// Why a test email was not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TestEmailError {
    /// The message has more bytes than a message may have.
    #[error("the message is larger than {0} bytes")]
    TooLarge(usize),
    /// As with any other mail.
    #[error(transparent)]
    Deposit(#[from] DepositError),
}

impl Inboxes {
    /// Composes a test email and stores it in the inbox that [`Inboxes::recipient`] found for its `to`; it is durable when
    /// this returns, and told to nobody before the announcement is dropped.
    ///
    /// # Errors
    /// [`TestEmailError::TooLarge`] if the message as composed has more than `max_message_bytes`; those of
    /// [`Inboxes::prepare`] and [`Inboxes::deposit`].
    pub async fn deposit_test_email(
        &self,
        inbox: Arc<Inbox>,
        email: TestEmail,
        max_message_bytes: usize,
    ) -> Result<Announcement, TestEmailError> {
        let received_at = self.now();
        let raw = compose::message(&email, received_at, &self.policy().hostname);
        let bytes = raw.len();
        if bytes > max_message_bytes {
            return Err(TestEmailError::TooLarge(max_message_bytes));
        }
        let deposit = Deposit {
            raw: raw.into(),
            facts: SessionFacts {
                peer: ([127, 0, 0, 1], 0).into(),
                helo: "localhost".to_owned(),
                protocol: "HTTP".to_owned(),
                tls: None,
                reverse_path: email.from.address().to_owned(),
                forward_path: String::new(),
                received_at,
            },
            recipients: vec![Recipient {
                inbox: Arc::clone(&inbox),
                forward_path: email.to.to_string(),
                auth: email.verdicts.results(email.from.domain(), self.policy().profile),
                spam: SpamAnalysis::skipped("Not analysed: this is a test email"),
            }],
        };
        // Its texts are in the message now.
        drop(email);
        let prepared = self.prepare(deposit).await?;
        let announcement = self.deposit(prepared).await?;
        let inbox = &inbox.address;
        self.shared.monitor.note(Happening::TestEmailStored { inbox, bytes });
        Ok(announcement)
    }
}

impl ForcedVerdicts {
    /// The results of a test email whose sender is at the domain.
    fn results(self, domain: &str, profile: WireProfile) -> AuthResults {
        let domain = || Some(domain.to_owned());
        let client = || Some(CLIENT.to_owned());
        let (spf, dkim) = (self.spf.as_str(), self.dkim.as_str());
        let hostname = match self.reverse_dns {
            Verdict::Pass => hostname(profile),
            _ => "",
        };
        AuthResults {
            spf: SpfResult {
                result: self.spf,
                domain: domain(),
                ip: client(),
                details: Some(format!("spf={spf} (test email)")),
            },
            dkim: vec![DkimResult {
                result: self.dkim,
                domain: domain(),
                selector: Some(SELECTOR.to_owned()),
                signature: Some(format!("dkim={dkim} (test email)")),
                details: None,
            }],
            dmarc: DmarcResult {
                result: self.dmarc,
                policy: Some(DmarcPolicy::None),
                aligned: Some(true),
                domain: domain(),
                details: None,
            },
            reverse_dns: ReverseDnsResult {
                result: self.reverse_dns,
                verified: None,
                ip: client(),
                hostname: Some(hostname.to_owned()),
                details: None,
            },
        }
    }
}

/// The name that the client's address points to (decisions, section 1).
fn hostname(profile: WireProfile) -> &'static str {
    match profile {
        WireProfile::Service => "test.restante.local",
        WireProfile::VaultSandbox => "test.vaultsandbox.local",
    }
}
