//! Emails that the server makes itself, with results of authentication as a test wants them.
//!
//! Source: interface additions, "Test emails".

use std::fmt;

use restante_model::EmailId;
use restante_model::auth::{SpfVerdict, Verdict};
use serde::{Deserialize, Serialize};

use crate::http::Call;
use crate::routes::path;
use crate::{Client, Error};

/// An email that the server is to make: what is not said is the server's default.
///
/// It goes the way of every email, but for SMTP: streams and webhooks hear of it.
/// The checks are not made; they have the results that are asked for, whether the inbox is checked or not.
///
/// ```
/// use restante_client::TestEmail;
/// use restante_client::auth::{SpfVerdict, Verdict};
///
/// let spoofed = TestEmail::to("alice@restante.test")
///     .from("ceo@shop.test")
///     .subject("Urgent")
///     .spf(SpfVerdict::Fail)
///     .dmarc(Verdict::Fail);
/// ```
///
/// `Debug` shows nothing of it.
#[derive(Clone, Serialize)]
#[must_use = "`Client::send_test_email` has it made"]
pub struct TestEmail {
    to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth: Option<Forced>,
}

/// The results that the checks are to have.
#[derive(Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Forced {
    #[serde(skip_serializing_if = "Option::is_none")]
    spf: Option<SpfVerdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dkim: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dmarc: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reverse_dns: Option<Verdict>,
}

/// The answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Made {
    email_id: EmailId,
}

impl Client {
    /// Has the server make an email; its id.
    ///
    /// # Errors
    /// [`Error::InboxNotFound`]; [`Error::Api`] with 404 if the server does not make emails (`SVC_SDK_DEVELOPMENT`), with
    /// 400 for a value out of its bounds.
    pub async fn send_test_email(&self, email: TestEmail) -> Result<EmailId, Error> {
        let made: Made = self
            .http()
            .json(Call::post(path(["test", "emails"])).body(&email))
            .await?;
        Ok(made.email_id)
    }
}

impl TestEmail {
    /// To an inbox.
    pub fn to(address: impl Into<String>) -> Self {
        Self {
            to: address.into(),
            from: None,
            subject: None,
            text: None,
            html: None,
            auth: None,
        }
    }

    /// From this address.
    pub fn from(mut self, address: impl Into<String>) -> Self {
        self.from = Some(address.into());
        self
    }

    /// About this, in at most 998 characters.
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// With this plain body.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// With this HTML body.
    pub fn html(mut self, html: impl Into<String>) -> Self {
        self.html = Some(html.into());
        self
    }

    /// With this result of SPF, which is not [`SpfVerdict::Skipped`]; unless said it passed.
    pub fn spf(mut self, result: SpfVerdict) -> Self {
        self.auth.get_or_insert_default().spf = Some(result);
        self
    }

    /// With this result of DKIM, which is not [`Verdict::Skipped`]; unless said it passed.
    pub fn dkim(mut self, result: Verdict) -> Self {
        self.auth.get_or_insert_default().dkim = Some(result);
        self
    }

    /// With this result of DMARC, which is not [`Verdict::Skipped`]; unless said it passed.
    pub fn dmarc(mut self, result: Verdict) -> Self {
        self.auth.get_or_insert_default().dmarc = Some(result);
        self
    }

    /// With this result of reverse DNS, which is not [`Verdict::Skipped`]; unless said it passed.
    pub fn reverse_dns(mut self, result: Verdict) -> Self {
        self.auth.get_or_insert_default().reverse_dns = Some(result);
        self
    }
}

impl fmt::Debug for TestEmail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestEmail").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn full() -> TestEmail {
        TestEmail::to("bob@restante.test")
            .from("alice@shop.test")
            .subject("Hello")
            .text("t")
            .html("<p>h</p>")
            .spf(SpfVerdict::Softfail)
            .dkim(Verdict::None)
            .dmarc(Verdict::Fail)
            .reverse_dns(Verdict::Pass)
    }

    #[test]
    fn what_is_not_said_is_not_sent() {
        for (email, expected) in [
            (TestEmail::to("bob@restante.test"), json!({ "to": "bob@restante.test" })),
            (
                TestEmail::to("b").dkim(Verdict::Fail),
                json!({ "to": "b", "auth": { "dkim": "fail" } }),
            ),
            (
                full(),
                json!({
                    "to": "bob@restante.test", "from": "alice@shop.test", "subject": "Hello", "text": "t",
                    "html": "<p>h</p>",
                    "auth": { "spf": "softfail", "dkim": "none", "dmarc": "fail", "reverseDns": "pass" },
                }),
            ),
        ] {
            assert_eq!(serde_json::to_value(email).unwrap(), expected);
        }
    }

    #[test]
    fn debug_shows_nothing_of_it() {
        assert_eq!(format!("{:?}", full()), "TestEmail { .. }");
    }
}
