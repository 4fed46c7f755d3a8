//! A certificate authority of one server, for whoever has no certificate: its certificate is what clients are told to
//! trust, so it is made once and kept; the server's own certificate is renewed from it.

mod params;

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{Issuer, KeyPair};
use restante_model::{Clock, Domain, Timestamp};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use zeroize::Zeroizing;

use crate::certificate::{Certificate, CertificateError, CertificateFiles};
use crate::provider::provider;
use crate::replace::{PUBLIC, SECRET, replace};
use crate::validity::Validity;

const DAY: Duration = Duration::from_hours(24);
/// What has less than this left is made anew.
const RENEW_DAYS: u32 = 30;

/// A certificate authority in a directory, and the names that the server's certificate is for.
#[derive(Debug, Clone)]
pub struct LocalAuthority {
    directory: PathBuf,
    names: Vec<ServerName<'static>>,
}

/// What [`LocalAuthority::renew`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// The server's certificate was good.
    Kept,
    /// It was made, or made anew, by the authority that was there.
    Issued,
    /// The authority's certificate was made, too, or made anew: clients must trust it.
    Founded,
}

/// Why there is no certificate of the authority.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// What is kept cannot be used; it is never overwritten.
    #[error(transparent)]
    Kept(#[from] CertificateError),
    /// A file cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A certificate cannot be made.
    #[error("{}: a certificate cannot be made: {source}", path.display())]
    Make {
        /// The directory of the authority.
        path: PathBuf,
        /// The library's reason.
        source: rcgen::Error,
    },
}

impl LocalAuthority {
    /// An authority in this directory, for these names and addresses beside `localhost` and the loopback addresses.
    ///
    /// Names that no certificate can hold are left out.
    pub fn new(
        directory: PathBuf,
        names: impl IntoIterator<Item = Domain>,
        addresses: impl IntoIterator<Item = IpAddr>,
    ) -> Self {
        let names = names.into_iter().map(|name| name.to_string());
        let given = names.chain(addresses.into_iter().map(|address| address.to_string()));
        let all = given.chain(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
        let mut names = Vec::new();
        for name in all.filter_map(|name| ServerName::try_from(name).ok()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Self { directory, names }
    }

    /// The authority's certificate: what clients are to trust.
    pub fn certificate_path(&self) -> PathBuf {
        self.directory.join("authority.pem")
    }

    /// The server's certificate and key: one file, so that they change at once.
    pub fn files(&self) -> CertificateFiles {
        let path = self.directory.join("server.pem");
        CertificateFiles {
            chain: path.clone(),
            key: path,
        }
    }

    /// Makes whatever is missing, has less than 30 days left, or is not for all names.
    ///
    /// # Errors
    /// [`AuthorityError`].
    pub fn renew(&self, now: Timestamp) -> Result<Renewal, AuthorityError> {
        let kept = self.kept_files();
        let is_founded = !is_missing(&kept.chain) && lasts(&kept, now)?;
        if !is_founded {
            self.found(now)?;
        }
        let authority = Certificate::load(&kept)?;
        if is_founded && self.is_good(&authority.chain()[0], now) {
            return Ok(Renewal::Kept);
        }
        self.issue(now)?;
        Ok(if is_founded { Renewal::Issued } else { Renewal::Founded })
    }

    /// Renews in time, for ever, with a pause between looks; the certificate's files tell their followers.
    pub async fn keep(self, clock: Arc<dyn Clock>, pause: Duration) {
        loop {
            tokio::time::sleep(pause).await;
            let (authority, now) = (self.clone(), clock.now());
            let renewed = tokio::task::spawn_blocking(move || authority.renew(now)).await;
            match renewed.expect("making a certificate does not panic") {
                Ok(Renewal::Kept) => {}
                Ok(Renewal::Issued) => tracing::info!("the local authority has renewed the certificate"),
                Ok(Renewal::Founded) => tracing::warn!(
                    "the local authority was at its end, or ahead of the clock; clients must trust the new one: {}",
                    self.certificate_path().display()
                ),
                Err(error) => tracing::error!("the local authority cannot renew the certificate: {error}"),
            }
        }
    }

    /// The authority's certificate and key.
    fn kept_files(&self) -> CertificateFiles {
        CertificateFiles {
            chain: self.certificate_path(),
            key: self.directory.join("authority-key.pem"),
        }
    }

    /// Makes the authority's certificate, and its key if there is none.
    ///
    /// The key stays: the certificate is then one file that is replaced at once, and what was signed stays good.
    fn found(&self, now: Timestamp) -> Result<(), AuthorityError> {
        let files = self.kept_files();
        if is_missing(&files.key) {
            let key = self.made(KeyPair::generate())?;
            write(&files.key, &Zeroizing::new(key.serialize_pem()), SECRET)?;
        }
        let key = self.kept_key()?;
        let certificate = self.made(params::authority(&key, now).self_signed(&key))?;
        write(&files.chain, &certificate.pem(), PUBLIC)
    }

    /// Makes the server's certificate, with a key of its own.
    fn issue(&self, now: Timestamp) -> Result<(), AuthorityError> {
        let authority_key = self.kept_key()?;
        let authority = Issuer::new(params::authority(&authority_key, now), authority_key);
        let key = self.made(KeyPair::generate())?;
        let certificate = self.made(params::server(&self.names, now).signed_by(&key, &authority))?;
        let key = Zeroizing::new(key.serialize_pem());
        let both = Zeroizing::new(format!("{}{}", certificate.pem(), *key));
        write(&self.files().chain, &both, SECRET)
    }

    fn kept_key(&self) -> Result<KeyPair, AuthorityError> {
        let path = self.kept_files().key;
        let pem = fs::read_to_string(&path).map_err(|source| CertificateError::Read { path, source })?;
        self.made(KeyPair::from_pem(&Zeroizing::new(pem)))
    }

    /// Whether a client that trusts the authority takes the certificate under every name, now and for a while yet.
    fn is_good(&self, authority: &CertificateDer<'_>, now: Timestamp) -> bool {
        let Ok(certificate) = Certificate::load(&self.files()) else {
            return false;
        };
        let mut roots = RootCertStore::empty();
        let Ok(()) = roots.add(authority.clone().into_owned()) else {
            return false;
        };
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build();
        let Ok(verifier) = verifier else {
            return false;
        };
        let (server, others) = certificate.chain().split_first().expect("a chain is never empty");
        let takes = |name: &ServerName<'_>, moment: Timestamp| {
            let moment = UnixTime::since_unix_epoch(Duration::from_secs(moment.unix_secs()));
            verifier.verify_server_cert(server, others, name, &[], moment).is_ok()
        };
        let moments = [now, now.after(DAY * RENEW_DAYS)];
        self.names
            .iter()
            .all(|name| moments.into_iter().all(|moment| takes(name, moment)))
    }

    fn made<T>(&self, made: Result<T, rcgen::Error>) -> Result<T, AuthorityError> {
        made.map_err(|source| AuthorityError::Make {
            path: self.directory.clone(),
            source,
        })
    }
}

/// Whether the authority is good, and for a while yet; one without readable dates is nobody's but its owner's to judge.
///
/// It has not begun if it was made while the clock was ahead.
fn lasts(kept: &CertificateFiles, now: Timestamp) -> Result<bool, AuthorityError> {
    let authority = Certificate::load(kept)?;
    let lasts = |validity: Validity| validity.contains(now) && validity.contains(now.after(DAY * RENEW_DAYS));
    Ok(authority.validity().is_none_or(lasts))
}

fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn write(path: &Path, text: &str, mode: u32) -> Result<(), AuthorityError> {
    replace(path, text.as_bytes(), mode).map_err(|source| AuthorityError::Write {
        path: path.into(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use rustls::version::{TLS12, TLS13};

    use super::params::{AUTHORITY_DAYS, SERVER_DAYS};
    use super::*;
    use crate::acceptor::Protocol;
    use crate::testing::{LOOKS_MAX, Pair, client, shake};
    use crate::tls::Tls;

    /// The present of the system: the clients of these tests have no other.
    fn now() -> Timestamp {
        restante_model::SystemClock.now()
    }

    fn days(count: u32) -> Duration {
        DAY * count
    }

    fn authority(root: &Path, names: &[&str]) -> LocalAuthority {
        let names = names.iter().map(|name| Domain::parse(name).unwrap());
        LocalAuthority::new(root.join("tls"), names, [])
    }

    /// The certificate that clients trust.
    fn trusted(authority: &LocalAuthority) -> Pair {
        let certificate = Certificate::load(&authority.kept_files()).unwrap();
        Pair {
            chain: String::new(),
            key: String::new(),
            der: certificate.chain()[0].to_vec(),
        }
    }

    async fn is_trusted_as(authority: &LocalAuthority, name: &str) -> bool {
        is_trusted_by(authority, &trusted(authority), name).await
    }

    async fn is_trusted_by(authority: &LocalAuthority, trusted: &Pair, name: &str) -> bool {
        let tls = Tls::load(authority.files()).unwrap();
        let acceptor = tls.acceptor(Protocol::Http, Duration::from_secs(10));
        let client = client(trusted, &[&TLS12, &TLS13]);
        shake(&acceptor, client, name).await.is_ok()
    }

    #[tokio::test]
    async fn a_client_that_trusts_the_authority_takes_every_name() {
        let root = tempfile::tempdir().unwrap();
        let authority = authority(
            root.path(),
            &["mx.example.test", "Example.test", "localhost", "10.0.0.1"],
        );
        assert_eq!(authority.renew(now()).unwrap(), Renewal::Founded);
        for name in [
            "mx.example.test",
            "example.test",
            "localhost",
            "127.0.0.1",
            "::1",
            "10.0.0.1",
        ] {
            assert!(is_trusted_as(&authority, name).await, "{name}");
        }
        for name in ["other.test", "x.example.test", "127.0.0.2"] {
            assert!(!is_trusted_as(&authority, name).await, "{name}");
        }
    }

    #[test]
    fn each_name_is_there_once() {
        let names = ["localhost", "a.test", "A.TEST"].map(|name| Domain::parse(name).unwrap());
        let addresses = ["127.0.0.1", "2001:db8::25", "192.0.2.25", "2001:db8::25"].map(|text| text.parse().unwrap());
        let authority = LocalAuthority::new("tls".into(), names, addresses);
        let names: Vec<_> = authority.names.iter().map(ServerName::to_str).collect();
        let expected = ["localhost", "a.test", "127.0.0.1", "2001:db8::25", "192.0.2.25", "::1"];
        assert_eq!(names, expected);
    }

    #[test]
    fn keys_are_for_their_owner_only() {
        let root = tempfile::tempdir().unwrap();
        authority(root.path(), &[]).renew(now()).unwrap();
        let mode = |name: &str| fs::metadata(root.path().join(name)).unwrap().permissions().mode() & 0o777;
        let modes = ["tls", "tls/authority-key.pem", "tls/server.pem", "tls/authority.pem"].map(mode);
        assert_eq!(modes, [0o700, 0o600, 0o600, 0o644]);
        assert_eq!(fs::read_dir(root.path().join("tls")).unwrap().count(), 3);
    }

    #[test]
    fn the_certificate_lasts_as_long_as_clients_allow_and_the_authority_ten_years() {
        let root = tempfile::tempdir().unwrap();
        let (authority, now) = (authority(root.path(), &[]), now());
        authority.renew(now).unwrap();
        let end = |files| Certificate::load(&files).unwrap().validity().unwrap().end;
        let lasts = |files| now.until(end(files)).as_secs().div_ceil(DAY.as_secs());
        assert_eq!((lasts(authority.files()), lasts(authority.kept_files())), (396, 3650));
    }

    /// Who renews, when, what happens before, and what comes of it.
    type Step<'a> = (&'a LocalAuthority, Timestamp, &'a dyn Fn(&Path), Renewal);

    #[test]
    fn what_is_good_is_kept_and_what_is_not_is_renewed_by_the_same_authority() {
        let root = tempfile::tempdir().unwrap();
        let (first, start) = (authority(root.path(), &["a.test"]), now());
        assert_eq!(first.renew(start).unwrap(), Renewal::Founded);
        let kept = trusted(&first).der;
        let late = start.after(days(SERVER_DAYS - RENEW_DAYS - 1));
        let too_late = start.after(days(SERVER_DAYS - RENEW_DAYS + 1));
        let more = authority(root.path(), &["a.test", "b.test"]);
        let broken = |name: &'static str| move |root: &Path| fs::write(root.join("tls").join(name), "").unwrap();
        let nothing = |_: &Path| {};
        let removed = |root: &Path| fs::remove_file(root.join("tls/server.pem")).unwrap();
        let steps: [Step<'_>; 8] = [
            (&first, start, &nothing, Renewal::Kept),
            (&first, late, &nothing, Renewal::Kept),
            (&first, too_late, &nothing, Renewal::Issued),
            (&first, too_late, &nothing, Renewal::Kept),
            (&more, too_late, &nothing, Renewal::Issued),
            (&first, too_late, &nothing, Renewal::Kept),
            (&first, too_late, &broken("server.pem"), Renewal::Issued),
            (&first, too_late, &removed, Renewal::Issued),
        ];
        for (step, (authority, now, before, expected)) in steps.into_iter().enumerate() {
            before(root.path());
            assert_eq!(authority.renew(now).unwrap(), expected, "{step}");
            assert_eq!(trusted(&first).der, kept, "{step}");
        }
    }

    #[test]
    fn an_authority_at_its_end_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let (authority, start) = (authority(root.path(), &[]), now());
        authority.renew(start).unwrap();
        let kept = trusted(&authority).der;
        let late = start.after(days(AUTHORITY_DAYS - RENEW_DAYS + 1));
        assert_eq!(authority.renew(late).unwrap(), Renewal::Founded);
        assert_ne!(trusted(&authority).der, kept);
        assert_eq!(authority.renew(late).unwrap(), Renewal::Kept);
    }

    /// The clock was ahead when it was made, by so much that it would be of no use for years.
    #[tokio::test]
    async fn an_authority_that_has_not_begun_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let (authority, start) = (authority(root.path(), &[]), now());
        let ahead = start.after(days(400));
        assert_eq!(authority.renew(ahead).unwrap(), Renewal::Founded);
        assert!(!is_trusted_as(&authority, "localhost").await);
        assert_eq!(authority.renew(start).unwrap(), Renewal::Founded);
        assert!(is_trusted_as(&authority, "localhost").await);
        assert_eq!(authority.renew(start).unwrap(), Renewal::Kept);
    }

    /// So after a crash between the two, and when somebody has removed it.
    #[tokio::test]
    async fn a_key_without_its_certificate_goes_on() {
        let root = tempfile::tempdir().unwrap();
        let authority = authority(root.path(), &[]);
        authority.renew(now()).unwrap();
        let handed_out = trusted(&authority);
        fs::remove_file(authority.certificate_path()).unwrap();
        assert_eq!(authority.renew(now()).unwrap(), Renewal::Founded);
        assert_ne!(trusted(&authority).der, handed_out.der);
        assert!(is_trusted_by(&authority, &handed_out, "localhost").await);
        assert!(is_trusted_as(&authority, "localhost").await);
    }

    #[test]
    fn an_authority_that_is_damaged_is_named_and_left_alone() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let authority_here = authority(root.path(), &[]);
        authority_here.renew(now()).unwrap();
        authority(other.path(), &[]).renew(now()).unwrap();
        let strange = fs::read_to_string(other.path().join("tls/authority-key.pem")).unwrap();
        for (name, content) in [
            ("authority-key.pem", strange.as_str()),
            ("authority-key.pem", "damaged"),
            ("authority.pem", "damaged"),
        ] {
            let path = root.path().join("tls").join(name);
            let whole = fs::read(&path).unwrap();
            fs::write(&path, content).unwrap();
            let said = authority_here.renew(now()).unwrap_err().to_string();
            assert!(said.starts_with(&format!("{}: ", path.display())), "{said}");
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            fs::write(&path, whole).unwrap();
        }
        assert_eq!(authority_here.renew(now()).unwrap(), Renewal::Kept);
    }

    #[tokio::test(start_paused = true)]
    async fn keeping_renews_in_time() {
        let root = tempfile::tempdir().unwrap();
        let authority = authority(root.path(), &[]);
        authority.renew(now().after(days(0))).unwrap();
        let first = fs::read(authority.files().chain).unwrap();
        let clock = Arc::new(Later(days(SERVER_DAYS)));
        let renewed = async {
            for _ in 0..LOOKS_MAX {
                if fs::read(authority.files().chain).unwrap() != first {
                    return;
                }
                tokio::time::sleep(DAY).await;
            }
            panic!("it is not renewed");
        };
        tokio::select! {
            () = authority.clone().keep(clock, DAY) => unreachable!("it never ends"),
            () = renewed => {}
        }
    }

    /// The system's clock, so much ahead.
    #[derive(Debug)]
    struct Later(Duration);

    impl Clock for Later {
        fn now(&self) -> Timestamp {
            now().after(self.0)
        }
    }
}
