//! A server whose certificate is from its own authority.

use crate::desk::Desk;

#[test]
fn the_authority_of_a_server_is_trusted_when_it_is_named() {
    let desk = Desk::with_settings(&[
        ("TLS_SELF_SIGNED", "true"),
        ("SERVER_HTTPS_ENABLED", "true"),
        ("SERVER_HTTPS_PORT", "0"),
    ]);
    let server = desk.server();
    let (url, key) = (
        format!("https://localhost:{}", server.https.unwrap().port()),
        server.key(),
    );
    let smtp = format!("localhost:{}", server.smtp.port());
    let authority = server.authority.as_ref().unwrap().to_str().unwrap();
    let environment = [
        ("RESTANTE_URL", url.as_str()),
        ("RESTANTE_API_KEY", key.as_str()),
        ("RESTANTE_SMTP", smtp.as_str()),
    ];
    let _ = desk
        .run_with(&environment, &["inbox", "create"])
        .expect_error(&["--ca-file"]);
    let trusted = |arguments: &[&str]| {
        let arguments: Vec<_> = arguments.iter().chain(&["--ca-file", authority]).copied().collect();
        desk.run_with(&environment, &arguments).expect(0)
    };
    let _ = trusted(&["inbox", "create", "--encrypted"]);
    let _ = trusted(&["send", "--subject", "Beside TLS"]);
    assert!(trusted(&["wait", "--subject", "beside tls"]).out.contains("Beside TLS"));
    // Mail goes in the clear; whoever names a port of TLS is told, and nothing is sent in the clear to it.
    let told = desk.run_with(
        &environment,
        &["send", "--smtp", "smtps://localhost:1", "--ca-file", authority],
    );
    let _ = told.expect_error(&["TLS"]);
}
