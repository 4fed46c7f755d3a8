//! What the bench asks of the server over HTTP.

use std::collections::HashSet;
use std::thread;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use restante_testkit::payload::client_public_key;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::http::Connection;
use crate::server::Server;

/// Emails of one page of a whole list.
const PAGE: usize = 1000;

/// Where the API of a server is, and its key.
#[derive(Debug, Clone)]
pub(super) struct Api {
    authority: String,
    key: String,
}

/// Whether an inbox is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Mode {
    Plain,
    /// For a key that nobody has.
    Encrypted,
}

/// What a list says of an email, as far as it matters here.
#[derive(Debug, Deserialize)]
struct Listed {
    id: String,
}

impl Api {
    pub(super) fn of(server: &Server) -> Result<Self> {
        let url = &server.discovery().url;
        let authority = url
            .strip_prefix("http://")
            .with_context(|| format!("{url} is not HTTP"))?;
        Ok(Self {
            authority: authority.to_owned(),
            key: server.api_key()?,
        })
    }

    /// A connection of its own.
    pub(super) fn connect(&self) -> Result<Connection> {
        Connection::open(&self.authority, &self.key)
    }

    /// A new inbox; its hash.
    pub(super) fn create(&self, address: &str, mode: Mode) -> Result<String> {
        let request = match mode {
            Mode::Plain => plain(address, None),
            Mode::Encrypted => {
                let key = URL_SAFE_NO_PAD.encode(client_public_key());
                json!({ "emailAddress": address, "encryption": "encrypted", "clientKemPk": key })
            }
        };
        let request = request.to_string();
        let answer = self
            .connect()?
            .expect(201, "POST", "/api/inboxes", request.as_bytes())?;
        let inbox: Value = serde_json::from_slice(&answer)?;
        let hash = inbox["inboxHash"].as_str().context("an inbox has a hash")?;
        Ok(hash.to_owned())
    }

    /// A new global webhook for the arrival of mail; its id.
    pub(super) fn create_webhook(&self, url: &str) -> Result<String> {
        let request = json!({ "url": url, "events": ["email.received"] }).to_string();
        let answer = self
            .connect()?
            .expect(201, "POST", "/api/webhooks", request.as_bytes())?;
        let webhook: Value = serde_json::from_slice(&answer)?;
        let id = webhook["id"].as_str().context("a webhook has an id")?;
        Ok(id.to_owned())
    }

    pub(super) fn delete_webhook(&self, id: &str) -> Result<()> {
        self.connect()?
            .expect(204, "DELETE", &format!("/api/webhooks/{id}"), b"")?;
        Ok(())
    }

    /// So many plain inboxes at addresses that are made from their numbers, over several connections at once.
    pub(super) fn create_many(
        &self,
        count: usize,
        connections: usize,
        ttl_secs: Option<u64>,
        address: impl Fn(usize) -> String + Sync,
    ) -> Result<()> {
        at_once(connections, |worker| {
            let mut connection = self.connect()?;
            for number in (worker..count).step_by(connections) {
                let request = plain(&address(number), ttl_secs).to_string();
                connection.expect(201, "POST", "/api/inboxes", request.as_bytes())?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// The ids of all emails in the list of an inbox, read page by page.
    pub(super) fn ids(&self, address: &str) -> Result<HashSet<String>> {
        let mut connection = self.connect()?;
        let (mut ids, mut before) = (HashSet::new(), None);
        loop {
            let page = page(&mut connection, address, PAGE, before.as_deref())?;
            let is_last = page.len() < PAGE;
            before = page.last().cloned();
            ids.extend(page);
            if is_last {
                return Ok(ids);
            }
        }
    }
}

/// The ids of one page of a list, newest first.
pub(super) fn page(
    connection: &mut Connection,
    address: &str,
    limit: usize,
    before: Option<&str>,
) -> Result<Vec<String>> {
    let before = before.map(|id| format!("&before={id}")).unwrap_or_default();
    let path = format!("/api/inboxes/{address}/emails?limit={limit}{before}");
    let listed: Vec<Listed> = serde_json::from_slice(&connection.expect(200, "GET", &path, b"")?)?;
    Ok(listed.into_iter().map(|email| email.id).collect())
}

/// Runs the same work in so many threads, each under its number.
pub(super) fn at_once<T: Send>(threads: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..threads).map(|number| scope.spawn(move || work(number))).collect();
        let joined = workers
            .into_iter()
            .map(|worker| worker.join().expect("a worker does not panic"));
        joined.collect()
    })
}

fn plain(address: &str, ttl_secs: Option<u64>) -> Value {
    let mut request = json!({ "emailAddress": address, "encryption": "plain" });
    if let Some(ttl) = ttl_secs {
        request["ttl"] = ttl.into();
    }
    request
}
