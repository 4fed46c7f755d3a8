//! The certificate that all listeners share, and how it follows its files.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use restante_model::{Clock, Timestamp};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::acceptor::{Acceptor, Protocol};
use crate::certificate::{Certificate, CertificateError, CertificateFiles, Content};
use crate::provider::provider;
use crate::validity::{Untimely, Validity, validity};

/// The certificate of all listeners.
///
/// Acceptors made from it answer each handshake with the certificate that holds then.
#[derive(Debug)]
pub struct Tls {
    files: CertificateFiles,
    provider: Arc<CryptoProvider>,
    shared: Arc<Shared>,
    certificate: Certificate,
    seen: Content,
    /// What the files failed with when they were last looked at.
    failure: Option<String>,
    /// What was said of the certificate's time.
    said: Option<Untimely>,
}

/// The certificate that holds, as handshakes see it.
#[derive(Debug)]
struct Shared(RwLock<Arc<CertifiedKey>>);

/// The certificate that holds, for whoever asks; it follows the files as its [`Tls`] does.
#[derive(Debug, Clone)]
pub struct CertificateInUse(Arc<Shared>);

/// What a look at the files showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Same,
    Reloaded,
    Failed,
    /// With the same failure as before.
    StillFailed,
}

impl Tls {
    /// Loads and checks the files.
    ///
    /// # Errors
    /// [`CertificateError`].
    pub fn load(files: CertificateFiles) -> Result<Self, CertificateError> {
        let provider = provider();
        let seen = files.read()?;
        let certificate = Certificate::check(&files, &seen, &provider)?;
        Ok(Self {
            files,
            provider,
            shared: Arc::new(Shared(RwLock::new(Arc::clone(&certificate.key)))),
            certificate,
            seen,
            failure: None,
            said: None,
        })
    }

    /// The certificate that holds.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The certificate that holds, at any later moment too.
    pub fn in_use(&self) -> CertificateInUse {
        CertificateInUse(Arc::clone(&self.shared))
    }

    /// Takes connections for a listener: TLS 1.2 and 1.3, with the certificate that holds when each begins; a handshake
    /// must be done within the time.
    pub fn acceptor(&self, protocol: Protocol, within: Duration) -> Acceptor {
        let config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .expect("the provider has suites of TLS 1.2 and 1.3");
        let mut config = config
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&self.shared) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = protocol.alpn();
        Acceptor::new(config, within)
    }

    /// Warns if clients refuse the certificate at this moment, or soon will; once for each reason.
    pub fn warn_if_untimely(&mut self, now: Timestamp) {
        if let Some(untimely) = self.news(now) {
            tracing::warn!("the TLS certificate {untimely}");
        }
    }

    /// What is to be said of the certificate's time, and was not yet.
    fn news(&mut self, now: Timestamp) -> Option<Untimely> {
        let found = self.certificate.validity().and_then(|validity| validity.untimely(now));
        let former = std::mem::replace(&mut self.said, found);
        found.filter(|_| found != former)
    }

    /// Follows the files for ever, with a pause between looks; files that are broken change nothing.
    ///
    /// It warns of a certificate whose time is over, or soon will be.
    /// It reads them each time: they are small, and no other way sees every change, through links of links and on
    /// every file system (docs/adr/0011).
    pub async fn follow(mut self, clock: Arc<dyn Clock>, pause: Duration) {
        loop {
            tokio::time::sleep(pause).await;
            let files = self.files.clone();
            let read = tokio::task::spawn_blocking(move || files.read()).await;
            self.consider(read.expect("reading files does not panic"));
            self.warn_if_untimely(clock.now());
        }
    }

    /// Takes what was read if it is new and whole; says so, or why not, once.
    fn consider(&mut self, read: Result<Content, CertificateError>) -> Look {
        let failure = match read {
            Ok(content) if content == self.seen => {
                self.failure = None;
                return Look::Same;
            }
            Ok(content) => match Certificate::check(&self.files, &content, &self.provider) {
                Ok(certificate) => {
                    self.take(certificate, content);
                    return Look::Reloaded;
                }
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        if self.failure.as_ref() == Some(&failure) {
            return Look::StillFailed;
        }
        tracing::error!("the former certificate stays: {failure}");
        self.failure = Some(failure);
        Look::Failed
    }

    fn take(&mut self, certificate: Certificate, content: Content) {
        self.shared.set(Arc::clone(&certificate.key));
        tracing::info!("a new certificate is in use: {certificate}");
        self.certificate = certificate;
        self.seen = content;
        self.failure = None;
        self.said = None;
    }
}

impl CertificateInUse {
    /// From when to when it is good; `None` if it does not say so in the usual way.
    pub fn validity(&self) -> Option<Validity> {
        validity(self.0.key().cert.first()?)
    }
}

impl Shared {
    fn key(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, key: Arc<CertifiedKey>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = key;
    }
}

impl ResolvesServerCert for Shared {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.key())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use restante_model::SystemClock;
    use rustls::version::TLS13;

    use super::*;
    use crate::testing::{LOOKS_MAX, Pair, client, files_in, shake, tls_of};

    fn look(tls: &mut Tls) -> Look {
        let read = tls.files.read();
        tls.consider(read)
    }

    /// Whether a client that trusts this certificate alone gets through.
    async fn shows(acceptor: &Acceptor, pair: &Pair) -> bool {
        shake(acceptor, client(pair, &[&TLS13]), "a.test").await.is_ok()
    }

    fn acceptor(tls: &Tls) -> Acceptor {
        tls.acceptor(Protocol::Smtp, Duration::from_secs(10))
    }

    #[tokio::test]
    async fn a_new_pair_holds_from_the_next_handshake_on() {
        let (old, new) = (Pair::new("a.test"), Pair::new("a.test"));
        let (_directory, mut tls) = tls_of(&old);
        let acceptor = acceptor(&tls);
        let _open = shake(&acceptor, client(&old, &[&TLS13]), "a.test").await.unwrap();
        assert_eq!(look(&mut tls), Look::Same);

        new.write(&tls.files);
        assert!(shows(&acceptor, &old).await, "not before a look");
        assert_eq!(look(&mut tls), Look::Reloaded);
        assert!(shows(&acceptor, &new).await && !shows(&acceptor, &old).await);
        assert_eq!(look(&mut tls), Look::Same);
    }

    #[tokio::test]
    async fn files_that_are_touched_or_written_again_are_no_new_ones() {
        let pair = Pair::new("a.test");
        let (_directory, mut tls) = tls_of(&pair);
        fs::remove_file(&tls.files.chain).unwrap();
        pair.write(&tls.files);
        assert_eq!(look(&mut tls), Look::Same);
    }

    #[tokio::test]
    async fn a_pair_that_is_half_there_changes_nothing_until_it_is_whole() {
        let (old, new) = (Pair::new("a.test"), Pair::new("a.test"));
        let (_directory, mut tls) = tls_of(&old);
        let (files, acceptor) = (tls.files.clone(), acceptor(&tls));
        let half = |text: &str| text[..text.len() / 2].to_owned();
        for (chain, key) in [
            (half(&new.chain), old.key.clone()),
            (String::new(), old.key.clone()),
            (new.chain.clone(), old.key.clone()),
            (new.chain.clone(), half(&new.key)),
        ] {
            fs::write(&files.chain, chain).unwrap();
            fs::write(&files.key, key).unwrap();
            assert_eq!(look(&mut tls), Look::Failed);
            assert_eq!(look(&mut tls), Look::StillFailed, "said once");
            assert!(shows(&acceptor, &old).await);
        }
        fs::remove_file(&files.chain).unwrap();
        assert_eq!(look(&mut tls), Look::Failed);

        new.write(&files);
        assert_eq!(look(&mut tls), Look::Reloaded);
        assert!(shows(&acceptor, &new).await);
    }

    #[tokio::test]
    async fn a_failure_that_comes_back_is_said_again() {
        let pair = Pair::new("a.test");
        let (_directory, mut tls) = tls_of(&pair);
        for _ in 0..2 {
            fs::write(&tls.files.chain, "").unwrap();
            assert_eq!(look(&mut tls), Look::Failed);
            pair.write(&tls.files);
            assert_eq!(look(&mut tls), Look::Same);
        }
    }

    /// As Kubernetes hands out secrets: the files are links through `..data`, itself a link that is replaced by renaming.
    #[tokio::test]
    async fn a_link_that_is_swapped_is_followed() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let (old, new) = (Pair::new("a.test"), Pair::new("a.test"));
        for (pair, directory) in [(&old, "..first"), (&new, "..second")] {
            fs::create_dir(at(directory)).unwrap();
            pair.write(&files_in(&at(directory)));
        }
        symlink("..first", at("..data")).unwrap();
        for name in ["chain.pem", "key.pem"] {
            symlink(Path::new("..data").join(name), at(name)).unwrap();
        }
        let mut tls = Tls::load(files_in(root.path())).unwrap();
        let acceptor = acceptor(&tls);
        assert!(shows(&acceptor, &old).await);

        symlink("..second", at("..data_tmp")).unwrap();
        fs::rename(at("..data_tmp"), at("..data")).unwrap();
        fs::remove_dir_all(at("..first")).unwrap();
        assert_eq!(look(&mut tls), Look::Reloaded);
        assert!(shows(&acceptor, &new).await);
    }

    #[tokio::test]
    async fn a_certificate_out_of_its_time_is_told_once_for_each_reason() {
        let moment = |text: &str| Timestamp::parse(text).unwrap();
        let (begin, end) = (moment("2030-01-01T00:00:00Z"), moment("2030-03-01T00:00:00Z"));
        let (_directory, mut tls) = tls_of(&Pair::between("a.test", begin, end));
        for (now, expected) in [
            ("2029-12-31T00:00:00Z", Some(Untimely::NotYet(begin))),
            ("2029-12-31T12:00:00Z", None),
            ("2030-02-01T00:00:00Z", None),
            ("2030-02-25T00:00:00Z", Some(Untimely::EndsSoon(end))),
            ("2030-02-26T00:00:00Z", None),
            ("2030-03-02T00:00:00Z", Some(Untimely::Ended(end))),
            ("2030-04-01T00:00:00Z", None),
        ] {
            assert_eq!(tls.news(moment(now)), expected, "{now}");
        }
        // One that is as old is another reason all the same.
        Pair::between("a.test", begin, end).write(&tls.files);
        assert_eq!(look(&mut tls), Look::Reloaded);
        assert_eq!(tls.news(moment("2030-04-01T00:00:00Z")), Some(Untimely::Ended(end)));
    }

    #[test]
    fn the_validity_is_that_of_the_certificate_that_holds() {
        let moment = |text: &str| Timestamp::parse(text).unwrap();
        let begin = moment("2030-01-01T00:00:00Z");
        let ends = [moment("2030-03-01T00:00:00Z"), moment("2031-03-01T00:00:00Z")];
        let (_directory, mut tls) = tls_of(&Pair::between("a.test", begin, ends[0]));
        let in_use = tls.in_use();
        assert_eq!(in_use.validity(), Some(Validity { begin, end: ends[0] }));
        Pair::between("a.test", begin, ends[1]).write(&tls.files);
        assert_eq!(look(&mut tls), Look::Reloaded);
        assert_eq!(in_use.validity(), Some(Validity { begin, end: ends[1] }));
    }

    #[tokio::test(start_paused = true)]
    async fn following_looks_again_and_again() {
        let (old, new) = (Pair::new("a.test"), Pair::new("a.test"));
        let (directory, tls) = tls_of(&old);
        let (files, acceptor) = (files_in(directory.path()), acceptor(&tls));
        let following = tls.follow(Arc::new(SystemClock), Duration::from_secs(2));
        let watching = async {
            for pair in [&new, &old, &new] {
                pair.write(&files);
                // Only the paused clock passes, and only while nobody reads files.
                let mut looks = 0..LOOKS_MAX;
                while !shows(&acceptor, pair).await {
                    looks.next().expect("the new pair is taken");
                    tokio::time::sleep(Duration::from_secs(2)).await;
                }
            }
        };
        tokio::select! {
            () = following => unreachable!("it never ends"),
            () = watching => {}
        }
    }
}
