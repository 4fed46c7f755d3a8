//! What is done to the mail of an inbox, which changes all the time.

use std::sync::Arc;
use std::time::Duration;

use restante_model::chaos::Latency;
use restante_model::{ChaosConfig, Inbox, Timestamp};
use restante_storage::{Embedded, Store};

use super::{NOW, address, create, say};

/// The inbox that it is about, which stays.
const INBOX: &str = "chaos";

/// A configuration that is told apart by its number; none for every third.
fn chaos(number: u64) -> Option<Arc<ChaosConfig>> {
    let latency = Latency {
        enabled: true,
        min_delay_ms: number,
        max_delay_ms: number,
        jitter: false,
        probability: 0.5,
    };
    let config = ChaosConfig {
        enabled: true,
        expires_at: Some(Timestamp::MAX),
        latency: Some(latency),
        ..ChaosConfig::default()
    };
    (!number.is_multiple_of(3)).then(|| Arc::new(config))
}

/// Sets one after the other, now and then.
pub(super) async fn change(store: Arc<Embedded>, round: u64) {
    let inbox = match store.inbox(&address(INBOX), NOW).await.expect("the store reads") {
        Some(inbox) => Inbox::clone(&inbox),
        None => create(&store, INBOX).await,
    };
    for number in round * 1_000_000.. {
        say(&format!("chaotic {number}"));
        let set = store.set_chaos(inbox.key, chaos(number), NOW).await;
        assert_eq!(set, Ok(true));
        say(&format!("chaos {number}"));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The last one that was acknowledged, and one that may hold instead.
#[derive(Default)]
pub(super) struct Told {
    set: Option<u64>,
    setting: Option<u64>,
}

impl Told {
    /// Takes a line, if it is about this.
    pub(super) fn hear(&mut self, words: &[&str]) -> bool {
        let number = |text: &str| Some(text.parse().expect("a number"));
        match words {
            ["chaotic", text] => self.setting = number(text),
            ["chaos", text] => self.set = number(text),
            _ => return false,
        }
        true
    }

    /// Compares with what the store shows.
    pub(super) async fn compare(&self, store: &Embedded) {
        let Some(set) = self.set else { return };
        let found = store.inbox(&address(INBOX), NOW).await.expect("the store reads");
        let found = found.expect("it stays");
        assert!(
            found.spam_analysis && found.persistent,
            "what it was created with stays"
        );
        let by_hash = store.inbox_by_hash(&found.hash, NOW).await.expect("the store reads");
        assert_eq!(by_hash.expect("it stays").chaos, found.chaos);
        let allowed = [Some(set), self.setting].into_iter().flatten().map(chaos);
        let is_allowed = allowed.into_iter().any(|chaos| chaos == found.chaos);
        assert!(is_allowed, "{set} was acknowledged, and there is {:?}", found.chaos);
    }

    pub(super) fn check_that_much_happened(&self) {
        assert!(self.set.is_some());
    }
}
