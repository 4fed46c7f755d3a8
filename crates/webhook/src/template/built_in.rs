//! The shapes that the server knows, field by field.
//!
//! Source: decisions, section 7, "Built-in templates".

use bytes::Bytes;
use restante_envelope::WireProfile;
use restante_model::EventType;
use restante_model::webhook::BuiltInTemplate;

use super::json;
use super::shown::{Words, chat, or_none, slack};
use crate::payload::node::{object, text};
use crate::payload::{EventEnvelope, Node};

/// Where an event has what the templates show.
const FROM: &str = "data.from.address";
const TO: &str = "data.inboxEmail";
const SUBJECT: &str = "data.subject";
const SNIPPET: &str = "data.snippet";

/// Characters of a Slack header (the service's own limit).
const SLACK_HEADER: usize = 150;
/// Characters of a Slack section or field (2,000 is the service's limit of a field, 3,000 that of a section).
const SLACK_TEXT: usize = 2_000;
/// Characters of the title of a Discord embed.
const DISCORD_TITLE: usize = 256;
/// Characters of the value of a Discord field; with three of them an embed stays below the 6,000 that it may have.
const DISCORD_VALUE: usize = 1_024;
/// Characters of any text of a Teams card: all of them, in four bytes each, stay below the 28 KB of a message.
const TEAMS_TEXT: usize = 1_024;

/// The JSON of a template for an event.
pub(super) fn render(name: BuiltInTemplate, envelope: &EventEnvelope, profile: WireProfile) -> Bytes {
    match name {
        BuiltInTemplate::Default => json(envelope),
        BuiltInTemplate::Slack => json(&for_slack(envelope)),
        BuiltInTemplate::Discord => json(&for_discord(envelope, profile)),
        BuiltInTemplate::Teams => json(&for_teams(envelope)),
        BuiltInTemplate::Simple => json(&simple(envelope)),
        BuiltInTemplate::Notification => json(&notification(envelope)),
        BuiltInTemplate::Zapier => json(&zapier(envelope)),
    }
}

fn for_slack(envelope: &EventEnvelope) -> Node {
    let words = Words::of(envelope);
    let mrkdwn = |markup: String| object([("type", text("mrkdwn")), ("text", text(markup))]);
    let labelled = |label: &str, path: &str| {
        let label = format!("*{label}:*\n");
        let value = slack(envelope.text(path), SLACK_TEXT - label.len());
        mrkdwn(label + &value)
    };
    let section = |label, path| object([("type", text("section")), ("text", labelled(label, path))]);
    let title = object([
        ("type", text("plain_text")),
        ("text", text(chat(words.title, SLACK_HEADER))),
    ]);
    let mailboxes = vec![labelled("From", FROM), labelled("To", TO)];
    let about = format!("Event: `{}` | ID: `{}`", envelope.event_type, envelope.text("data.id"));
    let blocks = vec![
        object([("type", text("header")), ("text", title)]),
        object([("type", text("section")), ("fields", Node::Array(mailboxes))]),
        section("Subject", SUBJECT),
        section("Preview", SNIPPET),
        object([
            ("type", text("context")),
            ("elements", Node::Array(vec![mrkdwn(about)])),
        ]),
    ];
    object([
        ("text", text(words.sentence(|subject| slack(subject, SLACK_TEXT)))),
        ("blocks", Node::Array(blocks)),
    ])
}

fn for_discord(envelope: &EventEnvelope, profile: WireProfile) -> Node {
    let field = |name: &str, path: &str| {
        let value = chat(envelope.text(path), DISCORD_VALUE);
        [("name", text(name)), ("value", text(value))]
    };
    let inline = |name, path| object(field(name, path).into_iter().chain([("inline", Node::Bool(true))]));
    let fields = vec![
        inline("From", FROM),
        inline("To", TO),
        object(field("Preview", SNIPPET)),
    ];
    let footer = format!("{} | {}", service_name(profile), envelope.event_type);
    let embed = object([
        ("title", text(chat(envelope.text(SUBJECT), DISCORD_TITLE))),
        ("color", Node::Number(5_814_783)),
        ("fields", Node::Array(fields)),
        ("footer", object([("text", text(footer))])),
        ("timestamp", text(envelope.created_at.to_string())),
    ]);
    object([
        ("content", text(Words::of(envelope).short)),
        ("embeds", Node::Array(vec![embed])),
    ])
}

fn for_teams(envelope: &EventEnvelope) -> Node {
    let words = Words::of(envelope);
    let shown = |path: &str| text(chat(envelope.text(path), TEAMS_TEXT));
    let fact = |name: &str, path: &str| object([("name", text(name)), ("value", shown(path))]);
    let facts = vec![fact("From", FROM), fact("To", TO), fact("Subject", SUBJECT)];
    let section = object([
        ("activityTitle", text(words.title)),
        ("facts", Node::Array(facts)),
        ("text", shown(SNIPPET)),
    ]);
    object([
        ("@type", text("MessageCard")),
        ("@context", text("http://schema.org/extensions")),
        ("themeColor", text("0076D7")),
        ("summary", text(words.sentence(|subject| chat(subject, TEAMS_TEXT)))),
        ("sections", Node::Array(vec![section])),
    ])
}

fn simple(envelope: &EventEnvelope) -> Node {
    let shown = |path: &str| text(or_none(envelope.text(path)));
    object([
        ("from", shown(FROM)),
        ("to", shown(TO)),
        ("subject", shown(SUBJECT)),
        ("preview", shown(SNIPPET)),
    ])
}

fn notification(envelope: &EventEnvelope) -> Node {
    let mut sentence = Words::of(envelope).sentence(str::to_owned);
    if envelope.event_type == EventType::EmailReceived {
        sentence = format!("{sentence}: {}", or_none(envelope.text(SUBJECT)));
    }
    object([("text", text(sentence))])
}

fn zapier(envelope: &EventEnvelope) -> Node {
    let shown = |path: &str| text(or_none(envelope.text(path)));
    object([
        ("event", text(envelope.event_type.as_str())),
        ("email_id", shown("data.id")),
        ("inbox", shown(TO)),
        ("from_address", shown(FROM)),
        ("from_name", shown("data.from.name")),
        ("subject", shown(SUBJECT)),
        ("preview", shown(SNIPPET)),
        ("received_at", shown("data.receivedAt")),
    ])
}

/// What the service calls itself (decisions, section 1).
fn service_name(profile: WireProfile) -> &'static str {
    match profile {
        WireProfile::Service => "restante",
        WireProfile::VaultSandbox => "VaultSandbox",
    }
}
