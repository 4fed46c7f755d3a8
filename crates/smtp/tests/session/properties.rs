//! What holds for any bytes whatever.

use std::sync::Arc;

use proptest::prelude::*;
use restante_smtp::{Auth, CloseReason, SessionConfig};

use crate::outside::{Outcome, Outside};

/// Pieces of which a hostile session is made.
const PIECES: [&str; 28] = [
    "EHLO x\r\n",
    "MAIL FROM:<a@b.test>\r\n",
    "MAIL FROM:<> SIZE=100\r\n",
    "RCPT TO:<bob@restante.test>\r\n",
    "RCPT TO:<nobody@restante.test>\r\n",
    "DATA\r\n",
    "data \r\n",
    ".\r\n",
    "\r\n.\r\n",
    "\n.\n",
    "\r.\r",
    "\n.\r\n",
    "\r\n.\n",
    "\r\n.\r\r\n",
    "\r\n\0.\r\n",
    "\r\n..",
    "BDAT 5\r\n",
    "BDAT 5 LAST\r\n",
    "BDAT 0\r\n",
    "BDAT 0 LAST\r\n",
    "AUTH LOGIN\r\n",
    "AUTH PLAIN AGEAYg==\r\n",
    "YQ==\r\n",
    "*\r\n",
    "hello",
    "RSET\r\n",
    "\r",
    "\n",
];

/// A session of whole mails, single pieces and noise.
fn wire() -> impl Strategy<Value = Vec<u8>> {
    let opening = "EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<bob@restante.test>\r\n";
    let piece = prop_oneof![
        3 => Just(opening.as_bytes().to_vec()),
        8 => prop::sample::select(&PIECES[..]).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn outside() -> Outside {
    Outside {
        inboxes: vec!["bob@restante.test".into()],
        ..Outside::default()
    }
}

fn taking_auth() -> Outside {
    let config = SessionConfig {
        auth: Auth::AcceptAny,
        ..SessionConfig::default()
    };
    Outside {
        config: Arc::new(config),
        ..outside()
    }
}

fn dismissing() -> Outside {
    Outside {
        dismisses: true,
        ..outside()
    }
}

/// The code of each reply, without the greeting.
fn replies(outcome: &Outcome) -> Vec<String> {
    let text = String::from_utf8(outcome.output.clone()).expect("replies are text");
    let last_lines = text.split_terminator("\r\n").filter(|line| line.as_bytes()[3] == b' ');
    last_lines.skip(1).map(|line| line[..3].to_owned()).collect()
}

/// The wire as an onlooker reads it, who knows only what the replies said: how many messages were sent and taken, and
/// how many replies that accounts for.
fn onlooker(wire: &[u8], replies: &[String]) -> (usize, usize) {
    let (mut taken, mut seen, mut rest) = (0, 0, wire);
    while let Some(reply) = replies.get(seen) {
        let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") else {
            break;
        };
        let line = String::from_utf8_lossy(&rest[..end]).to_uppercase();
        rest = &rest[end + 2..];
        seen += 1;
        // No command begins with a space.
        let command = if line.starts_with(' ') { "" } else { line.as_str() };
        let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
        if words == ["DATA"] && reply == "354" {
            let framed = [b"\r\n", rest].concat();
            let Some(end) = framed.windows(5).position(|window| window == b"\r\n.\r\n") else {
                break;
            };
            rest = &rest[end + 3..];
            assert_eq!(replies[seen], "250", "nothing refuses a message here");
            taken += 1;
            seen += 1;
        } else if let ["BDAT", size, last @ ..] = words.as_slice() {
            let size: usize = size.parse().expect("readable sizes only");
            rest = rest.get(size..).expect("a chunk is answered when it is complete");
            taken += usize::from(last == ["LAST"] && reply == "250");
        }
    }
    (taken, seen)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_message_is_what_data_or_bdat_ended(wire in wire()) {
        // A TLS hello is answered at its first byte, without a line.
        prop_assume!(wire.first() != Some(&0x16));
        let outcome = outside().run([wire.as_slice()]);
        let replies = replies(&outcome);
        let (taken, seen) = onlooker(&wire, &replies);
        prop_assert_eq!(taken, outcome.transactions.len());
        prop_assert_eq!(seen, replies.len(), "each reply has its command: {:?}", replies);
    }

    #[test]
    fn the_cut_makes_no_difference(wire in wire(), sizes in prop::collection::vec(1..20_usize, 1..20)) {
        let mut chunks = Vec::new();
        let mut rest = wire.as_slice();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (chunk, tail) = rest.split_at(rest.len().min(*size));
            chunks.push(chunk);
            rest = tail;
        }
        for outside in [outside(), taking_auth(), dismissing()] {
            prop_assert_eq!(outside.run(chunks.iter().copied()), outside.run([wire.as_slice()]));
        }
    }

    #[test]
    fn a_dismissal_is_the_last_word(wire in wire()) {
        let outcome = dismissing().run([wire.as_slice()]);
        prop_assert!(outcome.transactions.len() <= 1);
        let dismissed = outcome.closed == Some(CloseReason::Dismissed);
        prop_assert_eq!(dismissed, outcome.transactions.len() == 1);
        prop_assert_eq!(dismissed, outcome.output.ends_with(b"421 4.7.0 Go\r\n"));
    }

    #[test]
    fn no_bytes_panic_and_no_reply_line_has_a_control_character(wire in prop::collection::vec(any::<u8>(), 0..3000)) {
        let outcome = outside().run([wire.as_slice()]);
        let text = String::from_utf8(outcome.output).expect("replies are text");
        prop_assert!(text.split_terminator("\r\n").all(|line| line.len() <= 510 && !line.contains(char::is_control)));
    }

    #[test]
    fn envelopes_have_no_control_characters(
        helo in "\\PC{0,10}[\r\n\0\u{85}\u{2028}]?\\PC{0,10}",
        sender in "\\PC{0,10}[\r\n\0\u{85}\u{2028}]?\\PC{0,10}",
        recipient in "[a-z\"]{0,4}[\r\n\0\u{7f}]?[a-z\"]{0,4}",
    ) {
        let wire = format!(
            "EHLO {helo}\r\nEHLO x\r\nMAIL FROM:<{sender}@b.test> SMTPUTF8\r\nMAIL FROM:<>\r\n\
             RCPT TO:<{recipient}@restante.test>\r\nRCPT TO:<bob@restante.test>\r\nBDAT 0 LAST\r\n",
        );
        let outcome = Outside { inboxes: vec!["bob@restante.test".into()], ..Outside::default() }.run([wire.as_bytes()]);
        for transaction in outcome.transactions {
            let recipients: String = transaction.recipients.iter().map(ToString::to_string).collect();
            let texts = [transaction.helo.as_str(), transaction.reverse_path.as_str(), &recipients];
            let unfit = texts.concat().contains(|c: char| c.is_control() || c == '\u{2028}');
            prop_assert!(!unfit, "{:?}", texts);
        }
    }
}
