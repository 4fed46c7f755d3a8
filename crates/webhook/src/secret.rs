//! The secret of a webhook.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_envelope::digest::{ct_eq, random_bytes};
use zeroize::Zeroizing;

/// What every secret begins with.
const PREFIX: &str = "whsec_";
/// Characters after the prefix: a multiple of four, so that they are base64 without padding.
const CHARACTERS: usize = 44;
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// What the deliveries of a webhook are signed with: `whsec_` and 44 random letters and digits.
///
/// It is wiped when it is dropped, compared in constant time, and never shown but by [`WebhookSecret::expose`].
///
/// Source: docs/spec/decisions.md, section 7.
#[derive(Clone)]
pub struct WebhookSecret(Zeroizing<String>);

impl WebhookSecret {
    /// A new secret.
    pub fn generate() -> Self {
        let mut text = Zeroizing::new(String::with_capacity(PREFIX.len() + CHARACTERS));
        text.push_str(PREFIX);
        while text.len() < PREFIX.len() + CHARACTERS {
            let [byte] = random_bytes();
            text.extend(character(byte));
        }
        Self(text)
    }

    /// Takes what [`WebhookSecret::expose`] gave.
    pub fn parse(text: &str) -> Option<Self> {
        let random = text.strip_prefix(PREFIX)?;
        let is_secret = random.len() == CHARACTERS && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_secret.then(|| Self(Zeroizing::new(text.to_owned())))
    }

    /// The whole text, for its owner and for storage.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The key of `X-Vault-Signature`: the whole text, prefix included.
    pub(crate) fn vault_key(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The key of `webhook-signature`: the 33 bytes that the random characters are the base64 of, as the libraries of
    /// Standard Webhooks read a secret.
    pub(crate) fn standard_key(&self) -> Zeroizing<Vec<u8>> {
        let random = &self.0[PREFIX.len()..];
        Zeroizing::new(STANDARD.decode(random).expect("44 letters and digits are base64"))
    }
}

/// One of 62 characters, each as likely as the others; none for the bytes that are left over.
fn character(byte: u8) -> Option<char> {
    let is_fair = usize::from(byte) < 256 / ALPHABET.len() * ALPHABET.len();
    is_fair.then(|| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]))
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(..)")
    }
}

impl PartialEq for WebhookSecret {
    fn eq(&self, other: &Self) -> bool {
        ct_eq(self.0.as_bytes(), other.0.as_bytes())
    }
}

impl Eq for WebhookSecret {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_secret_reads_back_and_differs_from_the_next() {
        let secret = WebhookSecret::generate();
        assert_eq!(secret.expose().len(), 50);
        assert_eq!(WebhookSecret::parse(secret.expose()).unwrap(), secret);
        assert_ne!(WebhookSecret::generate(), secret);
        assert_eq!(secret.standard_key().len(), 33);
    }

    #[test]
    fn every_character_is_equally_likely() {
        let mut counts = [0; 128];
        for character in (0..=255).filter_map(character) {
            counts[character as usize] += 1;
        }
        for character in ALPHABET {
            assert_eq!(counts[usize::from(*character)], 4, "{character}");
        }
    }

    #[test]
    fn other_texts_are_no_secrets() {
        let secret = format!("whsec_{}", "aB3d".repeat(11));
        assert!(WebhookSecret::parse(&secret).is_some());
        for text in [
            "",
            "whsec_",
            &secret[..49],
            &format!("{secret}a"),
            &secret.replace("whsec_", "WHSEC_"),
            &secret.replacen('B', "+", 1),
            &secret.replacen('B', "=", 1),
            &secret.replacen("aB", "ä", 1),
        ] {
            assert!(WebhookSecret::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn it_is_not_shown() {
        assert_eq!(format!("{:?}", WebhookSecret::generate()), "WebhookSecret(..)");
    }
}
