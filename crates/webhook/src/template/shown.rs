//! How built-in templates show the values of an event.

use restante_model::EventType;

use crate::payload::EventEnvelope;

/// What stands for an empty value: the services refuse empty texts.
const NONE: &str = "(none)";

/// A value, or what stands for an empty one; white space and control characters alone are as good as nothing.
pub(super) fn or_none(value: &str) -> &str {
    let is_blank = value.chars().all(|c| c.is_whitespace() || c.is_control());
    if is_blank { NONE } else { value }
}

/// A value for a chat: without control characters but tabs and line breaks, which such services refuse or drop, and cut.
pub(super) fn chat(value: &str, max_chars: usize) -> String {
    let is_shown = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    let shown: String = value.chars().filter(is_shown).take(max_chars).collect();
    or_none(&shown).to_owned()
}

/// A value for Slack's markup, where `<!channel>` would call everybody: `&`, `<` and `>` become entities, and none of
/// them is cut in two.
pub(super) fn slack(value: &str, max_chars: usize) -> String {
    let mut shown = String::new();
    let mut room = max_chars;
    for c in chat(value, max_chars).chars() {
        let mut buffer = [0; 4];
        let (written, length) = match c {
            '&' => ("&amp;", 5),
            '<' => ("&lt;", 4),
            '>' => ("&gt;", 4),
            c => (&*c.encode_utf8(&mut buffer), 1),
        };
        let Some(left) = room.checked_sub(length) else { break };
        room = left;
        shown.push_str(written);
    }
    shown
}

/// The words that say what happened.
pub(super) struct Words {
    /// As a title.
    pub(super) title: &'static str,
    /// The beginning of a sentence that goes on with [`Words::subject`].
    pub(super) opening: &'static str,
    /// Who or where.
    pub(super) subject: String,
    /// The end of the sentence.
    pub(super) ending: String,
    /// In a few words, with the reason of a removal.
    pub(super) short: String,
}

impl Words {
    pub(super) fn of(envelope: &EventEnvelope) -> Self {
        let inbox = or_none(envelope.text("data.inboxEmail")).to_owned();
        match envelope.event_type {
            EventType::EmailReceived => Self {
                title: "New Email Received",
                opening: "New email from ",
                subject: or_none(envelope.text("data.from.address")).to_owned(),
                ending: String::new(),
                short: "New email received".to_owned(),
            },
            EventType::EmailStored => Self {
                title: "Email Stored",
                opening: "Email stored in ",
                subject: inbox,
                ending: String::new(),
                short: "Email stored".to_owned(),
            },
            EventType::EmailDeleted => {
                let reason = envelope.text("data.reason");
                Self {
                    title: "Email Deleted",
                    opening: "Email deleted from ",
                    subject: inbox,
                    ending: format!(" ({reason})"),
                    short: format!("Email deleted ({reason})"),
                }
            }
        }
    }

    /// The sentence, its subject written as `write` writes it.
    pub(super) fn sentence(&self, write: impl Fn(&str) -> String) -> String {
        format!("{}{}{}", self.opening, write(&self.subject), self.ending)
    }
}
