//! Every dialogue of `tests/dialogues` over TCP: what the server says, and what it has stored afterwards.

use std::collections::BTreeMap;
use std::path::Path;

use restante_testkit::dialogue::{Auth, Dialogue, Ending, Exchange, matches};
use serde_json::json;

use crate::harness::TestServer;
use crate::peer::Peer;
use crate::stored;

/// How the bytes of the client are cut into writes.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// Each packet waits for the answer to the one before.
    Packets,
    /// All at once, answers read afterwards.
    Together,
}

/// What makes a server fit for a dialogue: the variables of its limits and of AUTH.
fn variables(dialogue: &Dialogue) -> Vec<(&'static str, String)> {
    let limits = &dialogue.limits;
    let text = |limit: Option<usize>, name| Some((name, limit?.to_string()));
    let limits = [
        text(limits.message_bytes, "SMTP_MAX_MESSAGE_SIZE"),
        text(limits.header_bytes, "SMTP_MAX_HEADER_SIZE"),
        text(limits.recipients, "SMTP_MAX_RECIPIENTS"),
        (dialogue.auth == Auth::AcceptAny).then(|| ("SMTP_AUTH", "accept-any".to_owned())),
    ];
    limits.into_iter().flatten().collect()
}

/// The dialogues by the servers that they need.
fn groups() -> BTreeMap<Vec<(&'static str, String)>, Vec<Dialogue>> {
    let all = Dialogue::read_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("dialogues"));
    assert!(all.len() >= 80, "only {} dialogues", all.len());
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for dialogue in all {
        groups.entry(variables(&dialogue)).or_default().push(dialogue);
    }
    groups
}

#[test]
fn every_dialogue_is_answered_and_stored_as_its_file_says() {
    for (variables, dialogues) in groups() {
        let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let server = TestServer::start(&variables);
        for dialogue in &dialogues {
            for cut in [Cut::Packets, Cut::Together] {
                replay(&server, dialogue, cut);
            }
        }
    }
}

fn replay(server: &TestServer, dialogue: &Dialogue, cut: Cut) {
    for address in &dialogue.inboxes {
        let _ = server.create_plain(address);
    }
    let said = converse(server, dialogue, cut);
    check_stored(server, dialogue, cut, &said);
    let deleted = server.request("DELETE", "/api/inboxes", None).expect_status(200).json();
    assert_eq!(deleted, json!({ "deleted": dialogue.inboxes.len() }));
}

/// Plays the client and gives back all that the server said, which has been compared with the file.
fn converse(server: &TestServer, dialogue: &Dialogue, cut: Cut) -> Vec<String> {
    let mut peer = Peer::connect(server.smtp).unwrap();
    let mut said = Vec::new();
    let mut exchanges = dialogue.exchanges.clone();
    if matches!(cut, Cut::Together) {
        exchanges = vec![Exchange {
            client: exchanges.iter().flat_map(|exchange| exchange.client.clone()).collect(),
            server: exchanges.into_iter().flat_map(|exchange| exchange.server).collect(),
        }];
    }
    for exchange in &exchanges {
        peer.send(&exchange.client).unwrap();
        for pattern in &exchange.server {
            let line = peer.line().unwrap_or_else(|error| {
                panic!(
                    "{}, {cut:?}: expected {pattern:?} after {said:#?}: {error}",
                    dialogue.name
                )
            });
            assert!(
                matches(pattern, &line),
                "{}, {cut:?}: {line:?} is not {pattern:?}",
                dialogue.name
            );
            said.push(line);
        }
    }
    if dialogue.ending == Ending::Open {
        peer.finish();
    }
    assert_eq!(peer.rest(), "", "{}, {cut:?}: said after the end", dialogue.name);
    said
}

/// As many mails as ids in the replies, and the messages byte for byte.
fn check_stored(server: &TestServer, dialogue: &Dialogue, cut: Cut, said: &[String]) {
    let acknowledged: usize = said.iter().map(|line| line.matches(" msg_").count()).sum();
    let inboxes = dialogue.inboxes.iter();
    let stored: Vec<_> = inboxes.map(|address| stored::messages(server, address)).collect();
    let count: usize = stored.iter().map(Vec::len).sum();
    assert_eq!(count, acknowledged, "{}, {cut:?}: mails", dialogue.name);
    if dialogue.messages.is_empty() {
        return;
    }
    let readable = |messages: &[Vec<u8>]| -> Vec<String> {
        let texts = messages.iter().map(|message| message.escape_ascii().to_string());
        texts.collect()
    };
    for inbox in stored {
        assert_eq!(
            readable(&inbox),
            readable(&dialogue.messages),
            "{}, {cut:?}",
            dialogue.name
        );
    }
}
