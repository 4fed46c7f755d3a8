//! From seeds to a vector: seal, sign, and spoil on the way.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

use super::object::Object;
use super::{KemSeeds, Recipe, Sealed, Seed, seal, server_public_key, sign, transcript};

/// What a reader must answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expect {
    /// The plaintext.
    Success,
    /// A refusal of shape, version, algorithms or sizes.
    Malformed,
    /// A refusal because the server key is not the pinned one.
    KeyMismatch,
    /// A refusal of the signature.
    Signature,
    /// A refusal to decrypt.
    Decryption,
}

/// The constants of a wire profile, spelled out once more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Profile {
    pub(super) name: &'static str,
    pub(super) context: &'static str,
    aad_prefix: &'static str,
}

pub(super) const SERVICE: Profile = Profile {
    name: "service",
    context: "service:email:v1",
    aad_prefix: "service:",
};
pub(super) const VAULT_SANDBOX: Profile = Profile {
    name: "vaultsandbox",
    context: "vaultsandbox:email:v1",
    aad_prefix: "vaultsandbox:",
};

/// The seeds of a scenario, all named in its vector.
#[derive(Debug, Clone)]
pub(super) struct Seeds {
    /// The key pair that the payload is sealed to.
    pub(super) recipient: KemSeeds,
    /// The key pair of who reads it.
    pub(super) reader: KemSeeds,
    pub(super) encapsulation: Seed,
    pub(super) nonce: [u8; 12],
    /// The key pair that signs.
    pub(super) server: Seed,
    /// The key pair that the reader pinned.
    pub(super) pinned: Seed,
    pub(super) signature: Seed,
}

impl Seeds {
    /// One client and one server for all scenarios, and randomness that differs from scenario to scenario.
    fn named(scenario: &str) -> Self {
        let client = client_seeds("client");
        let nonce = seed(&format!("{scenario}: nonce"));
        Self {
            recipient: client,
            reader: client,
            encapsulation: seed(&format!("{scenario}: encapsulation")),
            nonce: nonce[..12].try_into().expect("12 of 32 bytes"),
            server: seed("server: xi"),
            pinned: seed("server: xi"),
            signature: seed(&format!("{scenario}: signature")),
        }
    }
}

/// The seeds of a client of this name.
pub(super) fn client_seeds(name: &str) -> KemSeeds {
    KemSeeds {
        d: seed(&format!("{name}: d")),
        z: seed(&format!("{name}: z")),
    }
}

/// The seed of this name.
pub(super) fn seed(name: &str) -> Seed {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, name.as_bytes());
    digest.as_ref().try_into().expect("SHA-256 makes 32 bytes")
}

/// A payload in the making.
pub(super) struct Scenario {
    name: String,
    about: String,
    profile: Profile,
    part: &'static str,
    pub(super) seeds: Seeds,
    pub(super) plaintext: Vec<u8>,
    pub(super) aad: Vec<u8>,
    /// The context of the key derivation; that of the profile unless spoiled.
    pub(super) kdf_context: &'static str,
    /// The context of the transcript; that of the profile unless spoiled.
    pub(super) signed_context: &'static str,
    /// The FIPS 204 context string; empty unless spoiled.
    pub(super) fips_context: &'static [u8],
}

impl Scenario {
    pub(super) fn new(name: &str, about: &str) -> Self {
        Self::of(SERVICE, "metadata", name, about)
    }

    pub(super) fn of(profile: Profile, part: &'static str, name: &str, about: &str) -> Self {
        Self {
            name: name.to_owned(),
            about: about.to_owned(),
            profile,
            part,
            seeds: Seeds::named(name),
            plaintext: format!("{{\"subject\":\"{name}\"}}").into_bytes(),
            aad: format!("{}{part}", profile.aad_prefix).into_bytes(),
            kdf_context: profile.context,
            signed_context: profile.context,
            fips_context: b"",
        }
    }

    /// Changes what goes in.
    pub(super) fn given(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Signed and complete.
    pub(super) fn genuine(self) -> Vector {
        self.spoiled_before_signing(|_| ())
    }

    /// The server signs what was changed: only decryption, or a size, can show it.
    pub(super) fn spoiled_before_signing(self, change: impl FnOnce(&mut Sealed)) -> Vector {
        let mut sealed = self.seal();
        change(&mut sealed);
        let signature = self.sign(&sealed);
        self.vector(&sealed, &signature)
    }

    /// The change happens on the way: the signature shows it.
    pub(super) fn spoiled_after_signing(self, change: impl FnOnce(&mut Sealed, &mut Vec<u8>)) -> Vector {
        let mut sealed = self.seal();
        let mut signature = self.sign(&sealed);
        change(&mut sealed, &mut signature);
        self.vector(&sealed, &signature)
    }

    fn seal(&self) -> Sealed {
        let recipe = Recipe {
            recipient: self.seeds.recipient,
            encapsulation: self.seeds.encapsulation,
            nonce: self.seeds.nonce,
            context: self.kdf_context,
            aad: &self.aad,
            plaintext: &self.plaintext,
        };
        seal(&recipe, server_public_key(&self.seeds.server))
    }

    fn sign(&self, sealed: &Sealed) -> Vec<u8> {
        let message = transcript(self.signed_context, sealed);
        sign(&self.seeds.server, &self.seeds.signature, &message, self.fips_context)
    }

    fn vector(self, sealed: &Sealed, signature: &[u8]) -> Vector {
        Vector {
            about: self.about,
            expect: Expect::Success,
            profile: self.profile.name,
            part: self.part,
            seeds: seeds_json(&self.seeds),
            client_secret_key: base64url(&self.seeds.reader.secret_key()),
            pinned_server_key: base64url(&server_public_key(&self.seeds.pinned)),
            plaintext: base64url(&self.plaintext),
            payload: payload_json(sealed, signature),
            name: self.name,
        }
    }
}

/// One scenario as its file holds it. Binary fields are base64url, seeds lowercase hex.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Vector {
    #[serde(skip)]
    name: String,
    about: String,
    expect: Expect,
    profile: &'static str,
    part: &'static str,
    seeds: Object,
    client_secret_key: String,
    pinned_server_key: String,
    plaintext: String,
    payload: Object,
}

impl Vector {
    /// The name of the file, without its ending.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes of the file.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a vector is plain data");
        text.push('\n');
        text
    }

    pub(super) fn expect(mut self, expect: Expect) -> Self {
        self.expect = expect;
        self
    }

    /// Changes the JSON, which no signature covers.
    pub(super) fn edited(mut self, change: impl FnOnce(&mut Object)) -> Self {
        change(&mut self.payload);
        self
    }
}

fn payload_json(sealed: &Sealed, signature: &[u8]) -> Object {
    let algs = Object::default()
        .with("kem", "ML-KEM-768")
        .with("sig", "ML-DSA-65")
        .with("aead", "AES-256-GCM")
        .with("kdf", "HKDF-SHA-512");
    Object::default()
        .with("v", 1)
        .with("algs", algs)
        .with("ct_kem", base64url(&sealed.ct_kem))
        .with("nonce", base64url(&sealed.nonce))
        .with("aad", base64url(&sealed.aad))
        .with("ciphertext", base64url(&sealed.ciphertext))
        .with("sig", base64url(signature))
        .with("server_sig_pk", base64url(&sealed.server_sig_pk))
}

fn seeds_json(seeds: &Seeds) -> Object {
    Object::default()
        .with("recipientD", hex(&seeds.recipient.d))
        .with("recipientZ", hex(&seeds.recipient.z))
        .with("readerD", hex(&seeds.reader.d))
        .with("readerZ", hex(&seeds.reader.z))
        .with("encapsulation", hex(&seeds.encapsulation))
        .with("nonce", hex(&seeds.nonce))
        .with("serverXi", hex(&seeds.server))
        .with("pinnedXi", hex(&seeds.pinned))
        .with("signature", hex(&seeds.signature))
}

fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}
