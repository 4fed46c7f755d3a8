//! What is checked, and how.

use std::net::SocketAddr;
use std::time::Duration;

/// What is checked, and how.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four switches of the operator, independent of each other"
)]
pub struct AuthSettings {
    /// Whether SPF is checked.
    pub spf: bool,
    /// Whether DKIM is checked.
    pub dkim: bool,
    /// Whether DMARC is checked.
    pub dmarc: bool,
    /// Whether reverse DNS is checked.
    pub reverse_dns: bool,
    /// Time for all checks of one message.
    pub timeout: Duration,
    /// The DNS server; the system's when there is none.
    pub resolver: Option<SocketAddr>,
}
