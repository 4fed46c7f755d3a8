//! Changes of one webhook take turns, so that none has to be made anew because of another one.

use restante_model::WebhookId;
use tokio::sync::{Mutex, MutexGuard};

/// Webhooks that share a turn wait for each other; with so many turns that is rare.
const TURNS: usize = 64;

/// Who may change a webhook now.
#[derive(Debug)]
pub(super) struct Turns([Mutex<()>; TURNS]);

impl Default for Turns {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

impl Turns {
    /// Waits for the turn to change a webhook, which lasts as long as what it gives is kept.
    pub(super) async fn wait_for(&self, id: WebhookId) -> MutexGuard<'_, ()> {
        // Ids are random.
        let [.., last] = *id.as_bytes();
        self.0[usize::from(last) % TURNS].lock().await
    }
}
