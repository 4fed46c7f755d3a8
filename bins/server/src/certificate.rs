//! The certificate of the server: from files of somebody else, or from the local authority in the data directory.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use restante_model::{Clock, Timestamp};
use restante_tls::{Acceptor, LocalAuthority, Protocol, Tls};

use crate::StartError;
use crate::settings::{CertificateSource, Settings};

/// The authority's folder in the data directory.
const AUTHORITY_DIR: &str = "tls";
/// Pause between looks at the files.
const FOLLOW_PAUSE: Duration = Duration::from_secs(2);
/// Pause between looks at the time that a certificate of the local authority has left.
const RENEW_PAUSE: Duration = Duration::from_hours(24);

/// The certificate of all listeners, and what keeps it fresh.
#[derive(Debug)]
pub struct ServerCertificate {
    tls: Tls,
    authority: Option<LocalAuthority>,
    handshake: Duration,
}

impl ServerCertificate {
    /// Loads the certificate of the settings, or makes it; `None` if they name none.
    ///
    /// The data directory must be this process's: nobody else may make an authority in it.
    ///
    /// # Errors
    /// [`StartError::Certificate`], [`StartError::Authority`].
    pub fn prepare(settings: &Settings, now: Timestamp) -> Result<Option<Self>, StartError> {
        let Some(source) = &settings.tls.certificate else {
            return Ok(None);
        };
        let (files, authority) = match source {
            CertificateSource::Files(files) => (files.clone(), None),
            CertificateSource::LocalAuthority => {
                let authority = local_authority(settings);
                authority.renew(now).map_err(StartError::Authority)?;
                (authority.files(), Some(authority))
            }
        };
        let certificate = Self {
            tls: Tls::load(files).map_err(StartError::Certificate)?,
            authority,
            handshake: settings.tls.handshake_timeout,
        };
        certificate.tell(now);
        Ok(Some(certificate))
    }

    /// Takes TLS connections for a listener.
    pub fn acceptor(&self, protocol: Protocol) -> Acceptor {
        self.tls.acceptor(protocol, self.handshake)
    }

    /// The file that clients are to trust, if it is the local authority's.
    pub fn authority_path(&self) -> Option<PathBuf> {
        self.authority.as_ref().map(LocalAuthority::certificate_path)
    }

    /// Follows the files and renews in time, for ever.
    pub async fn keep(self, clock: Arc<dyn Clock>) {
        let follow = self.tls.follow(FOLLOW_PAUSE);
        match self.authority {
            None => follow.await,
            Some(authority) => {
                tokio::join!(follow, authority.keep(clock, RENEW_PAUSE));
            }
        }
    }

    fn tell(&self, now: Timestamp) {
        let certificate = self.tls.certificate();
        tracing::info!(target: "restante", "TLS certificate {certificate}");
        if certificate.not_after().is_some_and(|end| end <= now) {
            tracing::warn!(target: "restante", "the TLS certificate has expired; clients will refuse it");
        }
        if let Some(path) = self.authority_path() {
            tracing::info!(
                target: "restante",
                "clients that trust {} trust this server: curl --cacert takes it",
                path.display()
            );
        }
    }
}

/// For every name that this server goes by.
fn local_authority(settings: &Settings) -> LocalAuthority {
    let names = std::iter::once(&settings.smtp.hostname).chain(&settings.allowed_domains);
    LocalAuthority::new(settings.data_path.join(AUTHORITY_DIR), names.cloned())
}
