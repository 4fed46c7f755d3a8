//! A sender for tests, and attempts for it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use restante_webhook::{Attempt, Guard, Lookup, Outcome, Sender, SenderConfig, TargetUrl, Unresolved};

/// Longer than anything takes that is to succeed.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Long enough for a connection on the loopback interface.
pub(crate) const SHORT: Duration = Duration::from_millis(500);

/// Every name is this machine.
#[derive(Debug)]
pub(crate) struct ThisMachine;

#[async_trait]
impl Lookup for ThisMachine {
    async fn addresses(&self, _name: &str) -> Result<Vec<IpAddr>, Unresolved> {
        Ok(vec![[127, 0, 0, 1].into()])
    }
}

pub(crate) fn config() -> SenderConfig {
    SenderConfig {
        timeout: TIMEOUT,
        guard: Guard::new(true, Arc::new(ThisMachine)),
        extra_roots: Vec::new(),
        user_agent: "Service-Webhook/1.0".to_owned(),
    }
}

/// A sender that may reach this machine.
pub(crate) fn sender() -> Sender {
    Sender::new(config()).unwrap()
}

/// The same with a short time-out.
pub(crate) fn impatient() -> Sender {
    Sender::new(SenderConfig {
        timeout: SHORT,
        ..config()
    })
    .unwrap()
}

/// The same that trusts a certificate.
pub(crate) fn trusting(certificate: &[u8]) -> Sender {
    Sender::new(SenderConfig {
        extra_roots: vec![certificate.to_vec()],
        ..config()
    })
    .unwrap()
}

pub(crate) fn attempt(url: &str) -> Attempt {
    Attempt {
        url: TargetUrl::parse(url, true).unwrap(),
        headers: vec![("X-Vault-Attempt", "1".to_owned())],
        content_type: "application/json".to_owned(),
        body: Bytes::from_static(b"{}"),
    }
}

/// The text of an outcome that is no success and has no status.
pub(crate) fn failure(outcome: &Outcome) -> &str {
    assert_eq!(outcome.status, None);
    assert!(!outcome.is_success());
    outcome.error.as_deref().unwrap()
}
