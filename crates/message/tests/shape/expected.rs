//! The JSON beside each message under tests/fixtures/messages.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use restante_message::{Attachment, Mailbox, ParsedMessage};
use serde_json::{Value, json};

/// Everything that a message was parsed to, as indented JSON with a line end; headers are pairs, to keep their order.
pub(crate) fn json(message: &ParsedMessage) -> String {
    let fields = [
        ("subject", json!(message.subject)),
        ("from", json!(message.from)),
        (
            "fromMailbox",
            message.from_mailbox.as_ref().map_or(Value::Null, mailbox),
        ),
        ("to", json!(message.to)),
        ("toMailboxes", message.to_mailboxes.iter().map(mailbox).collect()),
        ("cc", json!(message.cc)),
        ("ccMailboxes", message.cc_mailboxes.iter().map(mailbox).collect()),
        ("replyTo", json!(message.reply_to)),
        ("messageId", json!(message.message_id)),
        ("date", json!(message.date)),
        ("inReplyTo", json!(message.in_reply_to)),
        ("references", json!(message.references)),
        ("defects", json!(message.defects)),
        ("text", json!(message.text)),
        ("html", json!(message.html)),
        ("links", json!(message.links)),
        ("attachments", message.attachments.iter().map(attachment).collect()),
        ("headers", json!(message.headers)),
    ];
    let shown: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}: {value:#}", json!(name)).replace('\n', "\n  "))
        .collect();
    format!("{{\n  {}\n}}\n", shown.join(",\n  "))
}

fn mailbox(mailbox: &Mailbox) -> Value {
    json!({ "name": mailbox.name, "address": mailbox.address })
}

fn attachment(attachment: &Attachment) -> Value {
    json!({
        "filename": attachment.filename,
        "contentType": attachment.content_type,
        "contentDisposition": attachment.content_disposition,
        "contentId": attachment.content_id,
        "size": attachment.content.len(),
        "content": STANDARD.encode(&attachment.content),
    })
}
