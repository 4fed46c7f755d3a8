//! What the bench asks of the server over HTTP.

use std::collections::HashSet;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use restante_testkit::payload::client_public_key;
use serde_json::{Value, json};

use crate::server::Server;

const PAGE: usize = 1000;

/// The API of a server.
pub(super) struct Api {
    url: String,
    key: String,
}

impl Api {
    pub(super) fn of(server: &Server) -> Result<Self> {
        Ok(Self {
            url: server.discovery().url.clone(),
            key: server.api_key()?,
        })
    }

    pub(super) fn create_plain(&self, address: &str) -> Result<()> {
        self.create(&json!({ "emailAddress": address, "encryption": "plain" }))
    }

    pub(super) fn create_encrypted(&self, address: &str) -> Result<()> {
        let key = URL_SAFE_NO_PAD.encode(client_public_key());
        self.create(&json!({ "emailAddress": address, "encryption": "encrypted", "clientKemPk": key }))
    }

    /// The ids of all emails in the list of an inbox, read page by page.
    pub(super) fn ids(&self, address: &str) -> Result<HashSet<String>> {
        let (mut ids, mut before) = (HashSet::new(), String::new());
        loop {
            let page = self.get(&format!("/api/inboxes/{address}/emails?limit={PAGE}{before}"))?;
            let emails = page.as_array().context("a list of emails")?;
            let id = |email: &Value| email["id"].as_str().map(str::to_owned);
            ids.extend(emails.iter().filter_map(id));
            match emails.last() {
                Some(last) if emails.len() == PAGE => {
                    before = format!("&before={}", id(last).context("an email has an id")?);
                }
                _ => return Ok(ids),
            }
        }
    }

    fn create(&self, body: &Value) -> Result<()> {
        let request = ureq::post(format!("{}/api/inboxes", self.url)).header("X-API-Key", &self.key);
        request.send_json(body).context("cannot create an inbox")?;
        Ok(())
    }

    fn get(&self, path: &str) -> Result<Value> {
        let mut answer = ureq::get(format!("{}{path}", self.url))
            .header("X-API-Key", &self.key)
            .call()?;
        Ok(answer.body_mut().with_config().limit(1 << 30).read_json()?)
    }
}
