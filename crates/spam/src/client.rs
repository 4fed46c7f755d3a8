//! The HTTP client: whom it trusts, and what it does not do of its own accord.

use std::sync::Arc;

use reqwest::{Client, redirect};
use rustls::{ClientConfig, RootCertStore};
use url::Url;

use crate::SpamError;
use crate::resolver::FewAtOnce;

/// A client for rspamd at this URL.
pub(crate) fn for_url(url: &Url) -> Result<Client, SpamError> {
    let mut roots = RootCertStore::empty();
    // Without TLS nobody asks for them, and reading them takes a while.
    if url.scheme() == "https" {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(SpamError::NoAuthorities);
        }
    }
    trusting(roots)
}

fn trusting(roots: RootCertStore) -> Result<Client, SpamError> {
    let client = Client::builder()
        .tls_backend_preconfigured(tls(roots))
        .http1_only()
        .dns_resolver(FewAtOnce::new())
        // A redirect leads where nobody has sent the mail.
        .redirect(redirect::Policy::none())
        // So does a proxy of the environment.
        .no_proxy()
        // A connection for each message: rspamd ends it after the answer even where it is asked not to. One that a proxy
        // keeps may end just as it is used again, which looks like a message that killed rspamd.
        .pool_max_idle_per_host(0)
        .user_agent(concat!("restante/", env!("CARGO_PKG_VERSION")));
    Ok(client.build()?)
}

fn tls(roots: RootCertStore) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has the cipher suites of TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// Where rspamd takes messages: `/checkv2` below the base URL.
pub(crate) fn endpoint(mut base: Url) -> Result<Url, SpamError> {
    if !matches!(base.scheme(), "http" | "https") {
        return Err(SpamError::Url);
    }
    base.path_segments_mut()
        .map_err(|()| SpamError::Url)?
        .pop_if_empty()
        .push("checkv2");
    Ok(base)
}

#[cfg(test)]
mod tests {
    use restante_testkit::receiver::{Answer, Receiver};
    use rustls::pki_types::CertificateDer;

    use super::*;

    #[test]
    fn the_endpoint_is_below_the_base() {
        for (base, expected) in [
            ("http://localhost:11333", "http://localhost:11333/checkv2"),
            ("http://localhost:11333/", "http://localhost:11333/checkv2"),
            ("https://a.test/rspamd", "https://a.test/rspamd/checkv2"),
            ("https://a.test/x/y/", "https://a.test/x/y/checkv2"),
        ] {
            assert_eq!(endpoint(base.parse().unwrap()).unwrap().as_str(), expected);
        }
        for base in ["mailto:a@b.test", "ftp://a.test/"] {
            assert!(matches!(endpoint(base.parse().unwrap()), Err(SpamError::Url)), "{base}");
        }
    }

    #[tokio::test]
    async fn tls_is_spoken_with_whom_it_trusts() {
        let receiver = Receiver::start_tls(&["localhost"]);
        receiver.always(Answer::status(204));
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from(receiver.certificate().to_vec()))
            .unwrap();
        let post = trusting(roots).unwrap().post(receiver.url_of("localhost", "/"));
        assert_eq!(post.body("x").send().await.unwrap().status(), 204);
    }
}
