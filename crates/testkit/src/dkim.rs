//! A DKIM signer for tests (RFC 6376), made to be obvious rather than fast: every step builds a new vector.
//!
//! It shares no code with what it tests, the keys' mathematics aside.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A key of a domain.
#[derive(Debug)]
pub enum DkimKey {
    /// For `rsa-sha256`.
    Rsa(Box<RsaKeyPair>),
    /// For `ed25519-sha256` (RFC 8463).
    Ed25519(Ed25519KeyPair),
}

impl DkimKey {
    /// A new RSA key of 2048 bits.
    ///
    /// # Panics
    /// If the system has no random numbers.
    pub fn rsa() -> Self {
        Self::Rsa(Box::new(
            RsaKeyPair::generate(KeySize::Rsa2048).expect("a key can be made"),
        ))
    }

    /// A new Ed25519 key.
    ///
    /// # Panics
    /// If the system has no random numbers.
    pub fn ed25519() -> Self {
        Self::Ed25519(Ed25519KeyPair::generate().expect("a key can be made"))
    }

    /// The text of the key's TXT record.
    pub fn record(&self) -> String {
        match self {
            Self::Rsa(_) => format!("v=DKIM1; k=rsa; p={}", self.public()),
            Self::Ed25519(_) => format!("v=DKIM1; k=ed25519; p={}", self.public()),
        }
    }

    /// The public key as `p=` has it.
    ///
    /// # Panics
    /// Never: the key has been made here.
    pub fn public(&self) -> String {
        match self {
            Self::Rsa(key) => {
                let der: PublicKeyX509Der<'_> = key.public_key().as_der().expect("an RSA key has a DER form");
                STANDARD.encode(der.as_ref())
            }
            Self::Ed25519(key) => STANDARD.encode(key.public_key().as_ref()),
        }
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa(_) => "rsa-sha256",
            Self::Ed25519(_) => "ed25519-sha256",
        }
    }

    fn sign(&self, signed: &[u8]) -> Vec<u8> {
        match self {
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed, &mut signature)
                    .expect("a key can sign");
                signature
            }
            // RFC 8463 section 3: what is signed is the hash.
            Self::Ed25519(key) => key.sign(digest(&SHA256, signed).as_ref()).as_ref().to_vec(),
        }
    }
}

/// A canonical form (RFC 6376 section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As it is.
    Simple,
    /// White space and the case of names do not matter.
    Relaxed,
}

impl Form {
    fn word(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Relaxed => "relaxed",
        }
    }
}

/// What a signature says.
#[derive(Debug, Clone)]
pub struct Signer {
    /// `d=`
    pub domain: String,
    /// `s=`
    pub selector: String,
    /// First half of `c=`.
    pub header: Form,
    /// Second half of `c=`.
    pub body: Form,
    /// `h=`
    pub fields: Vec<String>,
    /// `l=`
    pub limit: Option<usize>,
    /// More tags, for example `t=1; x=2`.
    pub more: String,
}

impl Signer {
    /// A signer of From, To and Subject, both forms relaxed.
    pub fn new(domain: &str, selector: &str) -> Self {
        Self {
            domain: domain.to_owned(),
            selector: selector.to_owned(),
            header: Form::Relaxed,
            body: Form::Relaxed,
            fields: ["From", "To", "Subject"].map(str::to_owned).into(),
            limit: None,
            more: String::new(),
        }
    }

    /// The message with its signature on top.
    ///
    /// # Panics
    /// If the message has no empty line.
    pub fn sign(&self, key: &DkimKey, message: &[u8]) -> Vec<u8> {
        let (head, body) = cut(message);
        let unsigned = format!(" {}", self.tags(key, &body_hash(body, self.body, self.limit)));
        let mut signed = Vec::new();
        for (name, value) in selected(head, &self.fields) {
            signed.extend(field(&name, &value, self.header));
        }
        let own = field("DKIM-Signature", &unsigned, self.header);
        signed.extend(own.strip_suffix(b"\r\n").unwrap_or(&own));
        let value = STANDARD.encode(key.sign(&signed));
        [format!("DKIM-Signature:{unsigned}{value}\r\n").as_bytes(), message].concat()
    }

    fn tags(&self, key: &DkimKey, body_hash: &str) -> String {
        let limit = self.limit.map_or(String::new(), |limit| format!("l={limit}; "));
        let more = if self.more.is_empty() {
            String::new()
        } else {
            format!("{}; ", self.more)
        };
        format!(
            "v=1; a={}; c={}/{}; d={}; s={};\r\n\t{limit}{more}h={};\r\n\tbh={body_hash};\r\n\tb=",
            key.algorithm(),
            self.header.word(),
            self.body.word(),
            self.domain,
            self.selector,
            self.fields.join(":"),
        )
    }
}

fn cut(message: &[u8]) -> (&str, &[u8]) {
    let end = message
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .expect("a message has an empty line");
    let head = std::str::from_utf8(&message[..end + 2]).expect("the header of a test's message is text");
    (head, &message[end + 4..])
}

fn body_hash(body: &[u8], form: Form, limit: Option<usize>) -> String {
    let mut lines: Vec<Vec<u8>> = body
        .split(|&byte| byte == b'\n')
        .map(|line| line_of(line, form))
        .collect();
    while lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    let mut canonical: Vec<u8> = lines.iter().flat_map(|line| [line, &b"\r\n"[..]].concat()).collect();
    if canonical.is_empty() && form == Form::Simple {
        canonical = b"\r\n".to_vec();
    }
    canonical.truncate(limit.unwrap_or(usize::MAX));
    STANDARD.encode(digest(&SHA256, &canonical).as_ref())
}

fn line_of(line: &[u8], form: Form) -> Vec<u8> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match form {
        Form::Simple => line.to_vec(),
        Form::Relaxed => single_spaces(line),
    }
}

/// Runs of white space become one space, and none is left at the end.
fn single_spaces(line: &[u8]) -> Vec<u8> {
    let mut kept: Vec<u8> = Vec::new();
    for &byte in line {
        let is_space = byte == b' ' || byte == b'\t';
        if !is_space {
            kept.push(byte);
        } else if kept.last() != Some(&b' ') {
            kept.push(b' ');
        }
    }
    kept.strip_suffix(b" ").map(<[u8]>::to_vec).unwrap_or(kept)
}

/// The fields of a header, by name, each mention the next one from the bottom.
fn selected(head: &str, names: &[String]) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in head.split_inclusive("\r\n") {
        match fields.last_mut() {
            Some((_, value)) if line.starts_with([' ', '\t']) => value.push_str(line),
            _ => {
                let (name, value) = line.split_once(':').expect("a field has a colon");
                fields.push((name.to_owned(), value.to_owned()));
            }
        }
    }
    let mut taken = Vec::new();
    for name in names {
        let last = fields.iter().rposition(|(known, _)| known.eq_ignore_ascii_case(name));
        if let Some(index) = last {
            taken.push(fields.remove(index));
        }
    }
    taken
}

fn field(name: &str, value: &str, form: Form) -> Vec<u8> {
    match form {
        Form::Simple => format!("{name}:{value}").into_bytes(),
        Form::Relaxed => {
            let unfolded = value.replace("\r\n", "");
            let value = single_spaces(unfolded.trim_start().as_bytes());
            [name.trim().to_lowercase().as_bytes(), b":", &value, b"\r\n"].concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_6376_section_3_4_5() {
        let head = "A: X\r\nB : Y\t\r\n\tZ  \r\n";
        let names = ["a", "b "].map(str::to_owned);
        let canonical: Vec<u8> = selected(head, &names)
            .iter()
            .flat_map(|(name, value)| field(name, value, Form::Relaxed))
            .collect();
        assert_eq!(canonical, b"a:X\r\nb:Y Z\r\n");
    }

    #[test]
    fn the_hashes_of_empty_bodies_are_those_of_rfc_6376() {
        assert_eq!(
            body_hash(b"", Form::Simple, None),
            "frcCV1k9oG9oKj3dpUqdJg1PxRT2RSN/XKdLCPjaYaY="
        );
        assert_eq!(
            body_hash(b"\r\n", Form::Relaxed, None),
            "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        );
    }

    #[test]
    fn a_signed_message_is_the_message_with_a_field() {
        let message = b"From: a@example.test\r\nSubject: x\r\n\r\nbody\r\n";
        let signed = Signer::new("example.test", "sel").sign(&DkimKey::ed25519(), message);
        assert!(
            signed.starts_with(b"DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed; d=example.test; s=sel;")
        );
        assert!(signed.ends_with(message));
    }
}
