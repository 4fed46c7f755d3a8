//! What a webhook is told: the envelope of an event (interface, "Envelope" and "Data shapes").

use std::collections::BTreeMap;
use std::fmt;

use restante_model::event::{EventAttachment, EventAuth, EventMailbox};
use restante_model::{Clock as _, EventType, RemovalReason, SystemClock, Timestamp};
use serde::{Deserialize, Deserializer};

use super::signature::{DeliveryError, SignatureHeaders, TOLERANCE, verify_signature};
use crate::http::json_fault;

/// An event as a receiver gets it, unless its webhook has a template. `Debug` shows nothing of the mail.
///
/// Ids are texts: those of a test are `evt_test_…` and `msg_test_…`, which the server gives to nothing else.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct WebhookEvent {
    /// Its id, the same at every attempt: what a receiver knows already, it has had before.
    pub id: String,
    /// When it happened, in whole seconds.
    #[serde(rename = "createdAt", deserialize_with = "unix_seconds")]
    pub created_at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub data: EventData,
}

/// What happened to an email.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum EventData {
    /// It arrived.
    #[serde(rename = "email.received")]
    Received(Box<EmailReceived>),
    /// It was persisted.
    #[serde(rename = "email.stored")]
    Stored(EmailStored),
    /// It was removed.
    #[serde(rename = "email.deleted")]
    Deleted(EmailDeleted),
}

/// An email that arrived. `Debug` shows its ids only.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmailReceived {
    /// Its id.
    pub id: String,
    /// The hash of its inbox.
    pub inbox_id: String,
    /// The address of its inbox.
    pub inbox_email: String,
    /// Its sender.
    pub from: EventMailbox,
    /// Its recipients.
    pub to: Vec<EventMailbox>,
    /// Who else it was sent to.
    #[serde(default)]
    pub cc: Vec<EventMailbox>,
    /// Its subject.
    pub subject: String,
    /// The first 200 characters of its text.
    pub snippet: String,
    /// Its text.
    pub text_body: Option<String>,
    /// Its HTML.
    pub html_body: Option<String>,
    /// Its headers, named in lowercase.
    pub headers: BTreeMap<String, String>,
    /// Its attachments, without their content.
    pub attachments: Vec<EventAttachment>,
    /// The results of SPF, DKIM and DMARC.
    pub auth: Option<EventAuth>,
    /// When it arrived.
    pub received_at: Timestamp,
}

/// An email that was persisted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmailStored {
    /// Its id.
    pub id: String,
    /// The hash of its inbox.
    pub inbox_id: String,
    /// The address of its inbox.
    pub inbox_email: String,
    /// When it was persisted.
    pub stored_at: Timestamp,
}

/// An email that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmailDeleted {
    /// Its id.
    pub id: String,
    /// The hash of its inbox.
    pub inbox_id: String,
    /// The address of its inbox.
    pub inbox_email: String,
    /// Why.
    pub reason: RemovalReason,
    /// When it was removed.
    pub deleted_at: Timestamp,
}

impl WebhookEvent {
    /// Verifies a delivery by the machine's clock and with [`TOLERANCE`], then reads its event.
    ///
    /// # Errors
    /// As [`verify_signature`], and [`DeliveryError::NotAnEvent`].
    pub fn verify(secret: &str, headers: &SignatureHeaders<'_>, body: &[u8]) -> Result<Self, DeliveryError> {
        verify_signature(secret, headers, body, TOLERANCE, SystemClock.now())?;
        Self::parse(body)
    }

    /// Reads the event of a delivery that was verified.
    ///
    /// # Errors
    /// [`DeliveryError::NotAnEvent`].
    pub fn parse(body: &[u8]) -> Result<Self, DeliveryError> {
        serde_json::from_slice(body).map_err(|error| DeliveryError::NotAnEvent(json_fault(&error)))
    }

    /// As what its webhook subscribed to it.
    pub fn event_type(&self) -> EventType {
        match self.data {
            EventData::Received(_) => EventType::EmailReceived,
            EventData::Stored(_) => EventType::EmailStored,
            EventData::Deleted(_) => EventType::EmailDeleted,
        }
    }

    /// The id of the email that it is about.
    pub fn email_id(&self) -> &str {
        match &self.data {
            EventData::Received(email) => &email.id,
            EventData::Stored(email) => &email.id,
            EventData::Deleted(email) => &email.id,
        }
    }

    /// The address of the inbox that it is about.
    pub fn inbox(&self) -> &str {
        match &self.data {
            EventData::Received(email) => &email.inbox_email,
            EventData::Stored(email) => &email.inbox_email,
            EventData::Deleted(email) => &email.inbox_email,
        }
    }
}

fn unix_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let seconds = u64::deserialize(deserializer)?;
    Ok(Timestamp::from_unix_ms(seconds.saturating_mul(1000)))
}

impl fmt::Debug for WebhookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookEvent")
            .field("id", &self.id)
            .field("type", &self.event_type().as_str())
            .field("email", &self.email_id())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for EmailReceived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmailReceived")
            .field("id", &self.id)
            .field("inbox_id", &self.inbox_id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
