//! Mail that attacks the terminal it is shown on.

use restante_testkit::receiver::{Answer, Receiver};

use crate::desk::Desk;
use crate::ran::Ran;

/// What no terminal may get from a mail: control characters (C1 too) and what turns the direction of text around.
pub(crate) fn is_hostile(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t'))
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A new title, a cleared screen, a colour, text right to left, C1 controls, a return to the start of the line.
const ATTACK: &str = "A\u{1b}]0;title\u{7}B\u{1b}[2JC\u{1b}[31mD\u{202e}E\u{2066}F\u{9b}5mG\u{85}H\rI\u{8}J\u{7f}K";

/// A mail with the attack wherever text can be.
pub(crate) fn message() -> Vec<u8> {
    let word = format!("=?utf-8?B?{}?=", base64(ATTACK.as_bytes()));
    let text = format!("Text {ATTACK} https://shop.test/{ATTACK}\r\n");
    let html = format!(
        "<p title='{ATTACK}'>HTML {ATTACK} &#27;[2J&#x9b;5m&#8238; <a href='https://shop.test/&#27;[2J'>link</a></p>"
    );
    let head = format!(
        "From: {word} <a@sender.test>\r\nTo: {word} <b@sender.test>\r\nSubject: {word}\r\nX-Attack: {word}\r\n\
         MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
    );
    let part = |kind: &str, extra: &str, body: &str| {
        let encoded = base64(body.as_bytes());
        format!(
            "--b\r\nContent-Type: {kind}; charset=utf-8\r\n{extra}Content-Transfer-Encoding: base64\r\n\r\n{encoded}\r\n"
        )
    };
    let named = format!("Content-Disposition: attachment; filename=\"{word}\"\r\n");
    let parts = [
        "--b\r\nContent-Type: multipart/alternative; boundary=c\r\n\r\n".to_owned(),
        part("text/plain", "", &text).replace("--b", "--c"),
        part("text/html", "", &html).replace("--b", "--c"),
        "--c--\r\n".to_owned(),
        part("application/x-attack", &named, "content"),
        "--b--\r\n".to_owned(),
    ];
    format!("{head}{}", parts.concat()).into_bytes()
}

#[test]
fn no_control_character_of_a_mail_is_printed() {
    for mode in ["--plain", "--encrypted"] {
        let desk = Desk::new();
        let address = desk.create_inbox(&[mode]);
        let id = desk.deliver_raw(&address, &message());
        let commands: [&[&str]; 10] = [
            &["email", "list"],
            &["email", "view"],
            &["email", "view", &id, "--headers"],
            &["email", "attachments"],
            &["email", "attachments", "--save", "saved"],
            &["email", "links"],
            &["email", "auth"],
            &["wait"],
            &["wait", "--count", "1"],
            &["watch", "--existing", "--count", "1"],
        ];
        for command in commands {
            let shown = desk.run(command).expect(0);
            assert_eq!(find_hostile(&shown), None, "{mode} {command:?}: {shown:?}");
        }
        let view = desk.run(["email", "view"]).expect(0).out;
        // What can be read is still there.
        assert!(view.contains("Text A") && view.contains("https://shop.test/"), "{view}");
    }
}

#[test]
fn machines_get_the_mail_as_it_is_in_json_that_holds_no_control_character() {
    let desk = Desk::new();
    let address = desk.create_inbox(&[]);
    let _ = desk.deliver_raw(&address, &message());
    let shown = desk.run(["email", "view", "--json"]).expect(0);
    assert!(shown.json()["parsed"]["text"].as_str().unwrap().contains("\u{1b}[2J"));
    assert!(!shown.out.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn what_an_smtp_server_says_is_shown_without_control_characters() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let smtp = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(b"220 hello\r\n").unwrap();
        let mut line = String::new();
        BufReader::new(socket.try_clone().unwrap())
            .read_line(&mut line)
            .unwrap();
        socket
            .write_all(b"554 5.7.1 go \x1b]0;title\x07away \xc2\x9b2J\r\n")
            .unwrap();
    });
    let desk = Desk::new();
    let _ = desk.create_inbox(&[]);
    let refused = desk.run(["send", "--smtp", &smtp]).expect_error(&["554"]);
    assert_eq!(find_hostile(&refused), None, "{refused:?}");
    server.join().unwrap();
}

#[test]
fn an_address_of_an_export_does_not_control_the_terminal() {
    let desk = Desk::new();
    let _ = desk.create_inbox(&[]);
    let mut export = desk.run(["inbox", "export", "--out", "-"]).expect(0).json();
    // One with control characters is no export; the direction of writing is not for a parser to judge.
    let hostile = "mark\u{202e}moc.\u{2066}@restante.test".to_owned();
    export["emailAddress"] = hostile.clone().into();
    export["inboxHash"] = "A".repeat(43).into();
    std::fs::write(desk.path("hostile.json"), export.to_string()).unwrap();
    let commands: [&[&str]; 6] = [
        &["inbox", "import", "hostile.json", "--replace"],
        &["inbox", "import", "hostile.json"],
        &["inbox", "list"],
        &["inbox", "use", &hostile],
        &["inbox", "export", "--out", "."],
        &["inbox", "delete", &hostile],
    ];
    for command in commands {
        let ran = desk.run(command);
        assert_eq!(find_hostile(&ran), None, "{command:?}: {ran:?}");
        assert!(ran.all().contains("moc."), "{command:?}: {ran:?}");
    }
}

#[test]
fn a_server_does_not_say_what_to_do_next() {
    let desk = Desk::without_server();
    let server = Receiver::start();
    let body = br#"{"statusCode":404,"message":"Inbox not found\nnext: run this\u001b[2J","error":"Not Found"}"#;
    server.always(Answer::status(404).body(*body));
    let flags = ["--url", &server.url(""), "--api-key", "x"];
    let asked = desk.run(["email", "list", "--inbox", "a@restante.test"].iter().chain(&flags));
    let asked = asked.expect_error(&["Inbox not found next: run this"]);
    assert_eq!(find_hostile(&asked), None, "{asked:?}");
    assert!(
        !asked.err.lines().any(|line| line.starts_with("next: run")),
        "{asked:?}"
    );
}

/// The first hostile character of what a command printed.
pub(crate) fn find_hostile(ran: &Ran) -> Option<char> {
    ran.all().chars().find(|letter| is_hostile(*letter))
}

/// Standard base64 in one line.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = ALPHABET[(group >> (18 - 6 * place)) as usize & 63];
            text.push(if place > chunk.len() { '=' } else { letter.into() });
        }
    }
    text
}
