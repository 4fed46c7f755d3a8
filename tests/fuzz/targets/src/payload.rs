//! The reader of sealed payloads: it opens what is genuine, and tells nobody why it opened nothing.
//!
//! No head: the input is the JSON of a payload, and again the list of edits to a genuine one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use restante_envelope::{
    DecapsulationKey, OpenError, PayloadPart, Plaintext, Sealed, SealedPayload, SigningKey, VerifyingKey, WireProfile,
    base64url, seal,
};
use serde_json::Value;

/// What every refusal says.
const REFUSAL: &str = "the payload cannot be opened";
/// Bytes of an edit: where (two), how, and with what.
const EDIT: usize = 4;
/// Edits, at most.
const EDITS_MAX: usize = 16;

/// Opens bytes as a payload, and genuine payloads that were changed.
///
/// # Panics
/// - Something opens that is not genuine, or to another plaintext.
/// - Two refusals have different texts.
/// - What was changed and signed again does not fail to decrypt, or what was changed after signing verifies.
pub fn run(input: &[u8]) {
    as_it_stands(input);
    edited_text(input);
    edited_and_signed(input);
}

/// What another implementation has sealed, and the keys that open it.
struct Genuine {
    client: DecapsulationKey,
    pinned: VerifyingKey,
    /// All that it ever sealed: some vectors are refused only under other keys than these.
    plaintexts: BTreeSet<Vec<u8>>,
    /// The vectors that open.
    payloads: Vec<Payload>,
}

struct Payload {
    profile: WireProfile,
    plaintext: Vec<u8>,
    json: Vec<u8>,
}

static GENUINE: LazyLock<Genuine> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/envelope");
    let files = fs::read_dir(folder).expect("the folder is part of the repository");
    let mut paths: Vec<_> = files.map(|file| file.expect("a file of the folder").path()).collect();
    paths.sort();
    let vectors = paths.iter().map(|path| {
        let text = fs::read(path).expect("a vector is readable");
        serde_json::from_slice(&text).expect("a vector is JSON")
    });
    let vectors: Vec<Value> = vectors.collect();
    let text = |vector: &Value, field: &str| vector[field].as_str().expect("a text").to_owned();
    let bytes = |vector: &Value, field: &str| base64url::decode(text(vector, field)).expect("base64url");
    let opening: Vec<&Value> = vectors.iter().filter(|vector| vector["expect"] == "success").collect();
    let payloads = opening.iter().map(|vector| Payload {
        profile: text(vector, "profile").parse().expect("a profile"),
        plaintext: bytes(vector, "plaintext"),
        json: vector["payload"].to_string().into_bytes(),
    });
    Genuine {
        client: DecapsulationKey::parse(&bytes(opening[0], "clientSecretKey")).expect("a key"),
        pinned: VerifyingKey::parse(&bytes(opening[0], "pinnedServerKey")).expect("a key"),
        plaintexts: vectors.iter().map(|vector| bytes(vector, "plaintext")).collect(),
        payloads: payloads.collect(),
    }
});

/// A payload of this process, for edits that are signed: the vectors come without a key that signs.
struct Own {
    client: DecapsulationKey,
    server: SigningKey,
    sealed: Sealed,
}

const PROFILE: WireProfile = WireProfile::Service;
const PART: PayloadPart = PayloadPart::Parsed;
const PLAINTEXT: &[u8] = b"{\"text\":\"hello\"}";

static OWN: LazyLock<Own> = LazyLock::new(|| {
    let client = DecapsulationKey::generate();
    let sealed = seal(PROFILE, PART, client.encapsulation_key(), PLAINTEXT);
    Own {
        server: SigningKey::generate(),
        client,
        sealed,
    }
});

fn open(
    json: &[u8],
    pinned: &VerifyingKey,
    profile: WireProfile,
    client: &DecapsulationKey,
) -> Result<Plaintext, OpenError> {
    let opened = SealedPayload::from_json(json)
        .and_then(|payload| payload.verify(pinned, profile))
        .and_then(|payload| payload.open(client));
    if let Err(error) = &opened {
        assert_eq!(error.to_string(), REFUSAL);
    }
    opened
}

/// Whatever opens was sealed by the other implementation.
fn as_it_stands(input: &[u8]) {
    let genuine = &*GENUINE;
    for profile in [WireProfile::Service, WireProfile::VaultSandbox] {
        if let Ok(opened) = open(input, &genuine.pinned, profile, &genuine.client) {
            let is_known = genuine.plaintexts.contains(opened.expose());
            assert!(is_known, "a payload that nobody sealed was opened");
        }
    }
    if let Ok(payload) = SealedPayload::from_json(input) {
        let json = serde_json::to_vec(&payload).expect("a payload has its JSON");
        assert_eq!(SealedPayload::from_json(&json), Ok(payload));
    }
}

/// Edits to the text of a genuine payload break it, or change nothing that matters.
fn edited_text(input: &[u8]) {
    let genuine = &*GENUINE;
    let which = usize::from(input.first().copied().unwrap_or_default()) % genuine.payloads.len();
    let payload = &genuine.payloads[which];
    let mut json = payload.json.clone();
    for edit in input.chunks_exact(EDIT).take(EDITS_MAX) {
        let at = place(edit, json.len());
        match edit[2] % 4 {
            0 => json[at] = edit[3],
            1 => json.insert(at, edit[3]),
            2 => drop(json.drain(at..(at + usize::from(edit[3])).min(json.len() - 1))),
            _ => json.truncate(at.max(1)),
        }
    }
    if let Ok(opened) = open(&json, &genuine.pinned, payload.profile, &genuine.client) {
        assert_eq!(opened.expose(), payload.plaintext, "another plaintext was opened");
    }
}

/// Edits to the bytes of a sealed part before it is signed show when it is decrypted, later ones when it is verified.
fn edited_and_signed(input: &[u8]) {
    let own = &*OWN;
    let original = own.sealed.as_bytes();
    let mut bytes = original.to_vec();
    for edit in input.chunks_exact(EDIT).take(EDITS_MAX) {
        let at = place(edit, bytes.len());
        bytes[at] ^= edit[3];
    }
    let changed = bytes != original;
    let sealed = Sealed::from_bytes(bytes).expect("it has its length");
    let signature = sealed.sign(PROFILE, PART, &own.server);
    let pinned = own.server.verifying_key();
    let json = |sealed: &Sealed| {
        let payload = SealedPayload::new(sealed.clone(), PROFILE, PART, signature.clone(), pinned.clone());
        serde_json::to_vec(&payload).expect("a payload has its JSON")
    };
    let opened = open(&json(&sealed), pinned, PROFILE, &own.client);
    match opened {
        Ok(plaintext) => assert!(!changed && plaintext.expose() == PLAINTEXT, "a changed part was opened"),
        Err(stage) => assert!(changed && stage == OpenError::Decryption, "{stage:?}"),
    }
    if changed {
        let stage = open(&json(&own.sealed), pinned, PROFILE, &own.client).err();
        assert_eq!(
            stage,
            Some(OpenError::Signature),
            "a signature verifies what it does not cover"
        );
    }
}

/// Where an edit goes, in something of this length.
fn place(edit: &[u8], length: usize) -> usize {
    usize::from(u16::from_be_bytes([edit[0], edit[1]])) % length
}
