//! Where webhooks may be sent (decisions, section 7).

use restante_testkit::dns::DnsServer;

use super::*;

/// Targets on private ground, in spellings that hide it.
const FORBIDDEN: [&str; 10] = [
    "https://127.0.0.1/",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://10.0.0.1:8443/",
    "https://169.254.169.254/latest/meta-data/",
    "https://[::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[fd00::1]/",
    "https://0.0.0.0/",
];

#[test]
fn private_addresses_are_refused_unless_they_are_allowed() {
    let server = TestServer::start(&[]);
    server.create_plain(BOB);
    let allowing = TestServer::start(&[("WEBHOOK_ALLOW_PRIVATE_TARGETS", "true")]);
    for url in FORBIDDEN {
        let body = wanted(url, &["email.stored"], &json!({}));
        for at in [GLOBAL, &webhooks_of(BOB)] {
            let answer = post(&server, at, &body).expect_status(400).json();
            let message = answer["message"].as_str().unwrap();
            assert!(message.starts_with("url "), "{url}: {message}");
        }
        let hook = Hook::create(&allowing, GLOBAL, &body);
        assert_eq!(hook.created["url"], url, "kept as given");
    }
    assert_eq!(server.get(GLOBAL).json()["total"], 0);
}

#[test]
fn allowing_http_allows_private_targets_unless_that_is_set_apart() {
    let server = start(&[("WEBHOOK_ALLOW_PRIVATE_TARGETS", "false")]);
    post(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &json!({}))).expect_status(400);
    Hook::create(&start(&[]), GLOBAL, &wanted(NOBODY, &["email.stored"], &json!({})));
}

#[test]
fn a_name_is_judged_by_where_it_leads() {
    let dns = DnsServer::start(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/dns"));
    dns.add("inside.hooks.test. 60 IN A 10.1.2.3\n");
    dns.add("both.hooks.test. 60 IN A 93.184.216.34\nboth.hooks.test. 60 IN A 127.0.0.1\n");
    dns.add("outside.hooks.test. 60 IN A 93.184.216.34\n");
    let resolver = dns.address().to_string();
    let server = TestServer::start(&[("DNS_RESOLVER", &resolver)]);
    let create = |host: &str| {
        post(
            &server,
            GLOBAL,
            &wanted(&format!("https://{host}/"), &["email.stored"], &json!({})),
        )
    };
    for host in ["inside.hooks.test", "both.hooks.test"] {
        let answer = create(host).expect_status(400).json();
        assert!(answer["message"].as_str().unwrap().starts_with("url "), "{answer}");
    }
    // One that leads outside, and one that leads nowhere yet.
    create("outside.hooks.test").expect_status(201);
    let nowhere = create("nowhere.hooks.test").expect_status(201).json();
    let path = format!("{GLOBAL}/{}", nowhere["id"].as_str().unwrap());
    patch(&server, &path, &json!({ "url": "https://inside.hooks.test/" })).expect_status(400);
    // What the name leads to later counts when it is sent to.
    dns.add("nowhere.hooks.test. 60 IN A 127.0.0.1\n");
    let test = post(&server, &format!("{path}/test"), &json!({}))
        .expect_status(200)
        .json();
    assert_eq!(test["success"], false);
    assert!(test["error"].as_str().is_some_and(|error| !error.is_empty()), "{test}");
    assert_eq!(test.get("statusCode"), None);
}
