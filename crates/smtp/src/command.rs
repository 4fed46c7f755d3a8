//! The grammar of one complete command line (RFC 5321 section 4.1, RFC 1870, 3030, 4954, 6152, 6531).
//!
//! It is our own. smtp-proto 0.2.5 reads `<>` and `<Postmaster>` as the same, drops the quotes of local parts, ignores
//! what follows DATA or a chunk size, and lets a chunk size beyond 64 bits wrap around to a small one, after which the
//! body would run as commands. Where it reads a line as it should, a test compares with it.

use restante_model::{ForwardPath, ReversePath};

use crate::auth::Response;
use crate::chunk::ChunkKind;
use crate::path::{Path, PathError};
use crate::reply::{Enhanced, Reply};
use crate::transaction::{BodyType, MailParameters};
use crate::wording;

/// Octets of the name in HELO and EHLO, at most.
const HELO_MAX: usize = 255;

/// Methods of HTTP, and the first word of an HTTP/2 preface.
const HTTP_METHODS: [&[u8]; 10] = [
    b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT", b"PRI",
];

/// Commands that other servers have.
const FOREIGN: [&[u8]; 8] = [b"EXPN", b"TURN", b"ETRN", b"ATRN", b"SEND", b"SOML", b"SAML", b"BURL"];

/// A command with its arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command<'a> {
    Helo(&'a str),
    Ehlo(&'a str),
    Mail(ReversePath, MailParameters),
    Rcpt(ForwardPath),
    Data,
    Bdat(u64, ChunkKind),
    Rset,
    Noop,
    Quit,
    Vrfy,
    Help,
    StartTls,
    /// AUTH with all that follows it.
    Auth(Response<'a>),
}

/// Why a line is no command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing known.
    Unknown,
    /// A request of HTTP.
    Http,
    /// BDAT with a readable size and something wrong after it: so many bytes follow.
    Chunk(u64),
    /// BDAT without a readable size: nobody knows how many bytes follow.
    ChunkSize,
    /// A fault that ends with its reply.
    Refused(Reply),
}

/// Reads a line without its CRLF.
pub(crate) fn parse(line: &[u8]) -> Result<Command<'_>, Fault> {
    let verb_end = memchr::memchr(b' ', line).unwrap_or(line.len());
    let (verb, argument) = line.split_at(verb_end);
    let argument = trim_spaces(argument);
    let is = |name: &[u8]| verb.eq_ignore_ascii_case(name);
    let alone = |command| {
        if argument.is_empty() {
            Ok(command)
        } else {
            Err(Fault::Refused(wording::NO_ARGUMENT))
        }
    };
    match verb.len() {
        4 if is(b"MAIL") => mail(argument).map_err(Fault::Refused),
        4 if is(b"RCPT") => rcpt(argument).map_err(Fault::Refused),
        4 if is(b"DATA") => alone(Command::Data),
        4 if is(b"BDAT") => bdat(argument),
        4 if is(b"EHLO") => host(argument)
            .map(Command::Ehlo)
            .ok_or(Fault::Refused(wording::EHLO_SYNTAX)),
        4 if is(b"HELO") => host(argument)
            .map(Command::Helo)
            .ok_or(Fault::Refused(wording::HELO_SYNTAX)),
        4 if is(b"RSET") => alone(Command::Rset),
        4 if is(b"QUIT") => alone(Command::Quit),
        4 if is(b"NOOP") => Ok(Command::Noop),
        4 if is(b"HELP") => Ok(Command::Help),
        4 if is(b"VRFY") && argument.is_empty() => Err(Fault::Refused(wording::VRFY_SYNTAX)),
        4 if is(b"VRFY") => Ok(Command::Vrfy),
        4 if is(b"AUTH") => Ok(Command::Auth(Response(argument))),
        8 if is(b"STARTTLS") => alone(Command::StartTls),
        _ if FOREIGN.iter().any(|name| is(name)) => Err(Fault::Refused(wording::NOT_IMPLEMENTED)),
        _ if HTTP_METHODS.contains(&verb) && !argument.is_empty() => Err(Fault::Http),
        _ => Err(Fault::Unknown),
    }
}

/// Trims spaces and nothing else: a bare CR is no space.
fn trim_spaces(mut text: &[u8]) -> &[u8] {
    while let Some(rest) = text.strip_prefix(b" ") {
        text = rest;
    }
    while let Some(rest) = text.strip_suffix(b" ") {
        text = rest;
    }
    text
}

fn strip_keyword<'a>(text: &'a [u8], keyword: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = text.split_at_checked(keyword.len())?;
    head.eq_ignore_ascii_case(keyword).then(|| trim_spaces(rest))
}

/// The name of a client: one word that may stand in a header line and in a log.
///
/// It need not be a domain: clients in tests call themselves all sorts of things.
fn host(argument: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(argument).ok()?;
    let unfit = |c: char| c.is_control() || c.is_whitespace() || "()<>@,;\\\"".contains(c);
    (!name.is_empty() && name.len() <= HELO_MAX && !name.contains(unfit)).then_some(name)
}

fn mail(argument: &[u8]) -> Result<Command<'_>, Reply> {
    let text = strip_keyword(argument, b"FROM:").ok_or(wording::MAIL_SYNTAX)?;
    let (path, rest) = Path::parse(text).map_err(sender_refused)?;
    let parameters = mail_parameters(rest)?;
    let reverse_path = match path {
        Path::Null => ReversePath::Null,
        Path::Postmaster => return Err(sender_refused(PathError::At)),
        Path::Mailbox { local, domain } => ReversePath::Address(format!("{local}@{domain}")),
    };
    if !parameters.smtputf8 && !reverse_path.as_str().is_ascii() {
        return Err(wording::NEEDS_SMTPUTF8);
    }
    Ok(Command::Mail(reverse_path, parameters))
}

fn sender_refused(error: PathError) -> Reply {
    Reply::new(501, Enhanced(5, 1, 7), &format!("Sender address is {error}"))
}

fn mail_parameters(text: &[u8]) -> Result<MailParameters, Reply> {
    let mut parameters = MailParameters::default();
    if !text.is_empty() && !text.starts_with(b" ") {
        return Err(wording::MAIL_SYNTAX);
    }
    for parameter in text.split(|&b| b == b' ').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = match memchr::memchr(b'=', parameter) {
            Some(at) => (&parameter[..at], Some(&parameter[at + 1..])),
            None => (parameter, None),
        };
        if name.eq_ignore_ascii_case(b"SIZE") {
            parameters.size = value.and_then(number).ok_or(wording::SIZE_SYNTAX)?;
        } else if name.eq_ignore_ascii_case(b"BODY") {
            parameters.body = value.and_then(body_type).ok_or(wording::BODY_SYNTAX)?;
        } else if name.eq_ignore_ascii_case(b"SMTPUTF8") && value.is_none() {
            parameters.smtputf8 = true;
        } else if name.eq_ignore_ascii_case(b"AUTH") {
            parameters.auth = value.is_some_and(is_auth_value);
            if !parameters.auth {
                return Err(wording::AUTH_PARAMETER_SYNTAX);
            }
        } else {
            return Err(wording::unsupported_parameter(name));
        }
    }
    Ok(parameters)
}

fn body_type(value: &[u8]) -> Option<BodyType> {
    if value.eq_ignore_ascii_case(b"7BIT") {
        Some(BodyType::SevenBit)
    } else if value.eq_ignore_ascii_case(b"8BITMIME") {
        Some(BodyType::EightBitMime)
    } else {
        None
    }
}

/// `<>`, or an address as xtext (RFC 4954 section 5, RFC 3461 section 4).
fn is_auth_value(value: &[u8]) -> bool {
    value == b"<>" || (!value.is_empty() && value.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'='))
}

/// A decimal number; one beyond 64 bits is the highest there is, which every limit refuses.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let append = |value: u64, digit: &u8| value.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    Some(digits.iter().fold(0, append))
}

fn rcpt(argument: &[u8]) -> Result<Command<'_>, Reply> {
    let text = strip_keyword(argument, b"TO:").ok_or(wording::RCPT_SYNTAX)?;
    let refused = |error: PathError| Reply::new(501, Enhanced(5, 1, 3), &format!("Recipient address is {error}"));
    let (path, rest) = Path::parse(text).map_err(refused)?;
    match rest.split_first() {
        None => {}
        Some((b' ', parameters)) => return Err(wording::unsupported_parameter(trim_spaces(parameters))),
        Some(_) => return Err(wording::RCPT_SYNTAX),
    }
    Ok(Command::Rcpt(match path {
        Path::Null => return Err(refused(PathError::At)),
        Path::Postmaster => ForwardPath::Postmaster,
        Path::Mailbox { local, domain } => ForwardPath::Mailbox {
            local: local.to_owned(),
            domain: domain.to_owned(),
        },
    }))
}

fn bdat(argument: &[u8]) -> Result<Command<'_>, Fault> {
    let size_end = memchr::memchr(b' ', argument).unwrap_or(argument.len());
    let (size, rest) = argument.split_at(size_end);
    let size = number(size).ok_or(Fault::ChunkSize)?;
    match trim_spaces(rest) {
        b"" => Ok(Command::Bdat(size, ChunkKind::Inner)),
        last if last.eq_ignore_ascii_case(b"LAST") => Ok(Command::Bdat(size, ChunkKind::Last)),
        _ => Err(Fault::Chunk(size)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use smtp_proto::Request;

    use super::*;

    #[test]
    fn numbers_saturate_and_have_digits_only() {
        for (text, value) in [
            ("0", Some(0)),
            ("007", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", Some(u64::MAX)),
            ("184467440737095516160", Some(u64::MAX)),
            ("", None),
            ("+1", None),
            ("-1", None),
            ("1.", None),
            ("٣", None),
        ] {
            assert_eq!(number(text.as_bytes()), value, "{text}");
        }
    }

    #[test]
    fn parameters_of_mail_are_read() {
        let parse = |text: &str| match parse(text.as_bytes()) {
            Ok(Command::Mail(path, parameters)) => (path, parameters),
            other => panic!("{text}: {other:?}"),
        };
        let (path, parameters) = parse("MAIL FROM:<a@b.test> SMTPUTF8 SIZE=12 BODY=8BITMIME");
        assert_eq!(path, ReversePath::Address("a@b.test".into()));
        assert_eq!(
            parameters,
            MailParameters {
                size: 12,
                body: BodyType::EightBitMime,
                smtputf8: true,
                auth: false
            }
        );
        assert_eq!(parse("MAIL FROM:<>"), (ReversePath::Null, MailParameters::default()));
    }

    /// Command lines that a grammar of others should read as ours does: no quotes, no more than 18 digits.
    fn plain_line() -> impl Strategy<Value = String> {
        let address = "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]{1,8}@[a-z]{1,8}(\\.[a-z]{1,5}){0,2}";
        prop_oneof![
            (address, 0..10_u64.pow(18)).prop_map(|(address, size)| format!("MAIL FROM:<{address}> SIZE={size}")),
            address.prop_map(|address| format!("mail from:<{address}> BODY=8BITMIME SMTPUTF8")),
            address.prop_map(|address| format!("RCPT TO:<{address}>")),
            address.prop_map(|address| format!("rcpt to:<@a.test,@b.test:{address}>")),
            "(EHLO|HELO) [a-z.-]{1,20}",
            "EHLO \\[[0-9.]{1,12}\\]",
            (0..10_u64.pow(18)).prop_map(|size| format!("BDAT {size}")),
            (0..10_u64.pow(18)).prop_map(|size| format!("bdat {size} LAST")),
            "(DATA|RSET|QUIT|NOOP|HELP|STARTTLS|VRFY bob)",
        ]
    }

    /// The same command in the words of the other grammar.
    fn meaning(request: &Request<std::borrow::Cow<'_, str>>) -> Command<'static> {
        let size = |size: usize| size as u64;
        match request {
            Request::Mail { from } => {
                let eight_bit = from.flags & smtp_proto::MAIL_BODY_8BITMIME != 0;
                let parameters = MailParameters {
                    size: size(from.size),
                    body: if eight_bit {
                        BodyType::EightBitMime
                    } else {
                        BodyType::SevenBit
                    },
                    smtputf8: from.flags & smtp_proto::MAIL_SMTPUTF8 != 0,
                    auth: false,
                };
                Command::Mail(ReversePath::Address(from.address.to_string()), parameters)
            }
            Request::Rcpt { to } => {
                let (local, domain) = to.address.rsplit_once('@').unwrap();
                Command::Rcpt(ForwardPath::Mailbox {
                    local: local.into(),
                    domain: domain.into(),
                })
            }
            Request::Bdat {
                chunk_size,
                is_last: true,
            } => Command::Bdat(size(*chunk_size), ChunkKind::Last),
            Request::Bdat {
                chunk_size,
                is_last: false,
            } => Command::Bdat(size(*chunk_size), ChunkKind::Inner),
            Request::Ehlo { host } => Command::Ehlo(host.to_string().leak()),
            Request::Helo { host } => Command::Helo(host.to_string().leak()),
            Request::Data => Command::Data,
            Request::Rset => Command::Rset,
            Request::Quit => Command::Quit,
            Request::Noop { .. } => Command::Noop,
            Request::Help { .. } => Command::Help,
            Request::StartTls => Command::StartTls,
            Request::Vrfy { .. } => Command::Vrfy,
            other => panic!("{other:?} is no command of ours"),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn another_grammar_reads_plain_lines_alike(line in plain_line()) {
            let wire = format!("{line}\r\n");
            let theirs = Request::parse(&mut wire.as_bytes().iter()).expect("a plain line");
            prop_assert_eq!(parse(line.as_bytes()), Ok(meaning(&theirs)));
        }
    }
}
