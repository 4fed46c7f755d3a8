//! What the checks of a message cost: `cargo run --release -p restante-auth --example cost`.
//!
//! Signs messages of several sizes, checks each with a warm cache of DNS answers, and prints the time a message takes
//! and the memory that the process has used at most.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use restante_auth::{AuthSettings, Authenticator};
use restante_model::{SessionFacts, Timestamp};
use restante_testkit::dkim::{DkimKey, Signer};
use restante_testkit::dns::DnsServer;
use tokio::time::Instant;

/// Bytes of the body, and how often it is checked.
const SIZES: [(usize, u32); 4] = [(2_000, 2_000), (64_000, 500), (1_000_000, 50), (25_000_000, 10)];

/// A line of a letter.
const WORDS: &str = "A line of a message with  a few spaces,\tand a word at its end.\r\n";
/// A line of an attachment.
const BASE64: &str = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAxMjM0NTY3\r\n";

#[tokio::main]
async fn main() {
    let dns = DnsServer::start(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/dns"));
    let authenticator = Authenticator::new(AuthSettings {
        spf: true,
        dkim: true,
        dmarc: true,
        reverse_dns: true,
        timeout: Duration::from_secs(5),
        resolver: Some(dns.address()),
    })
    .expect("a server is named");
    let keys = [("rsa", DkimKey::rsa()), ("ed25519", DkimKey::ed25519())];
    for (name, key) in &keys {
        dns.add_txt(&format!("{name}._domainkey.reject.test"), &key.record());
    }
    for ((name, key), (kind, line)) in keys.iter().zip([("words", WORDS), ("base64", BASE64)]) {
        for (bytes, rounds) in SIZES {
            let raw = Bytes::from(Signer::new("reject.test", name).sign(key, &message(bytes, line)));
            let before = memory_kib();
            let time = measure(&authenticator, &raw, rounds).await;
            let after = memory_kib();
            println!("{name}, {bytes} bytes of {kind}: {time:?} a message, at most {before} KiB before, {after} after");
        }
    }
}

async fn measure(authenticator: &Authenticator, raw: &Bytes, rounds: u32) -> Duration {
    let results = authenticator.check(raw, &facts()).await;
    assert_eq!(
        results.dmarc.details.as_deref(),
        Some("SPF for reject.test and DKIM passed and are aligned with reject.test")
    );
    let start = Instant::now();
    for _ in 0..rounds {
        authenticator.check(raw, &facts()).await;
    }
    start.elapsed() / rounds
}

fn message(bytes: usize, line: &str) -> Vec<u8> {
    let head = b"From: joe@reject.test\r\nTo: someone@restante.test\r\nSubject: x\r\n\r\n";
    [&head[..], line.repeat(bytes / line.len() + 1).as_bytes()].concat()
}

fn facts() -> SessionFacts {
    SessionFacts {
        peer: ([192, 0, 2, 10], 40_000).into(),
        helo: "mail.reverse.test".to_owned(),
        protocol: "ESMTP".to_owned(),
        tls: None,
        reverse_path: "joe@reject.test".to_owned(),
        forward_path: String::new(),
        received_at: Timestamp::from_unix_ms(1_794_700_800_000),
    }
}

/// The most memory so far (`VmHWM`).
fn memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
