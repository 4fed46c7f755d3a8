//! The SMTP session: one wire, however it is cut, has one meaning, and it is the one that an onlooker sees.
//!
//! Head: a byte of switches, seven answers of the driver, eight sizes of pieces.

use restante_smtp::{Auth, SessionConfig, StartTls};

use crate::driver::{Outcome, Script, tls_facts};
use crate::wire::Wire;
use crate::{head, onlooker, replies};

/// Bytes of the head.
pub(crate) const HEAD: usize = 16;

/// Gives a wire to the session as a whole, in pieces and byte by byte.
///
/// # Panics
/// - A reply is not well formed, has no enhanced code where it must, or has no command of its own.
/// - The messages taken are not, byte for byte, those that the wire and the replies say.
/// - Output, transactions, questions or the end differ with the cut.
/// - The session holds more than was granted, lets output gather without bound, or reads on when it is over.
pub fn run(input: &[u8]) {
    let (head, sent) = head::split::<HEAD>(input);
    let (switches, answers, cuts) = (head[0], &head[1..8], &head[8..]);
    let script = Script {
        tls: (switches & 2 != 0).then(tls_facts),
        answers: answers.to_vec(),
        ..Script::of(config(switches))
    };
    let wire = Wire::read(sent);
    let outcome = check(&script, &wire);
    for cuts in [cuts, &[1]] {
        assert_eq!(script.run(&wire, cuts), outcome, "in pieces of {cuts:?}");
    }
}

/// Runs a script with the flights whole, and compares with the onlooker.
pub(crate) fn check(script: &Script, wire: &Wire) -> Outcome {
    let outcome = script.run(wire, &[]);
    let replies = replies::read(&outcome.output);
    let seen = onlooker::messages(wire, &replies, &outcome);
    let taken: Vec<&[u8]> = outcome
        .accepted
        .iter()
        .map(|transaction| &transaction.data[..])
        .collect();
    assert_eq!(taken, seen, "the session and the onlooker see different messages");
    outcome
}

/// Limits so small that a short wire meets them, or the defaults.
fn config(switches: u8) -> SessionConfig {
    let default = SessionConfig::default();
    let small = |bit: u8, limit: usize, default: usize| if switches & bit == 0 { default } else { limit };
    SessionConfig {
        hostname: "mx.restante.test".into(),
        starttls: if switches & 1 == 0 {
            StartTls::Off
        } else {
            StartTls::Offered
        },
        auth: if switches & 32 == 0 { Auth::Off } else { Auth::AcceptAny },
        max_message_bytes: small(4, 100, default.max_message_bytes),
        max_header_bytes: small(8, 30, default.max_header_bytes),
        max_recipients: small(16, 2, default.max_recipients),
        // Never less than the largest message.
        max_drain_bytes: if switches & 64 == 0 { default.max_drain_bytes } else { 0 },
        ..default
    }
}
