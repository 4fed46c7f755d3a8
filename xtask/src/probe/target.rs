//! The server under the probe, and what its API says of the mail that reached it.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use ureq::Agent;

use super::peer::Peer;
use crate::server::Server;

/// A server, wherever it runs.
pub(crate) struct Target {
    /// Where it listens for SMTP.
    pub(crate) smtp: String,
    url: String,
    key: String,
    agent: Agent,
    /// Known of a server on this machine.
    process: Option<Process>,
}

struct Process {
    pid: u32,
    log: PathBuf,
}

impl Target {
    /// A server of our own.
    pub(crate) fn local(server: &Server) -> Result<Self> {
        let found = server.discovery();
        let process = Process {
            pid: server.pid(),
            log: server.log_path().to_owned(),
        };
        Ok(Self::new(&found.smtp, &found.url, &server.api_key()?, Some(process)))
    }

    /// A server that is somewhere.
    pub(crate) fn remote(smtp: &str, url: &str, key: &str) -> Self {
        Self::new(smtp, url, key, None)
    }

    fn new(smtp: &str, url: &str, key: &str, process: Option<Process>) -> Self {
        let config = Agent::config_builder().http_status_as_error(false);
        Self {
            smtp: smtp.to_owned(),
            url: url.trim_end_matches('/').to_owned(),
            key: key.trim().to_owned(),
            agent: config.build().into(),
            process,
        }
    }

    /// A session that has said EHLO.
    pub(crate) fn peer(&self) -> Result<Peer> {
        Peer::greeted(&self.smtp)
    }

    /// A new plain inbox at an address of the server's choice.
    pub(crate) fn inbox(&self) -> Result<Inbox<'_>> {
        self.create(&json!({ "encryption": "plain" }))
    }

    /// A new inbox.
    pub(crate) fn create(&self, request: &Value) -> Result<Inbox<'_>> {
        let asked = self
            .agent
            .post(format!("{}/api/inboxes", self.url))
            .header("X-API-Key", &self.key);
        let mut answer = asked.send_json(request)?;
        let status = answer.status();
        let text = answer.body_mut().read_to_string()?;
        ensure!(status == 201, "an inbox is answered {status}: {text}");
        let inbox: Value = serde_json::from_str(&text)?;
        let address = inbox["emailAddress"].as_str().context("an inbox has an address")?;
        Ok(Inbox {
            target: self,
            address: address.to_owned(),
        })
    }

    /// What it has logged, if that can be known.
    pub(crate) fn log(&self) -> Result<Option<String>> {
        let Some(process) = &self.process else { return Ok(None) };
        let bytes = fs::read(&process.log)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Its memory in bytes, if that can be known: `VmRSS`, `VmHWM`.
    pub(crate) fn memory(&self, field: &str) -> Result<Option<u64>> {
        let Some(process) = &self.process else { return Ok(None) };
        let status = fs::read_to_string(format!("/proc/{}/status", process.pid))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let kib = line
            .with_context(|| format!("no {field}"))?
            .trim()
            .trim_end_matches(" kB");
        Ok(Some(kib.parse::<u64>()? * 1024))
    }

    fn get(&self, path: &str) -> Result<ureq::Body> {
        let asked = self
            .agent
            .get(format!("{}{path}", self.url))
            .header("X-API-Key", &self.key);
        let mut answer = asked.call()?;
        let status = answer.status();
        if status != 200 {
            let text = answer.body_mut().read_to_string()?;
            anyhow::bail!("{path} is answered {status}: {text}");
        }
        Ok(answer.into_body())
    }
}

/// An inbox of the probe; it is deleted with this.
pub(crate) struct Inbox<'a> {
    target: &'a Target,
    pub(crate) address: String,
}

impl Inbox<'_> {
    /// The ids of all its emails, newest first.
    pub(crate) fn ids(&self) -> Result<Vec<String>> {
        let list = self.json("/emails")?;
        let id = |email: &Value| email["id"].as_str().map(str::to_owned);
        Ok(list.as_array().context("a list")?.iter().filter_map(id).collect())
    }

    /// The source of an email as received: without the trace field on top of it.
    pub(crate) fn message(&self, id: &str) -> Result<Vec<u8>> {
        let (trace, message) = self.source(id)?;
        ensure!(
            trace.starts_with(b"Received: "),
            "no trace field: {}",
            trace.escape_ascii()
        );
        Ok(message)
    }

    /// The trace field of an email, and its source as received.
    pub(crate) fn source(&self, id: &str) -> Result<(Vec<u8>, Vec<u8>)> {
        let record = self.json(&format!("/emails/{id}/raw"))?;
        let raw = STANDARD.decode(record["raw"].as_str().context("a source")?)?;
        let end = trace_end(&raw).with_context(|| format!("no trace field: {}", raw.escape_ascii()))?;
        let (trace, message) = raw.split_at(end);
        Ok((trace.to_vec(), message.to_vec()))
    }

    /// A document of an email: `metadata` or `parsed`.
    pub(crate) fn document(&self, id: &str, name: &str) -> Result<Value> {
        let record = self.json(&format!("/emails/{id}"))?;
        let document = STANDARD.decode(record[name].as_str().context("a document")?)?;
        Ok(serde_json::from_slice(&document)?)
    }

    /// The answer of the source, as it comes: for a source that is too large to be held.
    pub(crate) fn raw_reader(&self, id: &str) -> Result<impl std::io::Read + use<>> {
        let body = self
            .target
            .get(&format!("/api/inboxes/{}/emails/{id}/raw", self.address))?;
        Ok(body.into_reader())
    }

    fn json(&self, path: &str) -> Result<Value> {
        let body = self.target.get(&format!("/api/inboxes/{}{path}", self.address))?;
        let mut text = Vec::new();
        body.into_reader().read_to_end(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }
}

impl Drop for Inbox<'_> {
    fn drop(&mut self) {
        let url = format!("{}/api/inboxes/{}", self.target.url, self.address);
        // It expires by itself where this fails.
        let _ = self
            .target
            .agent
            .delete(url)
            .header("X-API-Key", &self.target.key)
            .call();
    }
}

/// Where the trace field ends: with the time zone of its date (RFC 5321 section 4.4).
///
/// A message may begin with white space, so the end of the folded field does not show by itself.
pub(crate) fn trace_end(raw: &[u8]) -> Option<usize> {
    const END: &[u8] = b" +0000\r\n";
    let end = raw.windows(END.len()).position(|window| window == END)?;
    Some(end + END.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_field_ends_with_its_date() {
        let trace = b"Received: from a ([127.0.0.1])\r\n\tfor <c@d>; Sun, 25 Jan 2026 11:41:16 +0000\r\n";
        let raw = [&trace[..], b" a message that begins with a space"].concat();
        assert_eq!(trace_end(&raw), Some(trace.len()));
        assert_eq!(trace_end(b"Subject: none\r\n\r\n"), None);
    }
}
