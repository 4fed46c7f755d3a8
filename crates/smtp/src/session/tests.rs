//! What only the driver sees: reservations, phases, TLS. What a client sees stands in `tests/dialogues`.

use super::*;
use crate::config::{Auth, StartTls};
use crate::transaction::Transaction;

const NO_ROOM: Reply = Reply::fixed(452, Enhanced(4, 3, 1), "No room");

/// A session after `EHLO x`.
fn session(config: SessionConfig) -> Session {
    let mut session = Session::new(Arc::new(config), None);
    assert_eq!(feed(&mut session, b"EHLO x\r\n"), None);
    session.take_output();
    session
}

/// Feeds bytes until the first action, which must come with the last of them, if it does.
fn feed(session: &mut Session, mut input: &[u8]) -> Option<Action> {
    let action = session.feed(&mut input);
    assert!(action.is_some() || input.is_empty());
    action
}

/// Settings of a server that takes AUTH.
fn accept_any() -> SessionConfig {
    SessionConfig {
        auth: Auth::AcceptAny,
        ..SessionConfig::default()
    }
}

fn said(session: &mut Session) -> String {
    String::from_utf8(session.take_output().to_vec()).unwrap()
}

/// Opens a transaction for bob.
fn open(session: &mut Session) {
    assert_eq!(feed(session, b"MAIL FROM:<>\r\n"), None);
    let mut input = &b"RCPT TO:<bob@restante.test>\r\n"[..];
    assert!(matches!(
        session.feed(&mut input),
        Some(Action::Verify(ForwardPath::Mailbox { .. }))
    ));
    session.resume(Answer::Granted);
    session.take_output();
}

fn accepted(action: Option<Action>) -> Transaction {
    match action {
        Some(Action::Accept(transaction)) => transaction,
        other => panic!("{other:?} accepts nothing"),
    }
}

#[test]
fn a_declared_size_is_reserved_at_mail() {
    let mut session = session(SessionConfig::default());
    assert_eq!(
        feed(&mut session, b"MAIL FROM:<> SIZE=1000\r\n"),
        Some(Action::Reserve(1000))
    );
    assert_eq!((session.reserved_bytes(), session.in_transaction()), (0, true));
    session.resume(Answer::Refused(NO_ROOM));
    assert_eq!(said(&mut session), "452 4.3.1 No room\r\n");
    assert!(!session.in_transaction());
    assert_eq!(
        feed(&mut session, b"MAIL FROM:<> SIZE=1000\r\n"),
        Some(Action::Reserve(1000))
    );
    session.resume(Answer::Granted);
    assert_eq!(
        (session.reserved_bytes(), said(&mut session).as_str()),
        (1000, "250 2.1.0 Ok\r\n")
    );
    assert_eq!(feed(&mut session, b"RSET\r\n"), None);
    assert_eq!(session.reserved_bytes(), 0);
}

#[test]
fn an_undeclared_size_is_reserved_by_doubling_before_bytes_are_kept() {
    let mut session = session(SessionConfig::default());
    open(&mut session);
    assert_eq!(feed(&mut session, b"DATA\r\n"), None);
    // It begins with the empty line that ends a header block.
    let body = [b"\r\n", vec![b'x'; 299_998].as_slice()].concat();
    let mut input = body.as_slice();
    for (expected, read) in [(65_536, 0), (65_536, 65_536), (131_072, 131_072), (262_144, 262_144)] {
        assert_eq!(session.feed(&mut input), Some(Action::Reserve(expected)));
        assert_eq!(body.len() - input.len(), read);
        session.resume(Answer::Granted);
    }
    assert_eq!(session.feed(&mut input), None);
    assert_eq!(session.reserved_bytes(), 524_288);
    let transaction = accepted(feed(&mut session, b"\r\n.\r\n"));
    assert_eq!(transaction.data.len(), 300_002);
    assert_eq!(session.reserved_bytes(), 0);
    assert!(session.in_transaction());
    session.resume(Answer::Accepted {
        ids: vec!["msg_1".into()],
    });
    assert!(!session.in_transaction());
}

#[test]
fn who_gets_no_room_is_drained_to_the_end() {
    for (opening, rest) in [
        (&b"DATA\r\n"[..], &b"\r\nQUIT\r\n.\r\n"[..]),
        (b"BDAT 12 LAST\r\n", b"QUIT\r\nQUIT\r\n"),
    ] {
        let mut session = session(SessionConfig::default());
        open(&mut session);
        assert_eq!(feed(&mut session, opening), None);
        let mut input = rest;
        assert_eq!(session.feed(&mut input), Some(Action::Reserve(65_536)));
        session.resume(Answer::Refused(NO_ROOM));
        assert_eq!((session.phase(), session.reserved_bytes()), (Phase::Draining, 0));
        assert_eq!(session.feed(&mut input), None);
        assert!(said(&mut session).ends_with("452 4.3.1 No room\r\n"));
        assert_eq!((session.phase(), session.in_transaction()), (Phase::Commands, false));
    }
}

#[test]
fn who_sends_without_end_is_closed() {
    let mut session = session(SessionConfig {
        max_message_bytes: 10,
        max_drain_bytes: 1000,
        ..SessionConfig::default()
    });
    open(&mut session);
    assert_eq!(feed(&mut session, b"DATA\r\nx"), Some(Action::Reserve(10)));
    session.resume(Answer::Granted);
    assert_eq!(feed(&mut session, &[b'x'; 1000]), None);
    assert_eq!(session.phase(), Phase::Draining);
    assert_eq!(
        feed(&mut session, &[b'x'; 100]),
        Some(Action::Close(CloseReason::DrainLimit))
    );
    assert!(said(&mut session).ends_with("552 5.3.4 Message too large: the limit is 10 bytes\r\n"));
    assert_eq!(session.phase(), Phase::Closed);
    assert_eq!(
        feed(&mut session, b"NOOP\r\n"),
        Some(Action::Close(CloseReason::DrainLimit))
    );
    assert_eq!(said(&mut session), "");
}

#[test]
fn the_cut_does_not_decide_who_is_closed() {
    let config = SessionConfig {
        max_message_bytes: 10,
        max_drain_bytes: 1000,
        ..SessionConfig::default()
    };
    // Ten bytes are kept; the byte after the limit may still be the end of the message, and no later one.
    for (dropped, closes) in [(1001, false), (1002, true)] {
        let wire = [&[b'x'; 10][..], &[b'x'; 1000][..dropped - 5], b"\r\n.\r\n"].concat();
        for piece in [1, 7, wire.len()] {
            let mut session = session(config.clone());
            open(&mut session);
            assert_eq!(feed(&mut session, b"DATA\r\n"), None);
            let closed = wire.chunks(piece).any(|piece| gives_up(&mut session, piece));
            assert_eq!(closed, closes, "{dropped} bytes in pieces of {piece}");
        }
    }
}

/// Feeds bytes and grants what is asked; whether the session has seen enough of them.
fn gives_up(session: &mut Session, mut input: &[u8]) -> bool {
    while let Some(action) = session.feed(&mut input) {
        if action == Action::Close(CloseReason::DrainLimit) {
            return true;
        }
        assert!(matches!(action, Action::Reserve(_)), "{action:?}");
        session.resume(Answer::Granted);
    }
    false
}

#[test]
fn a_message_within_its_limit_is_never_too_much_to_drain() {
    let mut session = session(SessionConfig {
        max_message_bytes: 100,
        max_drain_bytes: 10,
        ..SessionConfig::default()
    });
    open(&mut session);
    let mut input = &[&b"BDAT 100 LAST\r\n"[..], &[b'x'; 100]].concat()[..];
    assert_eq!(session.feed(&mut input), Some(Action::Reserve(100)));
    session.resume(Answer::Refused(NO_ROOM));
    assert_eq!(session.feed(&mut input), None);
    assert_eq!(said(&mut session), "452 4.3.1 No room\r\n");
}

#[test]
fn what_cannot_be_stored_is_refused_with_the_reply_of_the_outside() {
    let mut session = session(SessionConfig::default());
    open(&mut session);
    assert!(matches!(
        feed(&mut session, b"BDAT 0 LAST\r\n"),
        Some(Action::Accept(_))
    ));
    session.resume(Answer::Refused(Reply::fixed(451, Enhanced(4, 3, 0), "Later")));
    assert_eq!(said(&mut session), "451 4.3.0 Later\r\n");
    assert!(!session.in_transaction());
}

#[test]
fn who_is_dismissed_hears_why_and_nothing_more_is_read() {
    for end in ["DATA\r\na message\r\n.\r\n", "BDAT 9 LAST\r\na message"] {
        let mut session = session(SessionConfig::default());
        open(&mut session);
        let wire = format!("{end}MAIL FROM:<>\r\nNOOP\r\n");
        let mut input = wire.as_bytes();
        while let Some(Action::Reserve(_)) = session.feed(&mut input) {
            session.resume(Answer::Granted);
        }
        session.take_output();
        session.resume(Answer::Dismissed(Reply::fixed(421, Enhanced(4, 7, 0), "Go")));
        assert_eq!((session.phase(), session.in_transaction()), (Phase::Closed, false));
        assert_eq!(session.feed(&mut input), Some(Action::Close(CloseReason::Dismissed)));
        assert_eq!((input, said(&mut session).as_str()), (&b""[..], "421 4.7.0 Go\r\n"));
    }
}

#[test]
fn a_session_begins_anew_under_tls_and_forgets_what_came_in_clear() {
    let facts = TlsFacts {
        version: "TLSv1.3".into(),
        cipher: "TLS_AES_256_GCM_SHA384".into(),
    };
    let mut session = session(SessionConfig {
        starttls: StartTls::Offered,
        ..SessionConfig::default()
    });
    let mut input = &b"MAIL FROM:<>\r\nSTARTTLS\r\nNOOP\r\nEHLO evil\r\nMAI"[..];
    assert_eq!(session.feed(&mut input), Some(Action::StartTls));
    assert_eq!(input, b"");
    assert_eq!(said(&mut session), "250 2.1.0 Ok\r\n220 2.0.0 Ready to start TLS\r\n");
    session.resume(Answer::TlsStarted(facts.clone()));
    assert_eq!(session.phase(), Phase::Commands);
    assert_eq!(feed(&mut session, b"MAIL FROM:<>\r\nEHLO x\r\nSTARTTLS\r\n"), None);
    let text = said(&mut session);
    assert!(text.starts_with("503 5.5.1 Send HELO or EHLO first\r\n250-"), "{text}");
    assert!(!text.contains("STARTTLS\r\n"), "{text}");
    assert!(text.ends_with("503 5.5.1 TLS is active already\r\n"), "{text}");
    open(&mut session);
    let transaction = accepted(feed(&mut session, b"BDAT 0 LAST\r\n"));
    assert_eq!((transaction.protocol, transaction.tls), ("ESMTPS", Some(facts)));
}

#[test]
fn an_authentication_in_clear_is_forgotten_under_tls() {
    let mut session = session(SessionConfig {
        starttls: StartTls::Offered,
        ..accept_any()
    });
    assert_eq!(
        feed(&mut session, b"AUTH PLAIN AGEAYg==\r\nSTARTTLS\r\n"),
        Some(Action::StartTls)
    );
    session.resume(Answer::TlsStarted(TlsFacts {
        version: "TLSv1.3".into(),
        cipher: "TLS_AES_256_GCM_SHA384".into(),
    }));
    session.take_output();
    assert_eq!(feed(&mut session, b"AUTH PLAIN AGEAYg==\r\n"), None);
    assert_eq!(said(&mut session), "503 5.5.1 Send EHLO first\r\n");
    assert_eq!(feed(&mut session, b"EHLO x\r\nAUTH PLAIN AGEAYg==\r\n"), None);
    assert!(said(&mut session).ends_with("235 2.7.0 Authenticated: any credentials will do\r\n"));
}

#[test]
fn a_session_shows_no_credentials() {
    let mut session = session(accept_any());
    for wire in [
        &b"AUTH PLAIN AGEAc2VjcmV0"[..],
        b"\r\nNOOP\r\nRSET\r\nEHLO x\r\n",
        b"AUTH LOGIN\r\nc2VjcmV0",
        b"\r\nc2VjcmV0",
        b"\r\n",
    ] {
        feed(&mut session, wire);
        let shown = format!("{session:?} {}", said(&mut session));
        assert!(
            !shown.contains("c2VjcmV0") && !shown.contains("99, 50, 86, 106"),
            "{shown}"
        );
    }
}

#[test]
fn a_response_without_end_takes_no_memory() {
    let mut session = session(accept_any());
    assert_eq!(feed(&mut session, b"AUTH PLAIN\r\n"), None);
    for _ in 0..1024 {
        assert_eq!(feed(&mut session, &b"A".repeat(65_536)), None);
        assert!(session.lines.capacity() <= 32_768);
    }
    assert_eq!(feed(&mut session, b"\r\nNOOP\r\n"), None);
    let said = said(&mut session);
    assert!(
        said.starts_with("334 \r\n500 5.5.6 ") && said.ends_with("250 2.0.0 Ok\r\n"),
        "{said}"
    );
}

#[test]
fn starttls_is_offered_by_configuration_only_and_a_failed_handshake_ends_the_session() {
    let mut offered = session(SessionConfig {
        starttls: StartTls::Offered,
        ..SessionConfig::default()
    });
    assert_eq!(feed(&mut offered, b"EHLO x\r\n"), None);
    assert!(said(&mut offered).ends_with("250 STARTTLS\r\n"));
    assert_eq!(feed(&mut offered, b"HELP\r\n"), None);
    assert!(said(&mut offered).starts_with("214 2.0.0 Commands: EHLO HELO STARTTLS MAIL "));
    assert_eq!(feed(&mut offered, b"STARTTLS\r\n"), Some(Action::StartTls));
    offered.resume(Answer::TlsFailed);
    assert_eq!(
        feed(&mut offered, b"NOOP\r\n"),
        Some(Action::Close(CloseReason::TlsFailed))
    );
    let mut off = session(SessionConfig::default());
    assert_eq!(feed(&mut off, b"STARTTLS\r\n"), None);
    assert_eq!(said(&mut off), "502 5.5.1 Command not implemented\r\n");
}

#[test]
fn the_protocol_keyword_tells_what_was_spoken() {
    let facts = TlsFacts {
        version: "TLSv1.3".into(),
        cipher: "x".into(),
    };
    let config = Arc::new(accept_any());
    for (commands, parameter, tls, keyword) in [
        ("HELO x", "", None, "SMTP"),
        ("HELO x", "", Some(facts.clone()), "SMTP"),
        ("EHLO x", "", None, "ESMTP"),
        ("EHLO x", "", Some(facts.clone()), "ESMTPS"),
        ("EHLO x\r\nAUTH PLAIN AGEAYg==", "", None, "ESMTPA"),
        ("EHLO x\r\nAUTH PLAIN AGEAYg==", "", Some(facts.clone()), "ESMTPSA"),
        ("EHLO x", " SMTPUTF8", None, "UTF8SMTP"),
        ("EHLO x", " SMTPUTF8", Some(facts.clone()), "UTF8SMTPS"),
        ("EHLO x\r\nAUTH LOGIN YQ==\r\nYg==", " SMTPUTF8", None, "UTF8SMTPA"),
        (
            "EHLO x\r\nAUTH LOGIN YQ==\r\nYg==",
            " SMTPUTF8",
            Some(facts),
            "UTF8SMTPSA",
        ),
    ] {
        let mut session = Session::new(Arc::clone(&config), tls);
        let commands = format!("{commands}\r\nMAIL FROM:<>{parameter}\r\n");
        assert_eq!(feed(&mut session, commands.as_bytes()), None);
        assert!(matches!(
            feed(&mut session, b"RCPT TO:<a@b>\r\n"),
            Some(Action::Verify(_))
        ));
        session.resume(Answer::Granted);
        assert_eq!(accepted(feed(&mut session, b"BDAT 0 LAST\r\n")).protocol, keyword);
    }
}

#[test]
fn phases_follow_the_client() {
    let mut session = Session::new(Arc::default(), None);
    session.greet();
    assert_eq!(
        said(&mut session),
        "220 localhost ESMTP restante test mail server (receive-only)\r\n"
    );
    assert_eq!(session.phase(), Phase::Connected);
    feed(&mut session, b"EHLO");
    assert_eq!(session.phase(), Phase::Connected);
    feed(&mut session, b" x\r\n");
    assert_eq!(session.phase(), Phase::Commands);
    open(&mut session);
    assert!(session.in_transaction());
    feed(&mut session, b"DATA\r\n");
    assert_eq!(session.phase(), Phase::Data);
    assert_eq!(
        session.timeout_reply().to_bytes(),
        "421 4.4.2 localhost Timeout, closing connection\r\n"
    );
    assert_eq!(
        session.shutdown_reply().to_bytes(),
        "421 4.3.2 localhost Server is shutting down\r\n"
    );
}

#[test]
fn a_client_that_reads_nothing_makes_no_heap_of_replies() {
    let mut session = session(SessionConfig::default());
    let commands = b"EHLO x\r\n".repeat(10_000);
    let mut input = commands.as_slice();
    let mut flushes = 0;
    while let Some(action) = session.feed(&mut input) {
        assert_eq!(action, Action::Flush);
        assert!(session.take_output().len() < OUTPUT_HIGH_WATER + 1000);
        flushes += 1;
    }
    assert!(flushes > 50, "{flushes}");
}

#[test]
#[should_panic(expected = "does not answer")]
fn an_answer_that_does_not_fit_is_a_mistake_of_the_driver() {
    let mut session = session(SessionConfig::default());
    feed(&mut session, b"MAIL FROM:<> SIZE=1\r\n");
    session.resume(Answer::TlsFailed);
}

/// Feeds everything and grants what is asked for; a complete message is refused.
fn run(session: &mut Session, mut input: &[u8]) {
    loop {
        let answer = match session.feed(&mut input) {
            None | Some(Action::Close(_)) => return,
            Some(Action::Flush) => {
                session.take_output();
                continue;
            }
            Some(Action::Accept(_)) => Answer::Refused(NO_ROOM),
            Some(_) => Answer::Granted,
        };
        session.resume(answer);
    }
}

#[test]
fn what_the_session_refuses_by_itself_is_counted_and_nothing_else_is() {
    let large = format!("DATA\r\n{}\r\n.\r\n", "x".repeat(2000));
    let large_header = format!("DATA\r\nA: {}\r\n\r\n.\r\n", "x".repeat(200));
    let chunk = format!("BDAT 1001 LAST\r\n{}", "x".repeat(1001));
    let after = format!("BDAT 600\r\n{0}BDAT 600 LAST\r\n{0}", "x".repeat(600));
    for (commands, too_large, too_many_recipients) in [
        ("RSET\r\nMAIL FROM:<> SIZE=1001\r\n", 1, 0),
        ("RSET\r\nMAIL FROM:<> SIZE=1000\r\n", 0, 0),
        (&large, 1, 0),
        (&large_header, 1, 0),
        (&chunk, 1, 0),
        (&after, 1, 0),
        ("BDAT 99999999999\r\n", 1, 0),
        ("RCPT TO:<b@x.test>\r\nRCPT TO:<c@x.test>\r\n", 0, 1),
        ("DATA\r\n\r\nhi\r\n.\r\n", 0, 0),
        ("NONSENSE\r\nRCPT TO:nonsense\r\nMAIL FROM:<>\r\n", 0, 0),
    ] {
        let mut session = session(SessionConfig {
            max_message_bytes: 1000,
            max_header_bytes: 100,
            max_recipients: 2,
            ..SessionConfig::default()
        });
        open(&mut session);
        run(&mut session, commands.as_bytes());
        let expected = OwnRefusals {
            too_large,
            too_many_recipients,
        };
        let begin = &commands[..commands.len().min(30)];
        assert_eq!(session.take_refusals(), expected, "{begin}");
        assert_eq!(session.take_refusals(), OwnRefusals::default(), "told once");
    }
}
