//! Which arrivals pass the rules of which webhooks: work for processors, which no other task waits for.

use std::collections::BTreeMap;
use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use restante_model::WebhookId;
use restante_model::webhook::FilterConfig;
use restante_storage::{NewDelivery, StoredWebhook};

use super::recent::{OpenEvent, Ready};
use crate::Filter;

/// Memory for filters: two hundred regular expressions of usual size. More are compiled again and again.
const FILTER_BYTES: u64 = 64 * 1024 * 1024;
const FILTER_ITEMS: usize = 1024;

/// A webhook of a revision.
type Revision = (WebhookId, u64);

/// A filter that can be run; none if it cannot, which was logged.
type Runnable = Option<Filter>;

/// An event, and a webhook that may want to be told of it.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) event: Arc<OpenEvent>,
    pub(super) webhook: StoredWebhook,
    pub(super) ready: Arc<Ready>,
}

impl Pair {
    /// What is to be queued, if the event passes the rules or not.
    pub(super) fn deliveries(&self, passes: bool) -> impl Iterator<Item = NewDelivery> {
        let wanted = match self.ready.as_ref() {
            Ok(ready) => self.event.wanted_by(ready, passes),
            Err(_) => self.event.wanted_by_unusable(self.webhook.topics),
        };
        wanted.into_iter().map(|event_type| NewDelivery {
            webhook: self.webhook.id,
            event: self.event.stored.sequence,
            event_type,
            event_id: self.event.id(event_type),
        })
    }

    fn revision(&self) -> Revision {
        (self.webhook.id, self.webhook.revision)
    }

    /// The rules that the event has to pass, if it is an arrival and there are any.
    fn rules(&self) -> Option<&FilterConfig> {
        let ready = self.ready.as_ref().as_ref().ok()?;
        self.event.arrival()?;
        ready.rules()
    }
}

/// Judges events, and keeps the filters that it needed.
#[derive(Debug, Clone)]
pub(super) struct Verdicts(Arc<Cache<Revision, Arc<Runnable>, ByExpressions>>);

impl Verdicts {
    pub(super) fn new() -> Self {
        let filters = Cache::with_weighter(FILTER_ITEMS, FILTER_BYTES, ByExpressions);
        Self(Arc::new(filters))
    }

    /// For each pair whether the event passes the webhook's rules; it does where there are none.
    pub(super) async fn judge(&self, pairs: &[Pair]) -> Vec<bool> {
        let mut verdicts = vec![true; pairs.len()];
        let mut by_webhook: BTreeMap<Revision, Vec<(usize, Pair)>> = BTreeMap::new();
        for (number, pair) in pairs.iter().enumerate() {
            if pair.rules().is_some() {
                let of_webhook = by_webhook.entry(pair.revision()).or_default();
                of_webhook.push((number, pair.clone()));
            }
        }
        if by_webhook.is_empty() {
            return verdicts;
        }
        let numbers: Vec<usize> = by_webhook.values().flatten().map(|(number, _)| *number).collect();
        let verdicts_of = self.clone();
        let judged = tokio::task::spawn_blocking(move || verdicts_of.judge_now(&by_webhook)).await;
        let judged = judged.unwrap_or_else(|error| {
            tracing::error!("rules of webhooks could not be run: {error}");
            vec![false; numbers.len()]
        });
        for (number, verdict) in numbers.into_iter().zip(judged) {
            verdicts[number] = verdict;
        }
        verdicts
    }

    /// Webhook by webhook, so that each filter is made ready once.
    fn judge_now(&self, by_webhook: &BTreeMap<Revision, Vec<(usize, Pair)>>) -> Vec<bool> {
        let mut judged = Vec::new();
        for pairs in by_webhook.values() {
            let filter = pairs.first().and_then(|(_, pair)| self.filter(pair));
            let passes = |(_, pair): &(usize, Pair)| match (filter.as_deref(), pair.event.arrival()) {
                (Some(Some(filter)), Some(event)) => filter.matches_arrival(event),
                _ => false,
            };
            judged.extend(pairs.iter().map(passes));
        }
        judged
    }

    fn filter(&self, pair: &Pair) -> Option<Arc<Runnable>> {
        if let Some(known) = self.0.get(&pair.revision()) {
            return Some(known);
        }
        let filter = Filter::compile(pair.rules()?).inspect_err(
            |error| tracing::error!(webhook = %pair.webhook.id, "the filter of the webhook cannot be run: {error}"),
        );
        let filter = Arc::new(filter.ok());
        self.0.insert(pair.revision(), Arc::clone(&filter));
        Some(filter)
    }
}

#[derive(Debug, Clone)]
struct ByExpressions;

impl Weighter<Revision, Arc<Runnable>> for ByExpressions {
    fn weight(&self, _: &Revision, filter: &Arc<Runnable>) -> u64 {
        const PLAIN: u64 = 32 * 1024;
        /// What one of usual size takes with what it remembers while it runs; none takes more than some times as much.
        const EXPRESSION: u64 = 256 * 1024;
        let expressions = filter.as_ref().as_ref().map_or(0, Filter::expressions);
        PLAIN + EXPRESSION * expressions as u64
    }
}
