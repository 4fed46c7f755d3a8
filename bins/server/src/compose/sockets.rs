//! The sockets of every listener, opened before anything else: a port that is taken costs no look at the store.

use std::net::SocketAddr;

use tokio::net::TcpListener;

use crate::StartError;
use crate::listen::ListenAddress;
use crate::settings::Settings;

/// Sockets by what is spoken on them; a listener of two addresses has two, one that is off has none.
pub(super) struct Sockets {
    pub(super) smtp: Vec<TcpListener>,
    pub(super) smtp_tls: Vec<TcpListener>,
    pub(super) http: Vec<TcpListener>,
    pub(super) https: Vec<TcpListener>,
}

impl Sockets {
    pub(super) fn open(settings: &Settings) -> Result<Self, StartError> {
        let (smtp, http) = (&settings.smtp, &settings.http);
        Ok(Self {
            smtp: open("SMTP", smtp.listen, "SVC_SMTP_PORT")?,
            smtp_tls: open("SMTPS", smtp.listen_tls, "SVC_SMTP_TLS_PORT")?,
            http: open("HTTP", Some(http.listen), "SVC_SERVER_PORT")?,
            https: open("HTTPS", http.listen_tls, "SVC_SERVER_HTTPS_PORT")?,
        })
    }
}

/// Where the sockets of a listener are; the first of two addresses speaks for both.
pub(super) fn address(sockets: &[TcpListener]) -> Result<Option<SocketAddr>, StartError> {
    let address = sockets.first().map(TcpListener::local_addr).transpose();
    address.map_err(StartError::Runtime)
}

fn open(
    service: &'static str,
    address: Option<ListenAddress>,
    setting: &'static str,
) -> Result<Vec<TcpListener>, StartError> {
    let Some(address) = address else {
        return Ok(Vec::new());
    };
    address.bind().map_err(|source| StartError::Listen {
        service,
        address,
        setting,
        source,
    })
}
