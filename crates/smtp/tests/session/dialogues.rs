//! Every dialogue of `tests/dialogues`, however its bytes are cut.

use std::path::Path;
use std::sync::Arc;

use restante_smtp::{Auth, CloseReason, SessionConfig};
use restante_testkit::dialogue::{self, Dialogue, Ending, matches};

use crate::outside::{Connection, Outcome, Outside};

fn dialogues() -> Vec<Dialogue> {
    let all = Dialogue::read_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/dialogues"));
    assert!(all.len() >= 40, "only {} dialogues", all.len());
    all
}

fn outside(dialogue: &Dialogue) -> Outside {
    let default = SessionConfig::default();
    let limits = &dialogue.limits;
    let config = SessionConfig {
        max_message_bytes: limits.message_bytes.unwrap_or(default.max_message_bytes),
        max_header_bytes: limits.header_bytes.unwrap_or(default.max_header_bytes),
        max_recipients: limits.recipients.unwrap_or(default.max_recipients),
        auth: match dialogue.auth {
            dialogue::Auth::Off => Auth::Off,
            dialogue::Auth::AcceptAny => Auth::AcceptAny,
        },
        ..default
    };
    Outside {
        config: Arc::new(config),
        inboxes: dialogue.inboxes.clone(),
        dismisses: false,
    }
}

/// All that the client sends.
fn wire(dialogue: &Dialogue) -> Vec<u8> {
    dialogue
        .exchanges
        .iter()
        .flat_map(|exchange| exchange.client.iter().copied())
        .collect()
}

fn check(dialogue: &Dialogue, cut: &str, outcome: &Outcome) {
    let name = &dialogue.name;
    let output = String::from_utf8_lossy(&outcome.output);
    let said: Vec<&str> = output.split_terminator("\r\n").collect();
    let expected: Vec<&String> = dialogue
        .exchanges
        .iter()
        .flat_map(|exchange| &exchange.server)
        .collect();
    for (index, (pattern, line)) in expected.iter().zip(&said).enumerate() {
        assert!(
            matches(pattern, line),
            "{name}, {cut}, reply line {}: {line:?} is not {pattern:?}",
            index + 1
        );
    }
    assert_eq!(said.len(), expected.len(), "{name}, {cut}: reply lines in\n{output}");
    assert_eq!(
        outcome.closed.is_some(),
        dialogue.ending == Ending::Closed,
        "{name}, {cut}: {:?}",
        outcome.closed
    );
    if !dialogue.messages.is_empty() {
        let taken: Vec<String> = outcome
            .transactions
            .iter()
            .map(|transaction| transaction.data.escape_ascii().to_string())
            .collect();
        let messages: Vec<String> = dialogue
            .messages
            .iter()
            .map(|bytes| bytes.escape_ascii().to_string())
            .collect();
        assert_eq!(taken, messages, "{name}, {cut}");
    }
}

#[test]
fn each_packet_is_answered_before_the_next() {
    for dialogue in dialogues() {
        let mut connection = Connection::new(&outside(&dialogue));
        let mut lines = 0;
        for exchange in &dialogue.exchanges {
            connection.send(&exchange.client);
            lines += exchange.server.len();
            let said = connection.outcome.output.split(|&byte| byte == b'\n').count() - 1;
            let client = exchange.client.escape_ascii();
            assert_eq!(said, lines, "{}: reply lines after {client}", dialogue.name);
        }
        check(&dialogue, "in packets", &connection.outcome);
    }
}

#[test]
fn the_cut_makes_no_difference() {
    for dialogue in dialogues() {
        let outside = outside(&dialogue);
        let wire = wire(&dialogue);
        check(&dialogue, "in one chunk", &outside.run([wire.as_slice()]));
        check(
            &dialogue,
            "by line",
            &outside.run(wire.split_inclusive(|&byte| byte == b'\n')),
        );
        check(&dialogue, "by byte", &outside.run(wire.chunks(1)));
    }
}

#[test]
fn each_reason_to_close_is_told() {
    let outside = Outside::default();
    for (wire, reason) in [
        (&b"QUIT\r\n"[..], CloseReason::Quit),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", CloseReason::HttpRequest),
        (b"\x16\x03\x01\x02\x00", CloseReason::TlsHello),
        (b"BDAT many\r\n", CloseReason::LostFraming),
        (b"BDAT 18446744073709551615 LAST\r\n", CloseReason::DrainLimit),
    ] {
        assert_eq!(outside.run([wire]).closed, Some(reason), "{}", wire.escape_ascii());
    }
    assert_eq!(
        outside.run([b"X\r\n".repeat(10).as_slice()]).closed,
        Some(CloseReason::TooManyUnknownCommands)
    );
    assert_eq!(outside.run([b"X\r\n".repeat(9).as_slice()]).closed, None);
}
