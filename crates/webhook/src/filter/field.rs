//! The fields that rules look at.

use restante_model::ArrivalEvent;
use restante_model::webhook::FilterRule;

use crate::payload::cut_bytes;

/// Bytes of a body that rules see; less where a character would be cut.
const BODY_BYTES: usize = 5_120;

/// What a rule looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field {
    Subject,
    FromAddress,
    FromName,
    /// Of the first recipient, as the next.
    ToAddress,
    ToName,
    BodyText,
    BodyHtml,
    /// The name in lowercase, as events have it.
    Header(String),
}

impl Field {
    /// The field of a name; only the name of a header may be in any case.
    pub(super) fn parse(name: &str) -> Option<Self> {
        if let Some(header) = name.strip_prefix(FilterRule::HEADER_FIELD) {
            return (!header.is_empty()).then(|| Self::Header(header.to_ascii_lowercase()));
        }
        match name {
            "subject" => Some(Self::Subject),
            "from.address" => Some(Self::FromAddress),
            "from.name" => Some(Self::FromName),
            "to.address" => Some(Self::ToAddress),
            "to.name" => Some(Self::ToName),
            "body.text" => Some(Self::BodyText),
            "body.html" => Some(Self::BodyHtml),
            _ => None,
        }
    }

    /// Whether there is a value of which `holds` is true; a repeated header has several.
    pub(super) fn has(&self, event: &ArrivalEvent, holds: impl Fn(&str) -> bool) -> bool {
        if let Self::Header(name) = self {
            let mut fields = event.headers.iter().filter(|(field, _)| field == name);
            return fields.any(|(_, values)| values.split('\n').any(&holds));
        }
        self.single(event).is_some_and(holds)
    }

    /// The value of a field that has at most one.
    fn single<'a>(&self, event: &'a ArrivalEvent) -> Option<&'a str> {
        let body = |body: &'a Option<String>| body.as_deref().map(|body| cut_bytes(body, BODY_BYTES));
        match self {
            // An event without one has words in its place.
            Self::Subject => event.has_header("subject").then_some(&event.subject),
            Self::FromAddress => Some(&event.from.address),
            Self::FromName => event.from.name.as_deref(),
            Self::ToAddress => event.to.first().map(|mailbox| mailbox.address.as_str()),
            Self::ToName => event.to.first()?.name.as_deref(),
            Self::BodyText => body(&event.text),
            Self::BodyHtml => body(&event.html),
            Self::Header(_) => None,
        }
    }
}
