//! The dispatcher: one task that turns events into deliveries and makes the attempts that are due.
//!
//! Everything that must not be lost is in the store: a start is an ordinary wake-up. The two halves run side by side,
//! so that neither waits for the other's disk: `router` matches events and queues deliveries, `courier` claims them,
//! sends and settles.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::Webhooks;

mod attempt;
mod courier;
mod lanes;
mod recent;
mod router;
mod verdicts;

use courier::Courier;
use recent::Recent;
use router::Router;

/// How long the dispatcher waits when the store is unavailable.
const PAUSE: Duration = Duration::from_secs(1);
/// It looks at least this often, in case the machine's clock jumps.
const LONGEST_SLEEP: Duration = Duration::from_mins(1);

impl Webhooks {
    /// Delivers events until it is told to stop, then ends when the attempts under way are settled. One task runs it.
    ///
    /// Dropping it breaks attempts off; they are made again after the next start.
    ///
    /// With webhooks switched off nothing is sent: events are dispatched to nobody, so that none pile up, and what was
    /// queued before stays.
    pub async fn run_dispatcher(&self, stop: CancellationToken) {
        let recent = Arc::new(Recent::new(self));
        let queued = Notify::new();
        let router = Router::new(self, &recent, &queued);
        if self.policy().is_enabled {
            let courier = Courier::new(self, &recent, &queued);
            tokio::join!(router.run(&stop), courier.run(&stop));
        } else {
            router.run(&stop).await;
        }
    }
}
