//! Every shape with all of its fields, and with those that are always there.

use insta::assert_snapshot;
use restante_model::webhook::{CustomKind, CustomTemplate, FilterMode, FilterOperator, FilterRule};

use super::*;

fn moment(second: u64) -> Timestamp {
    Timestamp::from_unix_ms(1_769_341_276_000 + second * 1000)
}

fn pretty(shape: &impl Serialize) -> String {
    serde_json::to_string_pretty(shape).unwrap()
}

fn least() -> WebhookResource {
    WebhookResource {
        id: WebhookId::from_bytes([1; 16]),
        url: "https://example.test/hook".into(),
        events: vec![EventType::EmailReceived],
        scope: ScopeWord::Global,
        inbox_email: None,
        inbox_hash: None,
        enabled: true,
        secret: None,
        template: None,
        filter: None,
        description: None,
        created_at: moment(0),
        updated_at: None,
        last_delivery_at: None,
        last_delivery_status: None,
        stats: None,
        disabled_reason: None,
    }
}

#[test]
fn a_webhook_with_every_field() {
    let address = InboxAddress::parse("bob@restante.test").unwrap();
    let rule = FilterRule {
        field: "header.X-My".into(),
        operator: FilterOperator::Exists,
        value: None,
        case_sensitive: false,
    };
    let webhook = WebhookResource {
        events: EventType::ALL.to_vec(),
        scope: ScopeWord::Inbox,
        inbox_hash: Some(InboxHash::of_address(&address)),
        inbox_email: Some(address),
        enabled: false,
        secret: Some(ShownSecret::new("whsec_x")),
        template: Some(WebhookTemplate::Custom(CustomTemplate {
            kind: CustomKind::Custom,
            body: "{}".into(),
            content_type: Some("text/plain".into()),
        })),
        filter: Some(FilterConfig {
            mode: FilterMode::Any,
            rules: vec![rule],
            require_auth: Some(false),
        }),
        description: Some("what it is for".into()),
        updated_at: Some(moment(1)),
        last_delivery_at: Some(moment(2)),
        last_delivery_status: Some(AttemptWord::Failed),
        stats: Some(WebhookStats {
            total_deliveries: 3,
            successful_deliveries: 1,
            failed_deliveries: 2,
        }),
        disabled_reason: Some(DisabledWord::Failures),
        ..least()
    };
    assert_snapshot!("webhook", pretty(&webhook));
}

#[test]
fn what_does_not_apply_is_absent() {
    let list = WebhookList {
        webhooks: vec![least()],
        total: 1,
    };
    assert_snapshot!("webhook_list", pretty(&list));
    let test = TestWebhookResponse {
        success: false,
        status_code: None,
        response_time: None,
        response_body: None,
        error: None,
        payload_sent: None,
    };
    assert_eq!(serde_json::to_string(&test).unwrap(), r#"{"success":false}"#);
}

#[test]
fn answers_of_operations() {
    let test = TestWebhookResponse {
        success: false,
        status_code: Some(500),
        response_time: Some(12),
        response_body: Some("oops".into()),
        error: Some("HTTP 500".into()),
        payload_sent: serde_json::from_str(r#"{"object":"event","id":1.0}"#).unwrap(),
    };
    assert_snapshot!("test_response", pretty(&test));
    let rotated = RotateSecretResponse {
        id: WebhookId::from_bytes([1; 16]),
        secret: ShownSecret::new("whsec_y"),
        previous_secret_valid_until: moment(3600),
    };
    assert_snapshot!("rotated", pretty(&rotated));
    let metrics = WebhookMetrics {
        webhooks: WebhookCounts {
            global: 1,
            inbox: 2,
            enabled: 1,
            total: 3,
        },
        deliveries: DeliveryCounts {
            total: 5,
            successful: 3,
            failed: 2,
        },
    };
    assert_snapshot!("metrics", pretty(&metrics));
    assert_snapshot!(
        "templates",
        serde_json::to_string(&TemplateList::all())
            .unwrap()
            .replace("},", "},\n")
    );
}

#[test]
fn the_log_of_deliveries() {
    let event_id: EventId = "evt_0123456789abcdef0123456789abcdef".parse().unwrap();
    let pending = DeliveryRecord {
        id: DeliveryId::of(event_id, WebhookId::from_bytes([1; 16])),
        event_id,
        event_type: EventType::EmailDeleted,
        attempt: 0,
        status: DeliveryWord::Pending,
        status_code: None,
        duration_ms: None,
        error: None,
        response_body: None,
        next_attempt_at: Some(moment(30)),
        created_at: moment(0),
        completed_at: None,
    };
    let failed = DeliveryRecord {
        attempt: 5,
        status: DeliveryWord::Failed,
        status_code: Some(410),
        duration_ms: Some(7),
        error: Some("HTTP 410".into()),
        response_body: Some("gone".into()),
        next_attempt_at: None,
        completed_at: Some(moment(9)),
        ..pending.clone()
    };
    let list = DeliveryList {
        next: Some(failed.id),
        deliveries: vec![pending, failed],
    };
    assert_snapshot!("deliveries", pretty(&list));
    let answer = RedeliverAnswer {
        id: DeliveryId::from_bytes([2; 16]),
    };
    let expected = format!(r#"{{"id":"dlv_{}"}}"#, "02".repeat(16));
    assert_eq!(serde_json::to_string(&answer).unwrap(), expected);
}

#[test]
fn debug_output_shows_no_secret() {
    let shown = format!("{:?}", ShownSecret::new("whsec_x"));
    assert_eq!(shown, "ShownSecret(..)");
}
