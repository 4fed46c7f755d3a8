//! S6: what is said in clear after STARTTLS is never taken for something said under TLS.
//!
//! The client is the `openssl` program; between it and the server stands a relay that does what an attacker on the
//! network would (CVE-2011-0411).

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result, ensure};

use super::line::{Line, Needs, Seen};
use super::target::Target;

/// What the attacker adds to the segment of STARTTLS.
const INJECTED: &[u8] = b"EHLO evil.test\r\nMAIL FROM:<evil@sender.test>\r\nVRFY evil\r\n";

/// What the client says under TLS, and the codes of the answers to it alone.
const SAID: &str = "NOOP\r\nMAIL FROM:<probe@sender.test>\r\nEHLO probe.test\r\nSTARTTLS\r\nQUIT\r\n";
const ANSWERS: [&str; 5] = ["250", "503", "250", "503", "221"];

pub(super) fn lines() -> Vec<Line> {
    let line = |name: &str, check: fn(&Target) -> Result<Seen>| {
        let checked = move |target: &Target| {
            if is_installed() {
                check(target)
            } else {
                Ok(Seen::skipped(NO_OPENSSL))
            }
        };
        Line::new(name, checked).with(Needs::Certificate)
    };
    vec![
        line("S6 commands injected behind STARTTLS are never answered", injected),
        line("S6 a session begins anew under TLS", anew),
    ]
}

const NO_OPENSSL: &str = "the program `openssl` is not installed";

fn is_installed() -> bool {
    let version = Command::new("openssl").arg("version").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

fn injected(target: &Target) -> Result<Seen> {
    talk(target, INJECTED)?;
    Ok(Seen::passed("3 commands injected in clear, none answered under TLS"))
}

fn anew(target: &Target) -> Result<Seen> {
    talk(target, b"")?;
    Ok(Seen::passed(
        "MAIL without a new EHLO is 503, STARTTLS is not offered again",
    ))
}

/// Talks under TLS, with something injected in clear, and checks that there is an answer to what was said and no other.
fn talk(target: &Target, injected: &'static [u8]) -> Result<()> {
    let relay = Relay::start(target.smtp.clone(), injected)?;
    let mut command = Command::new("openssl");
    command.args([
        "s_client",
        "-quiet",
        "-starttls",
        "smtp",
        "-crlf",
        "-ign_eof",
        "-connect",
        &relay,
    ]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut client = command.spawn().context("cannot start openssl")?;
    let mut input = client.stdin.take().context("its input")?;
    input.write_all(SAID.replace("\r\n", "\n").as_bytes())?;
    let output = client.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    // s_client shows the answer to its own EHLO in clear, which ends before the handshake.
    let finals = text
        .lines()
        .filter(|line| line.get(3..4) == Some(" "))
        .collect::<Vec<_>>();
    let codes: Vec<&str> = finals
        .iter()
        .rev()
        .take(ANSWERS.len())
        .rev()
        .map(|line| &line[..3])
        .collect();
    ensure!(codes == ANSWERS && finals.len() <= ANSWERS.len() + 1, "{text}");
    let under_tls = text.rsplit_once("503").map_or("", |(_, rest)| rest);
    ensure!(!under_tls.contains("STARTTLS"), "offered under TLS: {text}");
    Ok(())
}

/// Passes bytes both ways and adds something to the segment of STARTTLS.
struct Relay;

impl Relay {
    /// Serves one connection; its address.
    fn start(server: String, injected: &'static [u8]) -> Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        thread::spawn(move || -> Result<()> {
            let (client, _) = listener.accept()?;
            let server = TcpStream::connect(server)?;
            let (back_from, back_to) = (server.try_clone()?, client.try_clone()?);
            let back = thread::spawn(move || pass(back_from, back_to, |_| Vec::new()));
            pass(client, server, |bytes| {
                if bytes.starts_with(b"STARTTLS") {
                    injected.to_vec()
                } else {
                    Vec::new()
                }
            })?;
            let _ = back.join();
            Ok(())
        });
        Ok(address)
    }
}

/// Copies until the end, with whatever `addition` adds to each piece, in the same write.
fn pass(mut from: TcpStream, mut to: TcpStream, addition: impl Fn(&[u8]) -> Vec<u8>) -> Result<()> {
    let mut piece = [0; 16 * 1024];
    loop {
        let read = from.read(&mut piece)?;
        if read == 0 {
            let _ = to.shutdown(Shutdown::Write);
            return Ok(());
        }
        to.write_all(&[&piece[..read], &addition(&piece[..read])].concat())?;
    }
}
