//! Mail under TLS by programs that others wrote: swaks, OpenSSL, Python.
//!
//! They trust the authority that the server has made, and nothing else.

use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use restante_model::SystemClock;

use crate::harness::TestServer;
use crate::stored;

const BOB: &str = "bob@restante.test";

/// A server with a certificate and both kinds of listeners, and the certificate of its authority.
struct Encrypted {
    server: TestServer,
    authority: PathBuf,
}

impl Encrypted {
    fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let authority = data.path().join("tls/authority.pem");
        let variables = [
            ("TLS_SELF_SIGNED", "true"),
            ("SMTP_TLS_PORT", "0"),
            ("SMTP_AUTH", "accept-any"),
        ];
        let server = TestServer::start_in(data, &variables, Arc::new(SystemClock));
        server.create_plain(BOB);
        Self { server, authority }
    }

    fn authority(&self) -> &str {
        self.authority.to_str().unwrap()
    }

    fn plain_port(&self) -> String {
        self.server.smtp.port().to_string()
    }

    fn tls_port(&self) -> String {
        self.server.smtp_tls.unwrap().port().to_string()
    }

    /// The newest mail: its source must have these parts.
    fn newest_has(&self, parts: &[&str]) {
        let id = stored::ids(&self.server, BOB).pop().unwrap();
        let source = String::from_utf8(stored::raw(&self.server, BOB, &id)).unwrap();
        for part in parts {
            assert!(source.contains(part), "{part} in {source}");
        }
    }
}

/// What a program printed; it must end well.
fn run(package: &str, program: &str, arguments: &[&str], input: &str) -> String {
    let command = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match command {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            panic!("these tests run {program}: install it (Debian: apt-get install {package})")
        }
        spawned => spawned.unwrap(),
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program} {arguments:?}:\n{printed}\n{complaints}"
    );
    printed
}

fn swaks(encrypted: &Encrypted, port: &str, more: &[&str]) -> String {
    let to_server = [
        "--server",
        "127.0.0.1",
        "--port",
        port,
        "--helo",
        "client.test",
        "--timeout",
        "20",
    ];
    let mail = [
        "--from",
        "alice@sender.test",
        "--to",
        BOB,
        "--header",
        "Subject: swaks",
        "--body",
        "hello",
    ];
    let trust = ["--tls-verify", "--tls-ca-path", encrypted.authority()];
    let arguments = [&to_server[..], &mail, &trust, more].concat();
    run("swaks libnet-ssleay-perl", "swaks", &arguments, "")
}

#[test]
fn swaks_delivers_after_starttls_and_on_connect() {
    let encrypted = Encrypted::start();
    swaks(&encrypted, &encrypted.plain_port(), &["--tls"]);
    encrypted.newest_has(&["with ESMTPS\r\n", "(TLSv1.3 ", "Subject: swaks\r\n"]);
    swaks(&encrypted, &encrypted.tls_port(), &["--tls-on-connect"]);
    encrypted.newest_has(&["with ESMTPS\r\n", "(TLSv1.3 ", "Subject: swaks\r\n"]);
    assert_eq!(stored::ids(&encrypted.server, BOB).len(), 2);
}

#[test]
fn swaks_authenticates_by_both_mechanisms() {
    let encrypted = Encrypted::start();
    for mechanism in ["PLAIN", "LOGIN"] {
        let credentials = ["--auth", mechanism, "--auth-user", "alice", "--auth-password", "secret"];
        swaks(
            &encrypted,
            &encrypted.plain_port(),
            &[&["--tls"][..], &credentials].concat(),
        );
        encrypted.newest_has(&["with ESMTPSA\r\n"]);
        swaks(&encrypted, &encrypted.plain_port(), &credentials);
        encrypted.newest_has(&["with ESMTPA\r\n"]);
    }
}

/// A whole session in one packet: the program does not wait for replies.
const SESSION: &str = "EHLO client.test\nMAIL FROM:<alice@sender.test>\nRCPT TO:<bob@restante.test>\nDATA\n\
    Subject: openssl\n\nhello\n.\nQUIT\n";

#[test]
fn openssl_delivers_with_both_versions_of_tls_on_both_ports() {
    let encrypted = Encrypted::start();
    for (version, told) in [("-tls1_2", "(TLSv1.2 TLS_ECDHE_"), ("-tls1_3", "(TLSv1.3 TLS_")] {
        for (port, more) in [
            (encrypted.plain_port(), &["-starttls", "smtp"][..]),
            (encrypted.tls_port(), &[]),
        ] {
            let address = format!("localhost:{port}");
            let connect = ["s_client", "-4", "-quiet", "-crlf", "-connect", &address, version];
            let trust = [
                "-CAfile",
                encrypted.authority(),
                "-verify_return_error",
                "-verify_hostname",
                "localhost",
            ];
            let said = run("openssl", "openssl", &[&connect[..], &trust, more].concat(), SESSION);
            assert!(said.contains("250 2.0.0 Ok: msg_"), "{said}");
            assert!(said.ends_with("221 2.0.0 Bye\r\n"), "{said}");
            encrypted.newest_has(&["with ESMTPS\r\n", told, "Subject: openssl\r\n"]);
        }
    }
}

#[test]
fn python_delivers_with_a_verified_certificate() {
    let encrypted = Encrypted::start();
    for (how, protocol) in [
        ("starttls", "with ESMTPS\r\n"),
        ("implicit", "with ESMTPS\r\n"),
        ("utf8", "with UTF8SMTPS\r\n"),
        ("plain", "with ESMTPSA\r\n"),
        ("login", "with ESMTPSA\r\n"),
    ] {
        let port = match how {
            "implicit" => encrypted.tls_port(),
            _ => encrypted.plain_port(),
        };
        let mailer = concat!(env!("CARGO_MANIFEST_DIR"), "/e2e/smtp/mailer.py");
        run("python3", "python3", &[mailer, how, &port, encrypted.authority()], "");
        encrypted.newest_has(&[protocol, &format!("Subject: {how}\r\n"), "Grüße\r\n"]);
    }
}
