//! Seeds: the dialogues, messages and vectors of `tests`, as inputs of the targets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use restante_fuzz_targets::Target;
use restante_testkit::dialogue::Dialogue;
use serde_json::Value;

#[path = "webhooks.rs"]
mod webhooks;

/// Bytes of a seed, at most: large ones teach a fuzzer nothing that small ones do not.
const SEED_MAX: usize = 16_384;

/// The fields that the target `header` knows, in the order of its heads; any other is put into `X-Any`.
const FIELDS: [&str; 9] = [
    "subject",
    "from",
    "to",
    "cc",
    "reply-to",
    "date",
    "message-id",
    "in-reply-to",
    "references",
];

/// Named inputs.
pub(crate) type Inputs = BTreeMap<String, Vec<u8>>;

/// The folder `tests`.
pub(crate) fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The seeds of a target.
pub(crate) fn seeds(target: &Target) -> Inputs {
    let mut seeds = match target.name {
        "session" => sessions(),
        "data" => with_heads(&bodies(), &[[0; 8], [0, 100, 7, 1, 30, 0, 0, 2]]),
        "message" => messages(),
        "body" => with_heads(&bodies(), &[[0, 0, 0, 76], [4, 2, 1, 60], [7, 3, 2, 9]]),
        "header" => fields(),
        "address" => addresses(),
        "payload" => payloads(),
        "filter" => webhooks::filters(),
        "template" => webhooks::templates(),
        other => panic!("no seeds for {other}"),
    };
    seeds.retain(|_, seed| seed.len() <= SEED_MAX);
    seeds
}

/// Each input behind each head.
fn with_heads<const N: usize>(inputs: &Inputs, heads: &[[u8; N]]) -> Inputs {
    let mut seeds = Inputs::new();
    for (name, input) in inputs {
        for (number, head) in heads.iter().enumerate() {
            seeds.insert(format!("{name}-{number}"), [&head[..], input].concat());
        }
    }
    seeds
}

fn dialogues() -> Vec<Dialogue> {
    Dialogue::read_folder(&tests().join("dialogues"))
}

/// What each client sends: to a server that says yes, to one with STARTTLS, AUTH and small limits, to one that refuses, and
/// with a handshake at the beginning or before DATA.
fn sessions() -> Inputs {
    let wires: Inputs = dialogues()
        .into_iter()
        .map(|dialogue| (dialogue.name.clone(), wire(&dialogue)))
        .collect();
    let plain = [0; 16];
    let (mut small, mut refusing, mut encrypted) = (plain, plain, plain);
    small[0] = 0xfd;
    small[8..].copy_from_slice(&[9, 30, 1, 2, 50, 0, 3, 7]);
    refusing[1..8].copy_from_slice(&[0, 1, 0, 0, 1, 1, 0]);
    encrypted[0] = 1;
    let mut seeds = with_heads(&wires, &[plain, small, refusing]);
    for (name, wire) in wires {
        let early = [&encrypted[..], HANDSHAKE, &wire].concat();
        seeds.insert(format!("{name}-tls"), early);
        if let Some(data) = wire.windows(6).position(|window| window == b"DATA\r\n") {
            let (before, after) = wire.split_at(data);
            let late = [&encrypted[..], before, HANDSHAKE, after].concat();
            seeds.insert(format!("{name}-tls-late"), late);
        }
    }
    seeds
}

/// STARTTLS, and the mark of the handshake.
const HANDSHAKE: &[u8] = b"STARTTLS\r\n~~tls~~";

fn wire(dialogue: &Dialogue) -> Vec<u8> {
    let packets = dialogue.exchanges.iter().map(|exchange| exchange.client.as_slice());
    packets.collect::<Vec<_>>().concat()
}

/// All messages, by name.
fn messages() -> Inputs {
    let messages =
        files("fixtures/messages").filter(|path| path.extension().is_some_and(|extension| extension == "eml"));
    messages.map(|path| (stem(&path), read(&path))).collect()
}

/// What stands behind the first empty line of each message.
fn bodies() -> Inputs {
    let body = |message: Vec<u8>| {
        let end = message.windows(4).position(|window| window == b"\r\n\r\n");
        end.map_or(message.clone(), |end| message[end + 4..].to_vec())
    };
    messages()
        .into_iter()
        .map(|(name, message)| (name, body(message)))
        .collect()
}

/// Name in lower case and value of each header field, folds included.
fn header_fields() -> Vec<(String, Vec<u8>)> {
    let mut fields: Vec<(String, Vec<u8>)> = Vec::new();
    for message in messages().values() {
        for line in message.split_inclusive(|&byte| byte == b'\n') {
            let colon = line.iter().position(|&byte| byte == b':');
            match (colon, fields.last_mut()) {
                _ if line.starts_with(b"\r") || line.starts_with(b"\n") => break,
                (_, Some((_, value))) if line.starts_with(b" ") || line.starts_with(b"\t") => {
                    value.extend_from_slice(line);
                }
                (Some(colon), _) => {
                    let name = String::from_utf8_lossy(&line[..colon]).to_lowercase();
                    fields.push((name, line[colon + 1..].to_vec()));
                }
                (None, _) => break,
            }
        }
    }
    fields
}

fn fields() -> Inputs {
    let place = |name: &str| {
        let place = FIELDS.iter().position(|field| *field == name).unwrap_or(FIELDS.len());
        u8::try_from(place).expect("there are few fields")
    };
    let fields = header_fields().into_iter();
    numbered(fields.map(|(name, value)| [&[place(&name)], value.trim_ascii()].concat()))
}

/// What stands in the address fields of messages, and between angle brackets in dialogues.
fn addresses() -> Inputs {
    let is_of_addresses = |name: &str| matches!(name, "from" | "to" | "cc" | "reply-to");
    let lists = header_fields().into_iter().filter(|(name, _)| is_of_addresses(name));
    let lists = lists.map(|(_, value)| value.trim_ascii().to_vec());
    let exchanges = dialogues().into_iter().flat_map(|dialogue| dialogue.exchanges);
    let paths = exchanges.flat_map(|exchange| {
        let lines = exchange.client.split(|&byte| byte == b'\n');
        lines.filter_map(path).collect::<Vec<_>>()
    });
    numbered(lists.chain(paths))
}

/// What stands between the first `<` and the last `>` of a line.
fn path(line: &[u8]) -> Option<Vec<u8>> {
    let start = line.iter().position(|&byte| byte == b'<')? + 1;
    let end = line.iter().rposition(|&byte| byte == b'>')?;
    Some(line.get(start..end)?.to_vec())
}

/// Each input once, by number.
fn numbered(inputs: impl Iterator<Item = Vec<u8>>) -> Inputs {
    let inputs: BTreeSet<Vec<u8>> = inputs.collect();
    let names = (0..).map(|number| format!("{number:04}"));
    names.zip(inputs).collect()
}

fn payloads() -> Inputs {
    let payload = |path: &Path| {
        let vector: Value = serde_json::from_slice(&read(path)).expect("a vector is JSON");
        vector["payload"].to_string().into_bytes()
    };
    files("vectors/envelope")
        .map(|path| (stem(&path), payload(&path)))
        .collect()
}

/// The files of a folder of `tests`.
fn files(folder: &str) -> impl Iterator<Item = PathBuf> + use<> {
    let files = fs::read_dir(tests().join(folder)).expect("the folder is part of the repository");
    files.map(|file| file.expect("a file of the folder").path())
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads a file of the repository.
pub(crate) fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
