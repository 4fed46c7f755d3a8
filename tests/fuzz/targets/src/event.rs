//! The event that filters and templates are tried with.

use restante_model::ArrivalEvent;

/// An arrival that has everything; its texts are put in by the targets.
pub(crate) fn arrival() -> ArrivalEvent {
    let json = include_str!("../../../vectors/event.json");
    serde_json::from_str(json).expect("the event of the vectors is an event")
}

/// What stands before the first NUL, and what stands behind it, with replacement characters for what is no text.
pub(crate) fn halves(input: &[u8]) -> (String, String) {
    let end = input.iter().position(|&byte| byte == 0).unwrap_or(input.len());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&input[..end]), text(input.get(end + 1..).unwrap_or_default()))
}
