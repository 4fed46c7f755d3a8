//! Whom the client trusts.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_client::Error;
use restante_testkit::receiver::Receiver;

use super::stage::{at_once, client_that_must_not_repeat, fine};

fn pem(der: &[u8]) -> String {
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        STANDARD.encode(der)
    )
}

#[tokio::test]
async fn an_authority_is_trusted_once_it_is_named() {
    let server = Receiver::start_tls(&["127.0.0.1"]);
    server.always(fine());
    let stranger = client_that_must_not_repeat(&server.url("")).build().unwrap();
    let error = at_once(stranger.check_key()).await.unwrap_err();
    assert!(matches!(&error, Error::Network { .. }), "{error:?}");
    let text = error.to_string();
    for part in ["UnknownIssuer", "authority of its own", "ca_certificate"] {
        assert!(text.contains(part), "{part:?} in {text:?}");
    }
    assert_eq!((server.connections(), server.requests().len()), (1, 0));

    let friend = client_that_must_not_repeat(&server.url("")).ca_certificate(pem(server.certificate()));
    friend.build().unwrap().check_key().await.unwrap();
}

#[tokio::test]
async fn a_certificate_of_another_name_is_told_at_once() {
    let server = Receiver::start_tls(&["mail.test"]);
    server.always(fine());
    let client = client_that_must_not_repeat(&server.url("")).ca_certificate(pem(server.certificate()));
    let error = at_once(client.build().unwrap().check_key()).await.unwrap_err();
    assert!(
        matches!(&error, Error::Network { reason, .. } if reason.contains("not valid for name")),
        "{error:?}"
    );
    assert_eq!((server.connections(), server.requests().len()), (1, 0));
}

#[tokio::test]
async fn a_server_without_tls_is_told_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut hello = [0; 5];
        connection.read_exact(&mut hello).unwrap();
        connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // Until the client has read it and goes.
        let _ = connection.read_to_end(&mut Vec::new());
    });
    let client = client_that_must_not_repeat(&url).build().unwrap();
    let error = at_once(client.check_key()).await.unwrap_err();
    assert!(
        matches!(&error, Error::Network { reason, .. } if reason.ends_with("does the server speak http:// there?")),
        "{error:?}"
    );
    server.join().unwrap();
}
