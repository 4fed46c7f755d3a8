//! Addresses: the paths of SMTP, the addresses of inboxes, the lists in headers.
//!
//! No head: the input is the address.

use restante_model::address::{ADDRESS_MAX, DOMAIN_MAX, LOCAL_PART_MAX};
use restante_model::{Domain, ForwardPath, InboxAddress, ReversePath};
use restante_smtp::SessionConfig;

use crate::driver::{Question, Script};
use crate::promise;
use crate::wire::Wire;

/// Reads bytes as an address everywhere that one may stand.
///
/// # Panics
/// - An address that was read and written is read as another.
/// - One has a control character, or is longer than it may be.
/// - What every message promises is broken.
pub fn run(input: &[u8]) {
    paths(input);
    if let Ok(text) = std::str::from_utf8(input) {
        inbox(text);
    }
    list(input);
}

/// MAIL and RCPT take the same path the same way, and what they take they take again.
fn paths(input: &[u8]) {
    let (sender, recipient) = taken(input);
    if let Some(path) = recipient {
        assert!(!path.to_string().contains(char::is_control));
        if let ForwardPath::Mailbox { local, domain } = &path {
            assert!((1..=LOCAL_PART_MAX).contains(&local.len()) && (1..=DOMAIN_MAX).contains(&domain.len()));
            assert_eq!(
                sender,
                Some(ReversePath::Address(path.to_string())),
                "MAIL reads another path than RCPT"
            );
        }
        let default = Domain::parse("restante.test").expect("a domain");
        if let Some(inbox) = path.inbox_address(&default) {
            assert_eq!(InboxAddress::parse_exact(inbox.as_str()), Ok(inbox));
        }
        assert_eq!(taken(path.to_string().as_bytes()).1, Some(path));
    }
    if let Some(path) = sender {
        assert_eq!(taken(path.as_str().as_bytes()).0, Some(path));
    }
}

/// What a session takes between angle brackets for a sender, and for a recipient.
fn taken(path: &[u8]) -> (Option<ReversePath>, Option<ForwardPath>) {
    let script = Script::of(SessionConfig::default());
    let ask = |wire: &[&[u8]]| script.run(&Wire::plain(wire.concat()), &[]);
    let sent = ask(&[
        b"EHLO x\r\nMAIL FROM:<",
        path,
        b"> SMTPUTF8\r\nRCPT TO:<bob@x.test>\r\nBDAT 0 LAST\r\n",
    ]);
    let asked = ask(&[b"EHLO x\r\nMAIL FROM:<> SMTPUTF8\r\nRCPT TO:<", path, b">\r\n"]);
    let recipient = asked.asked.into_iter().find_map(|question| match question {
        Question::Verify(recipient) => Some(recipient),
        _ => None,
    });
    let sender = sent
        .accepted
        .into_iter()
        .next()
        .map(|transaction| transaction.reverse_path);
    (sender, recipient)
}

fn inbox(text: &str) {
    if let Ok(domain) = Domain::parse(text) {
        assert_eq!(Domain::parse(domain.as_str()), Ok(domain));
    }
    if let Ok(address) = InboxAddress::parse(text) {
        assert!(address.as_str().len() <= ADDRESS_MAX && !address.as_str().contains('+'));
        assert!(
            address
                .as_str()
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase())
        );
        assert_eq!(InboxAddress::parse_exact(address.as_str()), Ok(address.clone()));
        assert_eq!(InboxAddress::parse(address.as_str()), Ok(address));
    }
}

/// A mailbox with a plain address that is shown and read again is the same mailbox.
fn list(input: &[u8]) {
    let one_line: Vec<u8> = input.iter().copied().filter(|byte| !b"\r\n".contains(byte)).collect();
    let message = promise::kept(&[b"To: ", &one_line[..], b"\r\n\r\n"].concat());
    for mailbox in message.to_mailboxes.iter().filter(|mailbox| is_plain(&mailbox.address)) {
        let name = mailbox.name.clone().unwrap_or_default();
        // A name may have become an encoded word only by decoding; it would be decoded once more.
        if name.contains("=?") {
            continue;
        }
        let again = promise::kept(format!("To: {mailbox}\r\n\r\n").as_bytes()).to_mailboxes;
        let [again] = &again[..] else {
            panic!("{mailbox} is read as {again:?}");
        };
        assert_eq!(again.address, mailbox.address, "{mailbox}");
        assert_eq!(
            words(&again.name.clone().unwrap_or_default()),
            words(&name),
            "{mailbox}"
        );
    }
}

fn words(name: &str) -> Vec<&str> {
    name.split_whitespace().collect()
}

/// Whether an address is a dot-atom, an `@` and a domain name, as nearly all are.
fn is_plain(address: &str) -> bool {
    let is_atom = |text: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c);
        !text.is_empty() && text.chars().all(fits)
    };
    !address.contains("=?")
        && address
            .split_once('@')
            .is_some_and(|(local, domain)| is_atom(local) && is_atom(domain))
}
