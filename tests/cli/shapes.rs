//! Every command once for machines and once for people; each shape and each text is pinned.

use std::collections::BTreeMap;

use restante_testkit::receiver::Receiver;
use serde_json::{Map, Value, json};

use crate::desk::Desk;

/// The commands in an order in which each succeeds; `ID`, `HOOK` and `DELIVERY` stand for what was made before.
const COMMANDS: &str = "\
inbox list
inbox info
inbox use hello@restante.test
inbox export hello@restante.test --out exported.json --force
inbox import exported.json --replace
email list
email list --limit 1 --unread
email view
email view ID --headers
email raw
email attachments
email attachments --save saved
email links
email auth
wait --subject Hello
wait --subject Hello --count 1
wait --none --subject Nothing --timeout 1
watch --existing --count 1
send --subject Sent --text Text
email mark-read ID
webhook list
webhook show HOOK
webhook update HOOK --description nightly
webhook test HOOK
webhook deliveries HOOK
webhook redeliver HOOK DELIVERY
webhook rotate HOOK
server info
server health
";

#[test]
fn machines_get_the_same_shapes_as_ever() {
    let stage = Stage::set();
    let mut shapes = BTreeMap::new();
    for (number, line) in COMMANDS.lines().enumerate() {
        let ran = stage
            .desk
            .run(stage.words(line).iter().chain(&["--json".to_owned()]))
            .expect(0);
        let shown: Vec<_> = ran.json_lines().iter().map(shape).collect();
        shapes.insert(format!("{:02} {line}", number + 1), shown);
    }
    insta::assert_json_snapshot!(shapes);
}

#[test]
fn people_get_the_same_texts_as_ever() {
    let stage = Stage::set();
    let mut texts = String::new();
    for line in COMMANDS.lines() {
        let ran = stage.desk.run(stage.words(line)).expect(0);
        texts += &["$ restante ", line, "\n", &stage.stable(&ran.all()), "\n"].concat();
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn what_is_deleted_is_gone() {
    let stage = Stage::set();
    let run = |line: &str| stage.desk.run(stage.words(line)).expect(0);
    let _ = run("email delete ID");
    assert_eq!(run("email list --json").json(), json!([]));
    let _ = run("webhook delete HOOK");
    assert_eq!(run("webhook list --json").json()["webhooks"], json!([]));
    let _ = run("inbox create second@restante.test");
    let _ = run("inbox delete second@restante.test --yes");
    assert_eq!(run("inbox list --json").json()["inboxes"].as_array().unwrap().len(), 1);
    // Nobody is there to be asked.
    let asked = stage.desk.run(["inbox", "delete", "--all"]).expect_error(&["--yes"]);
    assert!(asked.out.is_empty());
    let _ = run("inbox delete --all --yes");
    assert_eq!(run("inbox list --json").json()["inboxes"], json!([]));
}

/// A server with an inbox, a mail in it, and a webhook that was told of it.
struct Stage {
    desk: Desk,
    id: String,
    hook: String,
    delivery: String,
    receiver: Receiver,
}

impl Stage {
    fn set() -> Self {
        let desk = Desk::with_settings(&[("WEBHOOK_ALLOW_HTTP", "true")]);
        let receiver = Receiver::start();
        let address = desk.create_inbox(&["hello@restante.test"]);
        let target = receiver.url("/hook");
        let created = [
            "webhook",
            "create",
            &target,
            "--filter",
            "subject contains Hello",
            "--json",
        ];
        let created = desk.run(created).expect(0).json();
        let hook = created["id"].as_str().unwrap().to_owned();
        let id = desk.deliver_raw(&address, MESSAGE.replace('\n', "\r\n").as_bytes());
        let _ = receiver.block_for(1);
        let delivery = delivery(&desk, &hook);
        Self {
            desk,
            id,
            hook,
            delivery,
            receiver,
        }
    }

    fn words(&self, line: &str) -> Vec<String> {
        let named = line
            .replace("ID", &self.id)
            .replace("DELIVERY", &self.delivery)
            .replace("HOOK", &self.hook);
        named.split(' ').map(str::to_owned).collect()
    }

    /// The text with what differs from run to run replaced, and each gap of a table two spaces wide.
    fn stable(&self, text: &str) -> String {
        let server = self.desk.server();
        let mut text = text.to_owned();
        for (varying, name) in [
            (self.id.clone(), "msg_ID"),
            (self.id[self.id.len() - 8..].to_owned(), "SHORT-ID"),
            (self.hook.clone(), "whk_ID"),
            (self.delivery.clone(), "dlv_ID"),
            (server.http.to_string(), "127.0.0.1:HTTP"),
            (server.smtp.to_string(), "127.0.0.1:SMTP"),
            (self.receiver.address().to_string(), "127.0.0.1:HOOK"),
            (server.key_file.display().to_string(), "/data/.api-key"),
            (self.desk.path("").display().to_string(), "/home/somebody/"),
        ] {
            text = text.replace(&varying, name);
        }
        text.lines().map(stable_line).collect()
    }
}

/// The line without the moments, durations and secrets in it.
fn stable_line(line: &str) -> String {
    let mut words: Vec<_> = line.split(' ').map(stable_word).collect();
    for place in 0..words.len().saturating_sub(1) {
        let is_number = words[place].bytes().all(|byte| byte.is_ascii_digit()) && !words[place].is_empty();
        if is_number && ["s", "ms", "s)"].contains(&words[place + 1].as_str()) {
            "N".clone_into(&mut words[place]);
        }
    }
    let mut stable = words.join(" ");
    while stable.contains("   ") {
        stable = stable.replace("   ", "  ");
    }
    for unstable in ["(envelope-from", "{\"id\":\"evt_test_"] {
        stable.truncate(stable.find(unstable).unwrap_or(stable.len()));
    }
    stable + "\n"
}

/// Moments have two colons, secrets and ids a prefix.
fn stable_word(word: &str) -> String {
    let is_moment = word.matches(':').count() == 2 && word.trim_end_matches([')', ',']).ends_with('Z');
    let prefixes = ["whsec_", "msg_0"];
    match prefixes.iter().find(|prefix| word.starts_with(**prefix)) {
        Some(prefix) => format!("{prefix}…"),
        None if is_moment => "MOMENT".to_owned(),
        None if word.ends_with('…') => "START…".to_owned(),
        None => word.to_owned(),
    }
}

/// The outcome is in the log a moment after the answer of the target.
fn delivery(desk: &Desk, hook: &str) -> String {
    for _ in 0..1000 {
        let logged = desk.run(["webhook", "deliveries", hook, "--json"]).expect(0).json();
        if logged["deliveries"][0]["status"] == "success" {
            return logged["deliveries"][0]["id"].as_str().unwrap().to_owned();
        }
    }
    panic!("the delivery is not logged")
}

const MESSAGE: &str = "\
From: Shop <noreply@shop.test>
To: hello@restante.test
Subject: Hello
Date: Fri, 20 Nov 2026 10:00:00 +0000
Message-ID: <1@shop.test>
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: multipart/alternative; boundary=c

--c
Content-Type: text/plain

Confirm: https://shop.test/confirm?t=1
--c
Content-Type: text/html

<h1>Hello</h1><p>Please <a href=\"https://shop.test/confirm?t=1\">confirm</a>.</p>
--c--
--b
Content-Type: application/pdf
Content-Disposition: attachment; filename=\"receipt.pdf\"

not really
--b--
";

/// What kinds of values stand where: fields keep their names, values lose theirs.
fn shape(value: &Value) -> Value {
    match value {
        Value::Null => json!("null"),
        Value::Bool(_) => json!("boolean"),
        Value::Number(_) => json!("number"),
        Value::String(_) => json!("string"),
        Value::Array(values) => values.first().map_or(json!([]), |first| json!([shape(first)])),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), shape(value)))
                .collect::<Map<_, _>>(),
        ),
    }
}
