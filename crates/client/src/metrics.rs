//! What a server counts of its work since it was started.
//!
//! Source: interface additions, "Metrics".

pub use restante_wire::metrics::{
    AuthMetrics, CertificateMetrics, ChaosMetrics, ConnectionMetrics, EmailMetrics, InboxMetrics, Metrics,
    RejectionMetrics, SpamMetrics, StorageMetrics, VerdictMetrics,
};

use crate::http::Call;
use crate::routes::path;
use crate::{Client, Error};

impl Client {
    /// What the server counts of connections, inboxes, mail and its checks.
    pub async fn metrics(&self) -> Result<Metrics, Error> {
        self.http().json(Call::get(path(["metrics"]))).await
    }

    /// How much room mail takes, and how much there is.
    pub async fn storage_metrics(&self) -> Result<StorageMetrics, Error> {
        self.http().json(Call::get(path(["metrics", "storage"]))).await
    }
}
