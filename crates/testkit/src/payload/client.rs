//! The client's side of a payload, by the same libraries as the builder: what the server seals must open here.

use aws_lc_rs::aead;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fips203::ml_kem_768;
use fips203::traits::{Decaps as _, SerDes as _};
use serde_json::Value;

use super::{KemSeeds, aes_key};

/// The key derivation of the `service` wire profile.
const CONTEXT: &str = "service:email:v1";

/// A client with a key pair that its number alone decides.
#[derive(Debug, Clone, Copy)]
pub struct Client(KemSeeds);

impl Client {
    /// The client of this number; another number is another key.
    pub fn numbered(number: u64) -> Self {
        let mut seed = [0x5a; 32];
        seed[..8].copy_from_slice(&number.to_be_bytes());
        Self(KemSeeds { d: seed, z: [3; 32] })
    }

    /// The 1184 bytes of its encapsulation key, in base64url.
    pub fn public_key(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0.pair().0.into_bytes())
    }

    /// The plaintext of a payload in the `service` profile; the signature is not looked at.
    ///
    /// `None` if it is no payload for this client, or not as it was sealed.
    pub fn open(&self, payload: &Value) -> Option<Vec<u8>> {
        let field = |name: &str| URL_SAFE_NO_PAD.decode(payload[name].as_str()?).ok();
        let (ct_kem, nonce, aad) = (field("ct_kem")?, field("nonce")?, field("aad")?);
        let encapsulated = ml_kem_768::CipherText::try_from_bytes(ct_kem.as_slice().try_into().ok()?).ok()?;
        let shared_secret = self.0.pair().1.try_decaps(&encapsulated).ok()?;
        let key = aes_key(&shared_secret.into_bytes(), &ct_kem, CONTEXT, &aad);
        let key = aead::LessSafeKey::new(aead::UnboundKey::new(&aead::AES_256_GCM, &key).ok()?);
        let nonce = aead::Nonce::try_assume_unique_for_key(&nonce).ok()?;
        let mut text = field("ciphertext")?;
        let length = key.open_in_place(nonce, aead::Aad::from(aad), &mut text).ok()?.len();
        text.truncate(length);
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Recipe, seal};
    use super::*;

    #[test]
    fn a_client_opens_what_was_sealed_for_it_and_nothing_else() {
        let client = Client::numbered(7);
        let recipe = Recipe {
            recipient: client.0,
            encapsulation: [4; 32],
            nonce: [5; 12],
            context: CONTEXT,
            aad: b"service:raw",
            plaintext: b"hello",
        };
        let sealed = seal(&recipe, Vec::new());
        let mut payload = serde_json::json!({
            "ct_kem": URL_SAFE_NO_PAD.encode(&sealed.ct_kem),
            "nonce": URL_SAFE_NO_PAD.encode(&sealed.nonce),
            "aad": URL_SAFE_NO_PAD.encode(&sealed.aad),
            "ciphertext": URL_SAFE_NO_PAD.encode(&sealed.ciphertext),
        });
        assert_eq!(client.open(&payload).as_deref(), Some(&b"hello"[..]));
        assert_eq!(Client::numbered(8).open(&payload), None);
        payload["aad"] = "AAAA".into();
        assert_eq!(client.open(&payload), None);
    }
}
