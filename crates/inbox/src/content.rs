//! From a parsed message to the two JSON documents of the interface.

use bytes::Bytes;
use restante_envelope::WireProfile;
use restante_envelope::digest::sha256;
use restante_message::{Attachment, ParsedMessage, Summary};
use restante_model::auth::Verdict;
use restante_model::content::{Headers, To};
use restante_model::{
    AttachmentData, AuthResults, Base64, EmailId, Metadata, ParsedContent, SessionFacts, SpamAnalysis,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

pub(crate) const NO_SUBJECT: &str = "(no subject)";
pub(crate) const UNKNOWN_SENDER: &str = "unknown";

/// The metadata of an email in one inbox.
pub fn metadata(profile: WireProfile, id: EmailId, summary: &Summary, facts: &SessionFacts) -> Metadata {
    let to = facts.forward_path.to_lowercase();
    let sender = || Some(facts.reverse_path.clone()).filter(|path| !path.is_empty());
    Metadata {
        id,
        from: summary
            .from
            .clone()
            .or_else(sender)
            .unwrap_or_else(|| UNKNOWN_SENDER.to_owned()),
        to: match profile {
            WireProfile::Service => To::Many(vec![to]),
            WireProfile::VaultSandbox => To::One(to),
        },
        subject: summary
            .subject
            .clone()
            .filter(|subject| !subject.is_empty())
            .unwrap_or_else(|| NO_SUBJECT.to_owned()),
        received_at: facts.received_at,
    }
}

/// The content of an email: what the message holds and what the checks said of it.
pub fn parsed_content(
    profile: WireProfile,
    message: ParsedMessage,
    mut auth_results: AuthResults,
    spam_analysis: SpamAnalysis,
) -> ParsedContent {
    let reverse_dns = &mut auth_results.reverse_dns;
    reverse_dns.verified = match profile {
        WireProfile::Service => None,
        WireProfile::VaultSandbox => Some(reverse_dns.result == Verdict::Pass),
    };
    ParsedContent {
        text: message.text,
        html: message.html,
        headers: Headers(message.headers),
        attachments: message.attachments.into_iter().map(attachment_data).collect(),
        links: message.links,
        auth_results,
        spam_analysis,
        metadata: BTreeMap::new(),
        subject: message.subject,
        from: message.from,
        to: message.to,
        cc: message.cc,
        reply_to: message.reply_to,
        message_id: message.message_id,
        date: message.date,
        in_reply_to: message.in_reply_to,
        references: message.references,
        defects: message.defects,
    }
}

fn attachment_data(attachment: Attachment) -> AttachmentData {
    AttachmentData {
        size: attachment.content.len(),
        checksum: Some(hex(&sha256(&attachment.content))),
        filename: attachment.filename,
        content_type: attachment.content_type,
        content_disposition: attachment.content_disposition,
        content_id: attachment.content_id,
        content: Base64(attachment.content.into()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Writes the message as `raw` shows it: with this server's trace header before the bytes as received
/// (RFC 5321 section 4.4).
pub(crate) fn write_source(
    out: &mut impl io::Write,
    raw: &[u8],
    facts: &SessionFacts,
    hostname: &str,
    id: EmailId,
) -> io::Result<()> {
    out.write_all(restante_message::trace(facts, hostname, &id.to_string()).as_bytes())?;
    out.write_all(raw)
}

/// The JSON text of a document.
pub(crate) fn json(document: &impl serde::Serialize) -> Bytes {
    serde_json::to_vec(document)
        .expect("documents of the domain have string keys only")
        .into()
}

#[cfg(test)]
mod tests {
    use restante_model::Timestamp;

    use super::*;

    fn facts(reverse_path: &str) -> SessionFacts {
        SessionFacts {
            peer: "127.0.0.1:40000".parse().unwrap(),
            helo: "client.test".into(),
            protocol: "ESMTP".into(),
            tls: None,
            reverse_path: reverse_path.into(),
            forward_path: "Bob+Tag@Restante.Test".into(),
            received_at: Timestamp::from_unix_ms(1_769_341_276_000),
        }
    }

    fn shown(profile: WireProfile, summary: &Summary, reverse_path: &str) -> serde_json::Value {
        let id = EmailId::from_bytes([7; 16]);
        serde_json::from_slice(&json(&metadata(profile, id, summary, &facts(reverse_path)))).unwrap()
    }

    #[test]
    fn metadata_falls_back_to_the_envelope_and_keeps_the_tag() {
        let empty = Summary {
            from: None,
            subject: None,
        };
        let value = shown(WireProfile::Service, &empty, "a@x.test");
        assert_eq!(
            value,
            serde_json::json!({
                "id": "msg_07070707070707070707070707070707",
                "from": "a@x.test",
                "to": ["bob+tag@restante.test"],
                "subject": "(no subject)",
                "receivedAt": "2026-01-25T11:41:16.000Z",
            })
        );
        assert_eq!(shown(WireProfile::Service, &empty, "")["from"], "unknown");
    }

    #[test]
    fn the_other_profile_shows_one_recipient_as_a_string() {
        let summary = Summary {
            from: Some("A <a@x.test>".into()),
            subject: Some("Hi".into()),
        };
        let value = shown(WireProfile::VaultSandbox, &summary, "");
        assert_eq!(value["to"], "bob+tag@restante.test");
        assert_eq!(value["from"], "A <a@x.test>");
        assert_eq!(value["subject"], "Hi");
    }

    #[test]
    fn reverse_dns_is_verified_in_the_other_profile_if_it_passed() {
        let shown = |profile, result| {
            let mut auth = AuthResults::skipped();
            auth.reverse_dns.result = result;
            let content = parsed_content(profile, ParsedMessage::default(), auth, SpamAnalysis::default());
            serde_json::to_value(content).unwrap()["authResults"]["reverseDns"].clone()
        };
        for result in [Verdict::Pass, Verdict::Fail, Verdict::None, Verdict::Skipped] {
            let word = result.as_str();
            let verified = result == Verdict::Pass;
            assert_eq!(
                shown(WireProfile::Service, result),
                serde_json::json!({ "result": word })
            );
            assert_eq!(
                shown(WireProfile::VaultSandbox, result),
                serde_json::json!({ "result": word, "verified": verified })
            );
        }
    }

    #[test]
    fn attachments_carry_size_and_checksum_of_the_decoded_bytes() {
        let attachment = Attachment {
            filename: "a.txt".into(),
            content_type: "text/plain".into(),
            content_disposition: "attachment".into(),
            content_id: None,
            content: b"abc".to_vec(),
        };
        let data = attachment_data(attachment);
        assert_eq!(data.size, 3);
        assert_eq!(data.content, Base64(b"abc".as_slice().into()));
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(data.checksum.as_deref(), Some(sum));
    }
}
