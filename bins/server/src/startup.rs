//! What a server that has just come up tells: where it is reached and where the key is, never the key.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use url::Url;

use crate::secrets::ApiKeyOrigin;
use crate::settings::{ChaosSettings, ChosenProfile};

/// A server whose listeners are open. Its `Display` is what the start prints.
#[derive(Debug, Clone)]
pub struct Running {
    /// Which defaults hold, and why.
    pub profile: ChosenProfile,
    /// Where everything is kept.
    pub data_path: PathBuf,
    /// Where the API key came from.
    pub api_key: ApiKeyOrigin,
    /// The SMTP listener, with the port that it really has.
    pub smtp: Option<SocketAddr>,
    /// The SMTP listener that begins with TLS.
    pub smtp_tls: Option<SocketAddr>,
    /// The HTTP listener, with the port that it really has.
    pub http: SocketAddr,
    /// The HTTPS listener.
    pub https: Option<SocketAddr>,
    /// The certificate of the local authority, if the server's is from it.
    pub authority: Option<PathBuf>,
    /// Where mail goes to be scored, if it does.
    pub rspamd: Option<Url>,
    /// The faults that inboxes may ask for, if they may: mail may be lost to them.
    pub chaos: Option<ChaosSettings>,
    /// Whether clients may make mail up.
    pub test_emails: bool,
}

impl Running {
    /// An address that reaches the SMTP listener from this machine.
    pub fn smtp_address(&self) -> Option<SocketAddr> {
        self.smtp.map(reachable)
    }

    /// An address that reaches the SMTP listener that begins with TLS from this machine.
    pub fn smtp_tls_address(&self) -> Option<SocketAddr> {
        self.smtp_tls.map(reachable)
    }

    /// The base URL that reaches the HTTP listener from this machine.
    pub fn url(&self) -> String {
        format!("http://{}", reachable(self.http))
    }
}

impl fmt::Display for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "restante {} is up", env!("CARGO_PKG_VERSION"))?;
        writeln!(f, "  profile  {}", self.profile)?;
        if let Some(smtp) = self.smtp {
            writeln!(f, "  SMTP     {smtp}")?;
        }
        if let Some(smtp) = self.smtp_tls {
            writeln!(f, "  SMTPS    {smtp}")?;
        }
        writeln!(f, "  HTTP     {}", self.url())?;
        if let Some(https) = self.https {
            writeln!(f, "  HTTPS    https://{}", reachable(https))?;
        }
        if let Some(path) = &self.authority {
            writeln!(f, "  CA       {} (for curl --cacert and the like)", path.display())?;
        }
        writeln!(f, "  data     {}", self.data_path.display())?;
        if let Some(url) = &self.rspamd {
            writeln!(f, "  spam     on: mail is scored by rspamd at {url}")?;
        }
        if let Some(ChaosSettings { seed }) = self.chaos {
            let seed = seed.map(|seed| format!(", decided by the seed {seed}"));
            writeln!(
                f,
                "  chaos    on: inboxes may ask for faults{}",
                seed.unwrap_or_default()
            )?;
        }
        if self.test_emails {
            writeln!(f, "  testing  on: POST /api/test/emails makes mail up")?;
        }
        match &self.api_key {
            ApiKeyOrigin::Setting => writeln!(f, "  API key  the one of SVC_LOCAL_API_KEY"),
            ApiKeyOrigin::Loaded(path) => writeln!(f, "  API key  in {}", path.display()),
            ApiKeyOrigin::Created(path) => writeln!(f, "  API key  in {} (just made)", path.display()),
        }
    }
}

/// A listener on every address is reached over loopback.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Profile, ProfileReason};

    fn running(api_key: ApiKeyOrigin) -> Running {
        Running {
            profile: ChosenProfile {
                profile: Profile::Laptop,
                reason: ProfileReason::Default,
            },
            data_path: "./data".into(),
            api_key,
            smtp: Some("[::]:2525".parse().unwrap()),
            smtp_tls: None,
            http: "127.0.0.1:8080".parse().unwrap(),
            https: None,
            authority: None,
            rspamd: None,
            chaos: None,
            test_emails: false,
        }
    }

    #[test]
    fn it_tells_the_addresses_and_where_the_key_is() {
        let expected = concat!(
            "restante ",
            env!("CARGO_PKG_VERSION"),
            " is up\n",
            "  profile  laptop (no setting asks for another)\n",
            "  SMTP     [::]:2525\n",
            "  HTTP     http://127.0.0.1:8080\n",
            "  data     ./data\n",
        );
        for (origin, key) in [
            (ApiKeyOrigin::Setting, "the one of SVC_LOCAL_API_KEY"),
            (ApiKeyOrigin::Loaded("./data/.api-key".into()), "in ./data/.api-key"),
            (
                ApiKeyOrigin::Created("./data/.api-key".into()),
                "in ./data/.api-key (just made)",
            ),
        ] {
            assert_eq!(running(origin).to_string(), format!("{expected}  API key  {key}\n"));
        }
    }

    #[test]
    fn it_tells_what_is_encrypted_and_whom_to_trust() {
        let running = Running {
            smtp: None,
            smtp_tls: Some("127.0.0.1:4650".parse().unwrap()),
            https: Some("[::]:8443".parse().unwrap()),
            authority: Some("./data/tls/authority.pem".into()),
            ..running(ApiKeyOrigin::Setting)
        };
        let told = running.to_string();
        let listeners = told.lines().skip(2).take(4).collect::<Vec<_>>();
        assert_eq!(
            listeners,
            [
                "  SMTPS    127.0.0.1:4650",
                "  HTTP     http://127.0.0.1:8080",
                "  HTTPS    https://[::1]:8443",
                "  CA       ./data/tls/authority.pem (for curl --cacert and the like)",
            ]
        );
    }

    #[test]
    fn it_tells_where_mail_goes_to_be_scored() {
        let running = Running {
            rspamd: Some("http://scores.test:11333".parse().unwrap()),
            ..running(ApiKeyOrigin::Setting)
        };
        let told = running.to_string();
        let line = "  spam     on: mail is scored by rspamd at http://scores.test:11333/";
        assert_eq!(told.lines().nth(5), Some(line));
    }

    #[test]
    fn it_tells_what_no_production_server_should_do() {
        for (seed, chaos) in [
            (None, "  chaos    on: inboxes may ask for faults"),
            (
                Some(7),
                "  chaos    on: inboxes may ask for faults, decided by the seed 7",
            ),
        ] {
            let running = Running {
                chaos: Some(ChaosSettings { seed }),
                test_emails: true,
                ..running(ApiKeyOrigin::Setting)
            };
            let told = running.to_string();
            let told = told.lines().skip(5).take(2).collect::<Vec<_>>();
            assert_eq!(told, [chaos, "  testing  on: POST /api/test/emails makes mail up"]);
        }
    }

    #[test]
    fn a_listener_on_every_address_is_reached_over_loopback() {
        let running = running(ApiKeyOrigin::Setting);
        assert_eq!(running.smtp_address(), Some("[::1]:2525".parse().unwrap()));
        for (bound, url) in [
            ("0.0.0.0:80", "http://127.0.0.1:80"),
            ("[::]:80", "http://[::1]:80"),
            ("192.0.2.1:80", "http://192.0.2.1:80"),
        ] {
            let http = bound.parse().unwrap();
            assert_eq!(
                Running {
                    http,
                    ..running.clone()
                }
                .url(),
                url
            );
        }
    }
}
