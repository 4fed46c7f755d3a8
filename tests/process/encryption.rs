//! Encryption on the way: the local authority, and certificates that change while they are in use.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::daemon::Daemon;
use crate::http;
use crate::peer::Peer;
use crate::tls::{self, Pair, TlsSocket};

const EVERYTHING: [(&str, &str); 3] = [
    ("SMTP_TLS_PORT", "0"),
    ("SERVER_HTTPS_ENABLED", "true"),
    ("SERVER_HTTPS_PORT", "0"),
];

/// Everything on, with a certificate of the local authority.
fn own(home: &Path) -> Daemon {
    Daemon::start(home, &[&EVERYTHING[..], &[("TLS_SELF_SIGNED", "true")]].concat())
}

fn authority(home: &Path) -> String {
    fs::read_to_string(home.join("data/tls/authority.pem")).unwrap()
}

/// The status of a request over HTTPS, on a connection that stays open.
fn status(socket: &mut TlsSocket) -> String {
    socket
        .write_all(b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut answer = vec![0; 4096];
    let count = socket.read(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[..count]).chars().take(12).collect()
}

fn smtp_greeting(socket: &mut TlsSocket) -> String {
    let mut greeting = [0; 4];
    socket.read_exact(&mut greeting).unwrap();
    String::from_utf8_lossy(&greeting).into_owned()
}

#[test]
fn the_authority_is_made_once_and_the_start_says_where_it_is() {
    let home = tempfile::tempdir().unwrap();
    let mut kept = None;
    for _ in 0..2 {
        let server = own(home.path());
        let said = server.said();
        let line = "\n  CA       ./data/tls/authority.pem (for curl --cacert and the like)\n";
        assert!(said.contains(line), "{said}");
        let trusted = authority(home.path());
        for name in ["localhost", "127.0.0.1", "restante.test"] {
            let mut https = tls::connect_with(server.https.unwrap(), &trusted, name, tls::VERSIONS).unwrap();
            assert_eq!(status(&mut https), "HTTP/1.1 200", "{name}");
        }
        let mut smtp = tls::connect(server.smtp_tls.unwrap(), &trusted).unwrap();
        assert_eq!(smtp_greeting(&mut smtp), "220 ");
        let mut plain = Peer::connect(server.smtp).unwrap();
        plain.reply().unwrap();
        assert!(plain.say("EHLO client.test").contains("STARTTLS"));

        let files = ["authority.pem", "authority-key.pem", "server.pem"];
        let files = files.map(|name| fs::read(home.path().join("data/tls").join(name)).unwrap());
        assert_eq!(
            kept.get_or_insert(files.clone()),
            &files,
            "the second start changes nothing"
        );
        let ended = server.stop();
        assert!(
            ended
                .logged
                .contains("clients that trust ./data/tls/authority.pem trust this server")
        );
    }
    let mode = |name: &str| {
        fs::metadata(home.path().join("data/tls").join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    let modes = ["", "authority-key.pem", "server.pem", "authority.pem"].map(mode);
    assert_eq!(modes, [0o700, 0o600, 0o600, 0o644]);
}

#[test]
fn a_certificate_that_lacks_a_name_is_renewed_by_the_same_authority() {
    let home = tempfile::tempdir().unwrap();
    own(home.path()).stop();
    let trusted = authority(home.path());
    let more = [("SMTP_HOSTNAME", "mx.example.test"), ("TLS_SELF_SIGNED", "true")];
    let server = Daemon::start(home.path(), &[&EVERYTHING[..], &more].concat());
    let connected = tls::connect_with(server.https.unwrap(), &trusted, "mx.example.test", tls::VERSIONS);
    assert!(connected.is_ok(), "{connected:?}");
    assert_eq!(authority(home.path()), trusted);
}

#[test]
fn a_certificate_is_replaced_while_it_is_in_use() {
    let home = tempfile::tempdir().unwrap();
    let (old, new) = (Pair::new(&["localhost"]), Pair::new(&["localhost"]));
    let [chain, key] = old.write(home.path());
    let files = [
        ("TLS_CERT_PATH", chain.to_str().unwrap()),
        ("TLS_KEY_PATH", key.to_str().unwrap()),
    ];
    let server = Daemon::start(home.path(), &[&EVERYTHING[..], &files].concat());
    let (https, smtp) = (server.https.unwrap(), server.smtp_tls.unwrap());
    let mut open = tls::connect(https, &old.chain).unwrap();
    assert_eq!(status(&mut open), "HTTP/1.1 200");

    // Half of a pair is no pair: the former one stays.
    tls::replace(&chain, &new.chain);
    server.wait_for_log("the former certificate stays: ");
    let mut meanwhile = tls::connect(https, &old.chain).unwrap();
    assert_eq!(status(&mut meanwhile), "HTTP/1.1 200");

    tls::replace(&key, &new.key);
    server.wait_for_log("a new certificate is in use: ");
    for address in [https, smtp] {
        assert!(tls::connect(address, &new.chain).is_ok(), "{address}");
        assert!(tls::connect(address, &old.chain).is_err(), "{address}");
    }
    assert_eq!(status(&mut open), "HTTP/1.1 200", "what was open goes on");
    let ended = server.stop();
    assert_eq!(
        ended.logged.matches("the former certificate stays").count(),
        1,
        "{}",
        ended.logged
    );
}

#[test]
fn every_address_is_one_of_ipv4_too() {
    let home = tempfile::tempdir().unwrap();
    let hosts = [("SMTP_HOST", "[::]"), ("SERVER_HOST", "[::]")];
    let server = Daemon::start(home.path(), &hosts);
    let local = |address: SocketAddr| SocketAddr::from(([127, 0, 0, 1], address.port()));
    Peer::greeted(local(server.smtp));
    let url = format!("http://{}/health/ready", local(server.http));
    let _ = http::send("GET", &url, &[], b"").expect_status(200);
}

#[test]
fn localhost_is_both_loopback_addresses() {
    let home = tempfile::tempdir().unwrap();
    let hosts = [("SMTP_HOST", "localhost"), ("SERVER_HOST", "localhost")];
    let server = Daemon::start(home.path(), &hosts);
    assert!(
        server.smtp.is_ipv4() && server.http.is_ipv4(),
        "what is told works everywhere"
    );
    Peer::greeted(server.smtp);
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        let local = |address: SocketAddr| SocketAddr::from((Ipv6Addr::LOCALHOST, address.port()));
        Peer::greeted(local(server.smtp));
        let url = format!("http://{}/health/ready", local(server.http));
        let _ = http::send("GET", &url, &[], b"").expect_status(200);
    }
}

#[test]
fn plain_http_on_the_https_port_ends_at_once_and_is_told_to_who_asks() {
    let home = tempfile::tempdir().unwrap();
    let variables = [("TLS_SELF_SIGNED", "true"), ("LOG_LEVEL", "debug")];
    let server = Daemon::start(home.path(), &[&EVERYTHING[..], &variables].concat());
    let mut browser = TcpStream::connect(server.https.unwrap()).unwrap();
    browser.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    server.wait_for_log("no HTTPS connection came of it");
    let ended = server.stop();
    let line = ended.logged.lines().find(|line| line.contains("no HTTPS connection"));
    assert!(line.unwrap().contains("DEBUG"), "{line:?}");
}

#[test]
fn a_stop_ends_what_is_open_over_tls() {
    let home = tempfile::tempdir().unwrap();
    let server = own(home.path());
    let trusted = authority(home.path());
    let mut resting = tls::connect(server.https.unwrap(), &trusted).unwrap();
    assert_eq!(status(&mut resting), "HTTP/1.1 200");
    let mut smtp = tls::connect(server.smtp_tls.unwrap(), &trusted).unwrap();
    assert_eq!(smtp_greeting(&mut smtp), "220 ");
    let _shaking = TcpStream::connect(server.https.unwrap()).unwrap();

    let ended = server.stop();
    assert!(!ended.logged.contains("still open"), "{}", ended.logged);
    assert_eq!(resting.read(&mut [0; 64]).unwrap(), 0, "a whole end, not a cut one");
    let mut farewell = String::new();
    smtp.read_to_string(&mut farewell).unwrap();
    assert!(
        farewell.lines().any(|line| line.starts_with("421 4.3.2 ")),
        "{farewell}"
    );
}
