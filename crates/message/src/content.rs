//! Parts to content: which are the body, which are attachments.

use std::borrow::Cow;

use crate::charset;
use crate::defect::Defects;
use crate::html_text;
use crate::mime::{self, Part};
use crate::param::Parameterised;
use crate::parsed::Attachment;
use crate::transfer;

/// Text, HTML and attachments of a message.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) text: Option<String>,
    pub(crate) html: Option<String>,
    pub(crate) attachments: Vec<Attachment>,
}

/// Sorts and decodes the parts.
///
/// Body texts that stand one after the other are joined. The forms of one multipart/alternative make one passage:
/// its plain form goes into the text, or if it has none, what its HTML form says.
pub(crate) fn assemble(parts: Vec<Part<'_>>, defects: &mut Defects) -> Content {
    let mut passages: Vec<Passage> = Vec::new();
    let mut attachments = Vec::new();
    for part in parts {
        let disposition = Parameterised::parse(&part.headers.source("content-disposition").unwrap_or_default());
        let filename = filename(&part.content_type, &disposition);
        let encoding = part
            .headers
            .source("content-transfer-encoding")
            .map(|source| Parameterised::parse(&source).value);
        let bytes = transfer::decode(encoding.as_deref(), part.body, defects);
        if is_body(&part, &disposition, filename.as_deref()) {
            let label = part.content_type.token("charset");
            let text = unix_lines(charset::decode(bytes, label.as_deref(), defects));
            passage(&mut passages, part.place.alternative).add(part.content_type.value == "text/html", text);
        } else {
            attachments.push(attachment(&part, &disposition, filename, bytes.into_owned()));
        }
    }
    join(passages, attachments)
}

/// The name of a part's file: where RFC 2183 has it, else where it was before, else where some programs put it.
fn filename(content_type: &Parameterised, disposition: &Parameterised) -> Option<String> {
    let misplaced = || {
        // in a form it is the name of the field
        let is_form = disposition.value == "form-data";
        disposition.get("name").filter(|_| !is_form)
    };
    let stated = disposition.get("filename").or_else(|| content_type.get("name"));
    stated.or_else(misplaced).map(|name| name.replace('\t', " "))
}

/// The passage that a body part with this place belongs to: the last one, if both are of one alternative.
fn passage(passages: &mut Vec<Passage>, alternative: Option<usize>) -> &mut Passage {
    let continues = alternative.is_some() && passages.last().is_some_and(|last| last.alternative == alternative);
    if !continues {
        passages.push(Passage {
            alternative,
            plain: None,
            html: None,
        });
    }
    passages.last_mut().expect("one was pushed if there was none")
}

/// A stretch of body text in one or two forms.
struct Passage {
    alternative: Option<usize>,
    plain: Option<String>,
    html: Option<String>,
}

impl Passage {
    fn add(&mut self, is_html: bool, text: String) {
        append(if is_html { &mut self.html } else { &mut self.plain }, Some(text));
    }
}

fn join(passages: Vec<Passage>, attachments: Vec<Attachment>) -> Content {
    let mut content = Content {
        attachments,
        ..Content::default()
    };
    for passage in passages {
        let plain = passage.plain.or_else(|| passage.html.as_deref().map(html_text::render));
        append(&mut content.text, plain);
        append(&mut content.html, passage.html);
    }
    content
}

/// Adds a text to another, on a line of its own.
fn append(joined: &mut Option<String>, text: Option<String>) {
    match (joined, text) {
        (_, None) => {}
        (joined @ None, text) => *joined = text,
        (Some(joined), Some(text)) => {
            if !joined.is_empty() && !joined.ends_with('\n') {
                joined.push('\n');
            }
            joined.push_str(&text);
        }
    }
}

/// Whether a part is shown as the body: inline text without a file name that nothing else refers to.
fn is_body(part: &Part<'_>, disposition: &Parameterised, filename: Option<&str>) -> bool {
    matches!(part.content_type.value.as_str(), "text/plain" | "text/html")
        && matches!(disposition.value.as_str(), "" | "inline")
        && (filename.is_none() || part.place.depth == 0)
        && !part.place.is_related
}

fn attachment(part: &Part<'_>, disposition: &Parameterised, filename: Option<String>, content: Vec<u8>) -> Attachment {
    let content_id = mime::content_id(&part.headers);
    let is_inline = match disposition.value.as_str() {
        "inline" => true,
        "" => content_id.is_some() || part.place.is_related,
        _ => false,
    };
    Attachment {
        filename: filename.unwrap_or_else(|| "unnamed".into()),
        content_type: part.content_type.value.clone(),
        content_disposition: if is_inline { "inline" } else { "attachment" }.into(),
        content_id,
        content,
    }
}

/// CRLF becomes LF; a CR alone stays.
fn unix_lines(text: Cow<'_, str>) -> String {
    if text.contains("\r\n") {
        text.replace("\r\n", "\n")
    } else {
        text.into_owned()
    }
}
