//! Keys are printed by the commands that are there to print them, and by no other.

use restante_testkit::receiver::Receiver;

use crate::desk::Desk;

#[test]
fn no_other_output_holds_a_key() {
    let desk = Desk::with_settings(&[("WEBHOOK_ALLOW_HTTP", "true")]);
    let receiver = Receiver::start();
    let created = desk.run(["inbox", "create", "--encrypted"]).expect(0);
    let json = desk.run(["inbox", "create", "--encrypted", "--json"]).expect(0);
    let address = json.json()["emailAddress"].as_str().unwrap().to_owned();
    let exported = desk.run(["inbox", "export", "--out", "-"]).expect(0).json();
    let webhook = desk
        .run(["webhook", "create", &receiver.url("/"), "--json"])
        .expect(0)
        .json();
    let id = webhook["id"].as_str().unwrap();
    let _ = desk.deliver(&address, "Sealed", "x");
    let mut said = vec![created, json];
    let commands: [&[&str]; 16] = [
        &["inbox", "list"],
        &["inbox", "info"],
        &["inbox", "use", &address],
        &["inbox", "export", "--out", "exported.json"],
        &["inbox", "import", "exported.json", "--replace"],
        &["email", "list"],
        &["email", "view"],
        &["email", "auth"],
        &["wait"],
        &["watch", "--existing", "--count", "1"],
        &["send"],
        &["server", "info"],
        &["server", "health"],
        &["webhook", "list"],
        &["webhook", "update", id, "--disable"],
        &["webhook", "deliveries", id],
    ];
    for command in commands {
        said.push(desk.run(command).expect(0));
        said.push(desk.run(command.iter().chain(&["--json"])));
    }
    for failing in [
        &["inbox", "list", "--url", "http://[::1"][..],
        &["inbox", "create", &address],
        &["wait", "--x"],
    ] {
        said.push(desk.run(failing).expect(2));
    }
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let secrets = [
        ("API key", desk.server().key()),
        ("secret key", text(&exported["secretKey"])[1000..1040].to_owned()),
        ("webhook secret", text(&webhook["secret"])),
    ];
    for (name, secret) in &secrets {
        assert!(secret.len() >= 32, "{name}");
        for ran in &said {
            assert!(!ran.all().contains(secret), "{name} in {ran:?}");
        }
    }
}

#[test]
fn the_secret_of_a_webhook_is_printed_when_it_is_asked_for() {
    let desk = Desk::with_settings(&[("WEBHOOK_ALLOW_HTTP", "true")]);
    let receiver = Receiver::start();
    let webhook = desk
        .run(["webhook", "create", &receiver.url("/"), "--json"])
        .expect(0)
        .json();
    let (id, secret) = (webhook["id"].as_str().unwrap(), webhook["secret"].as_str().unwrap());
    let shown = desk.run(["webhook", "show", id, "--secret"]).expect(0);
    assert_eq!(shown.out, format!("{secret}\n"));
}
