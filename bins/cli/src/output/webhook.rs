//! Webhooks and their deliveries for people.

use restante_client::Timestamp;
use restante_client::webhooks::{
    AttemptWord, DeliveryRecord, DeliveryWord, DisabledWord, EventType, FilterConfig, FilterMode, RotateSecretResponse,
    ScopeWord, TestWebhookResponse, WebhookResource, WebhookTemplate,
};

use super::table::{RowStyle, Table};
use super::time::relative;

/// A list; what is disabled is less visible.
pub(crate) fn list(webhooks: &[WebhookResource], now: Timestamp) -> Table {
    let mut table = Table::new(["ID", "STATE", "EVENTS", "LAST DELIVERY", "TARGET", "DESCRIPTION"]);
    for webhook in webhooks {
        let style = if webhook.enabled {
            RowStyle::Normal
        } else {
            RowStyle::Faint
        };
        let description = webhook.description.clone().unwrap_or_default();
        let cells = [
            webhook.id.to_string(),
            state(webhook),
            events(&webhook.events),
            last_delivery(webhook, now),
            webhook.url.clone(),
            description,
        ];
        table.row(style, cells);
    }
    table
}

/// One webhook with what is known of it; the secret where the server shows it.
pub(crate) fn page(webhook: &WebhookResource, now: Timestamp) -> Table {
    let mut table = Table::facts();
    table.fact("Id", webhook.id.to_string());
    table.fact("Target", &webhook.url);
    table.fact("State", state(webhook));
    table.fact("Events", events(&webhook.events));
    match (webhook.scope, &webhook.inbox_email) {
        (ScopeWord::Inbox, Some(inbox)) => table.fact("Inbox", inbox.to_string()),
        _ => table.fact("Inbox", "all"),
    }
    if let Some(template) = &webhook.template {
        table.fact("Template", name(template));
    }
    if let Some(filter) = &webhook.filter {
        filter_facts(&mut table, filter);
    }
    if let Some(description) = &webhook.description {
        table.fact("Description", description);
    }
    table.fact("Created", relative(webhook.created_at, now));
    table.fact("Last delivery", last_delivery(webhook, now));
    if let Some(stats) = &webhook.stats {
        let (good, bad) = (stats.successful_deliveries, stats.failed_deliveries);
        table.fact(
            "Deliveries",
            format!(
                "{}, of which {good} were taken and {bad} failed",
                stats.total_deliveries
            ),
        );
    }
    if let Some(secret) = &webhook.secret {
        table.fact("Secret", secret.expose());
    }
    table
}

/// A new secret.
pub(crate) fn rotated(rotated: &RotateSecretResponse, now: Timestamp) -> Table {
    let mut table = Table::facts();
    table.fact("Id", rotated.id.to_string());
    table.fact("Secret", rotated.secret.expose());
    let until = rotated.previous_secret_valid_until;
    table.fact(
        "The old one",
        format!("is used too, and ends {} ({until})", relative(until, now)),
    );
    table
}

/// What a test came to.
pub(crate) fn tested(tested: &TestWebhookResponse) -> Table {
    let mut table = Table::facts();
    table.fact("Result", if tested.success { "success" } else { "failed" });
    if let Some(status) = tested.status_code {
        table.fact("Status", status.to_string());
    }
    if let Some(milliseconds) = tested.response_time {
        table.fact("Time", format!("{milliseconds} ms"));
    }
    if let Some(error) = &tested.error {
        table.fact("Error", error);
    }
    if let Some(body) = &tested.response_body {
        table.fact("Answer", body);
    }
    if let Some(payload) = &tested.payload_sent {
        table.fact("Sent", payload.get());
    }
    table
}

/// A log of deliveries.
pub(crate) fn deliveries(deliveries: &[DeliveryRecord], now: Timestamp) -> Table {
    let mut table = Table::new([
        "ID",
        "EVENT",
        "CREATED",
        "RESULT",
        "ATTEMPT",
        "STATUS",
        "TIME",
        "WHY OR WHEN",
    ]);
    for delivery in deliveries {
        let next = delivery
            .next_attempt_at
            .map(|next| format!("next {}", relative(next, now)));
        let why: Vec<String> = delivery.error.clone().into_iter().chain(next).collect();
        let cells = [
            delivery.id.to_string(),
            delivery.event_type.to_string(),
            relative(delivery.created_at, now),
            result(delivery.status).to_owned(),
            delivery.attempt.to_string(),
            delivery
                .status_code
                .map(|status| status.to_string())
                .unwrap_or_default(),
            delivery
                .duration_ms
                .map(|time| format!("{time} ms"))
                .unwrap_or_default(),
            why.join("; "),
        ];
        table.row(RowStyle::Normal, cells);
    }
    table
}

fn result(status: DeliveryWord) -> &'static str {
    match status {
        DeliveryWord::Pending => "pending",
        DeliveryWord::Success => "success",
        DeliveryWord::Failed => "failed",
    }
}

fn state(webhook: &WebhookResource) -> String {
    let state = match (webhook.enabled, webhook.disabled_reason) {
        (true, _) => "enabled",
        (false, Some(DisabledWord::Failures)) => "disabled after failures",
        (false, _) => "disabled",
    };
    state.to_owned()
}

fn events(events: &[EventType]) -> String {
    events.iter().map(|event| event.as_str()).collect::<Vec<_>>().join(", ")
}

fn last_delivery(webhook: &WebhookResource, now: Timestamp) -> String {
    let Some(moment) = webhook.last_delivery_at else {
        return "never".to_owned();
    };
    let outcome = match webhook.last_delivery_status {
        Some(AttemptWord::Success) => ", success",
        Some(AttemptWord::Failed) => ", failed",
        None => "",
    };
    format!("{}{outcome}", relative(moment, now))
}

fn name(template: &WebhookTemplate) -> String {
    match template {
        WebhookTemplate::BuiltIn(built_in) => built_in.as_str().to_owned(),
        WebhookTemplate::Custom(custom) => match &custom.content_type {
            Some(content_type) => format!("custom ({content_type}): {}", custom.body),
            None => format!("custom: {}", custom.body),
        },
    }
}

fn filter_facts(table: &mut Table, filter: &FilterConfig) {
    let joined = match filter.mode {
        FilterMode::All => "and",
        FilterMode::Any => "or",
    };
    for (index, rule) in filter.rules.iter().enumerate() {
        let value = rule
            .value
            .as_ref()
            .map(|value| format!(" {value:?}"))
            .unwrap_or_default();
        let case = if rule.case_sensitive { ", regarding case" } else { "" };
        let title = if index == 0 { "Filter" } else { joined };
        table.fact(title, format!("{} {}{value}{case}", rule.field, rule.operator.as_str()));
    }
    if let Some(required) = filter.require_auth {
        table.fact("Authentication", if required { "must pass" } else { "need not pass" });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const SECRET: &str = "whsec_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR";

    fn webhook(changes: &Value) -> WebhookResource {
        let mut webhook = json!({
            "id": "whk_0123456789abcdef0123456789abcdef",
            "url": "https://example.test/hook",
            "events": ["email.received", "email.deleted"],
            "scope": "global",
            "enabled": true,
            "createdAt": "2026-01-25T11:00:00.000Z",
        });
        let changes = changes.as_object().unwrap().clone();
        webhook.as_object_mut().unwrap().extend(changes);
        serde_json::from_value(webhook).unwrap()
    }

    fn now() -> Timestamp {
        Timestamp::parse("2026-01-25T12:00:00.000Z").unwrap()
    }

    /// The lines, one space between words.
    fn lines(table: &Table) -> Vec<String> {
        let text = table
            .render(None)
            .replace("\u{1b}[1m", "")
            .replace("\u{1b}[2m", "")
            .replace("\u{1b}[0m", "");
        text.lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    }

    #[test]
    fn a_list_shows_no_secret() {
        let disabled = webhook(&json!({
            "secret": SECRET, "enabled": false, "disabledReason": "failures", "description": "x\u{1b}[2Jy",
            "lastDeliveryAt": "2026-01-25T11:59:57.000Z", "lastDeliveryStatus": "failed",
        }));
        let listed = lines(&list(&[webhook(&json!({})), disabled], now()));
        assert_eq!(
            listed[1],
            "whk_0123456789abcdef0123456789abcdef enabled email.received, email.deleted never https://example.test/hook"
        );
        assert_eq!(
            listed[2],
            "whk_0123456789abcdef0123456789abcdef disabled after failures email.received, email.deleted 3 s ago, failed \
             https://example.test/hook x [2Jy"
        );
        assert!(!listed.concat().contains("whsec_"));
    }

    #[test]
    fn a_page_shows_everything_and_the_secret() {
        let shown = lines(&page(
            &webhook(&json!({
                "scope": "inbox", "inboxEmail": "bob@restante.test", "secret": SECRET,
                "template": { "type": "custom", "body": "{{id}}", "contentType": "text/plain" },
                "filter": { "mode": "any", "rules": [
                    { "field": "subject", "operator": "contains", "value": "a", "caseSensitive": true },
                    { "field": "header.X", "operator": "exists", "caseSensitive": false },
                ], "requireAuth": true },
                "stats": { "totalDeliveries": 3, "successfulDeliveries": 2, "failedDeliveries": 1 },
            })),
            now(),
        ));
        for line in [
            "Inbox bob@restante.test",
            "Template custom (text/plain): {{id}}",
            "Filter subject contains \"a\", regarding case",
            "or header.X exists",
            "Authentication must pass",
            "Deliveries 3, of which 2 were taken and 1 failed",
            "Created 1 h ago",
            &format!("Secret {SECRET}"),
        ] {
            assert!(shown.iter().any(|shown| shown == line), "{line}: {shown:#?}");
        }
    }

    #[test]
    fn a_log_says_why_and_when() {
        let delivery: DeliveryRecord = serde_json::from_value(json!({
            "id": "dlv_0123456789abcdef0123456789abcdef", "eventId": "evt_0123456789abcdef0123456789abcdef",
            "type": "email.received", "attempt": 2, "status": "pending", "statusCode": 503, "durationMs": 12,
            "error": "HTTP 503", "nextAttemptAt": "2026-01-25T12:05:00.000Z", "createdAt": "2026-01-25T11:59:00.000Z",
        }))
        .unwrap();
        assert_eq!(
            lines(&deliveries(&[delivery], now()))[1],
            "dlv_0123456789abcdef0123456789abcdef email.received 1 min ago pending 2 503 12 ms HTTP 503; next in 5 min"
        );
    }

    #[test]
    fn a_test_shows_what_the_target_said_on_one_line() {
        let answer: TestWebhookResponse = serde_json::from_value(json!({
            "success": false, "statusCode": 500, "responseTime": 7, "responseBody": "a\nb\u{1b}c", "error": "HTTP 500",
            "payloadSent": { "a": 1 },
        }))
        .unwrap();
        let expected = [
            "Result failed",
            "Status 500",
            "Time 7 ms",
            "Error HTTP 500",
            "Answer a b c",
            "Sent {\"a\":1}",
        ];
        assert_eq!(lines(&tested(&answer)), expected);
    }
}
