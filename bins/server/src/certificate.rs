//! The certificate of the server: from files of somebody else, or from the local authority in the data directory.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use restante_model::{Clock, Timestamp};
use restante_tls::{Acceptor, Certificate, CertificateInUse, LocalAuthority, Protocol, Tls};

use crate::StartError;
use crate::listen::ListenHost;
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
        let mut certificate = Self {
            tls: Tls::load(files).map_err(StartError::Certificate)?,
            authority,
            handshake: settings.tls.handshake_timeout,
        };
        certificate.tell(now);
        Ok(Some(certificate))
    }

    /// Checks the files of the settings, if they name some; nothing is made.
    ///
    /// # Errors
    /// [`StartError::Certificate`].
    pub fn check(settings: &Settings) -> Result<(), StartError> {
        match &settings.tls.certificate {
            Some(CertificateSource::Files(files)) => {
                Certificate::load(files).map(drop).map_err(StartError::Certificate)
            }
            Some(CertificateSource::LocalAuthority) | None => Ok(()),
        }
    }

    /// Takes TLS connections for a listener.
    pub fn acceptor(&self, protocol: Protocol) -> Acceptor {
        self.tls.acceptor(protocol, self.handshake)
    }

    /// The certificate that holds, at any later moment too.
    pub fn in_use(&self) -> CertificateInUse {
        self.tls.in_use()
    }

    /// The file that clients are to trust, if it is the local authority's.
    pub fn authority_path(&self) -> Option<PathBuf> {
        self.authority.as_ref().map(LocalAuthority::certificate_path)
    }

    /// Follows the files and renews in time, for ever.
    pub async fn keep(self, clock: Arc<dyn Clock>) {
        let follow = self.tls.follow(Arc::clone(&clock), FOLLOW_PAUSE);
        match self.authority {
            None => follow.await,
            Some(authority) => {
                tokio::join!(follow, authority.keep(clock, RENEW_PAUSE));
            }
        }
    }

    fn tell(&mut self, now: Timestamp) {
        tracing::info!(target: "restante", "TLS certificate {}", self.tls.certificate());
        self.tls.warn_if_untimely(now);
        if let Some(path) = self.authority_path() {
            tracing::info!(
                target: "restante",
                "clients that trust {} trust this server: curl --cacert takes it",
                path.display()
            );
        }
    }
}

/// For every name and address that this server goes by.
fn local_authority(settings: &Settings) -> LocalAuthority {
    let names = std::iter::once(&settings.smtp.hostname).chain(&settings.allowed_domains);
    let addresses = listen_addresses(settings);
    LocalAuthority::new(settings.data_path.join(AUTHORITY_DIR), names.cloned(), addresses)
}

/// What listeners are reached by: not those of every address, which nobody connects to.
fn listen_addresses(settings: &Settings) -> impl Iterator<Item = IpAddr> {
    let listeners = [settings.smtp.listen, settings.smtp.listen_tls, settings.http.listen_tls];
    listeners
        .into_iter()
        .flatten()
        .filter_map(|listener| match listener.host {
            ListenHost::Address(address) => (!address.is_unspecified()).then_some(address),
            ListenHost::Localhost => None,
        })
}
