//! What a server has stored, read over HTTP.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_envelope::{DecapsulationKey, SealedPayload, VerifyingKey, WireProfile};
use serde_json::Value;

use crate::harness::TestServer;
use crate::peer::without_trace;

/// The ids of an inbox's emails in order of arrival.
pub(crate) fn ids(server: &TestServer, address: &str) -> Vec<String> {
    let list = server
        .get(&format!("/api/inboxes/{address}/emails"))
        .expect_status(200)
        .json();
    let oldest_first = list.as_array().unwrap().iter().rev();
    oldest_first
        .map(|email| email["id"].as_str().unwrap().to_owned())
        .collect()
}

/// The messages of a plain inbox in order of arrival, as the client sent them.
pub(crate) fn messages(server: &TestServer, address: &str) -> Vec<Vec<u8>> {
    let raws = ids(server, address).into_iter().map(|id| raw(server, address, &id));
    raws.map(|raw| without_trace(&raw).to_vec()).collect()
}

/// A raw message of a plain inbox.
pub(crate) fn raw(server: &TestServer, address: &str, id: &str) -> Vec<u8> {
    let record = record(server, address, id, "/raw");
    STANDARD.decode(record["raw"].as_str().unwrap()).unwrap()
}

/// A raw message of an encrypted inbox: sealed is the base64 text of it.
pub(crate) fn sealed_raw(server: &TestServer, address: &str, id: &str, key: &DecapsulationKey) -> Vec<u8> {
    let record = record(server, address, id, "/raw");
    let info = server.get("/api/server-info").json();
    let pinned = VerifyingKey::from_base64url(info["serverSigPk"].as_str().unwrap()).unwrap();
    let payload = SealedPayload::from_json(record["encryptedRaw"].to_string().as_bytes()).unwrap();
    let verified = payload.verify(&pinned, WireProfile::Service).unwrap();
    STANDARD.decode(verified.open(key).unwrap().expose()).unwrap()
}

/// A base64 JSON field (`metadata` or `parsed`) of an email in a plain inbox.
pub(crate) fn field(server: &TestServer, address: &str, id: &str, name: &str) -> Value {
    let email = record(server, address, id, "");
    serde_json::from_slice(&STANDARD.decode(email[name].as_str().unwrap()).unwrap()).unwrap()
}

fn record(server: &TestServer, address: &str, id: &str, part: &str) -> Value {
    let path = format!("/api/inboxes/{address}/emails/{id}{part}");
    server.get(&path).expect_status(200).json()
}
