//! Showing a webhook: which answers have its secret and its statistics (decisions, section 1).

use restante_model::{Timestamp, WireProfile};
use restante_webhook::{Activity, LastAttempt, Owner, Switch, WebhookView};
use restante_wire::webhook::{AttemptWord, DisabledWord, ScopeWord, WebhookStats};
use restante_wire::{ShownSecret, WebhookResource};

/// What is being answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answering {
    Create,
    List,
    Get,
    Update,
}

impl Answering {
    fn shows_secret(self, profile: WireProfile) -> bool {
        match (self, profile) {
            (Self::Create | Self::Get, _) | (Self::Update, WireProfile::VaultSandbox) => true,
            (Self::List, _) | (Self::Update, WireProfile::Service) => false,
        }
    }

    fn shows_stats(self, profile: WireProfile) -> bool {
        match (self, profile) {
            (Self::Get, _) | (Self::Create | Self::Update, WireProfile::VaultSandbox) => true,
            (Self::List, _) | (Self::Create | Self::Update, WireProfile::Service) => false,
        }
    }
}

/// A webhook as one answer shows it.
pub(super) fn resource(profile: WireProfile, view: WebhookView, answering: Answering) -> WebhookResource {
    let (scope, inbox) = match &view.owner {
        Owner::Global => (ScopeWord::Global, None),
        Owner::Inbox(inbox) => (ScopeWord::Inbox, Some(inbox)),
    };
    let last = view.activity.last;
    WebhookResource {
        id: view.id,
        scope,
        inbox_email: inbox.map(|inbox| inbox.address.clone()),
        inbox_hash: inbox.map(|inbox| inbox.hash),
        enabled: view.switch == Switch::Enabled,
        secret: answering
            .shows_secret(profile)
            .then(|| ShownSecret::new(view.secret.expose())),
        url: view.url,
        events: view.events,
        template: view.template,
        filter: view.filter,
        description: view.description,
        created_at: view.created_at,
        updated_at: view.updated_at,
        last_delivery_at: last.map(|last| Timestamp::from_unix_ms(last.started_at)),
        last_delivery_status: last.map(outcome),
        stats: answering.shows_stats(profile).then(|| stats(view.activity)),
        disabled_reason: match view.switch {
            Switch::Enabled => None,
            Switch::DisabledManually => Some(DisabledWord::Manual),
            Switch::DisabledByFailures => Some(DisabledWord::Failures),
        },
    }
}

fn outcome(last: LastAttempt) -> AttemptWord {
    if last.succeeded {
        AttemptWord::Success
    } else {
        AttemptWord::Failed
    }
}

fn stats(activity: Activity) -> WebhookStats {
    let Activity { successful, failed, .. } = activity;
    WebhookStats {
        total_deliveries: successful + failed,
        successful_deliveries: successful,
        failed_deliveries: failed,
    }
}

#[cfg(test)]
mod tests {
    use restante_webhook::WebhookSecret;

    use super::*;

    fn view() -> WebhookView {
        WebhookView {
            id: restante_model::WebhookId::from_bytes([1; 16]),
            owner: Owner::Global,
            url: "https://example.test/".into(),
            events: vec![restante_model::EventType::EmailStored],
            template: None,
            filter: None,
            description: None,
            secret: WebhookSecret::generate(),
            switch: Switch::Enabled,
            created_at: Timestamp::from_unix_ms(0),
            updated_at: None,
            activity: Activity::default(),
        }
    }

    #[test]
    fn secret_and_statistics_are_where_the_profile_shows_them() {
        use Answering::{Create, Get, List, Update};
        use WireProfile::{Service, VaultSandbox};
        for (profile, answering, secret, stats) in [
            (Service, Create, true, false),
            (Service, Get, true, true),
            (Service, Update, false, false),
            (Service, List, false, false),
            (VaultSandbox, Create, true, true),
            (VaultSandbox, Get, true, true),
            (VaultSandbox, Update, true, true),
            (VaultSandbox, List, false, false),
        ] {
            let shown = resource(profile, view(), answering);
            let (has_secret, has_stats) = (shown.secret.is_some(), shown.stats.is_some());
            assert_eq!((has_secret, has_stats), (secret, stats), "{profile:?} {answering:?}");
        }
    }

    #[test]
    fn a_disabled_webhook_says_why() {
        for (switch, enabled, reason) in [
            (Switch::Enabled, true, None),
            (Switch::DisabledManually, false, Some(DisabledWord::Manual)),
            (Switch::DisabledByFailures, false, Some(DisabledWord::Failures)),
        ] {
            let shown = resource(WireProfile::Service, WebhookView { switch, ..view() }, Answering::Get);
            assert_eq!((shown.enabled, shown.disabled_reason), (enabled, reason));
        }
    }
}
