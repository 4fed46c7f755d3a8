//! A server in this process, as the command finds one on its machine.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lettre::address::Envelope;
use lettre::transport::smtp::extension::ClientId;
use lettre::{SmtpTransport, Transport as _};
use restante_model::Clock;
use restante_server::discovery::{self, DiscoveryFile};
use restante_server::secrets::ApiKeyOrigin;
use restante_server::settings::{self, Invocation, Machine};
use restante_server::startup::Running;
use restante_server::{RunningServer, Secrets, Settings};
use restante_wire::Discovery;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Who the mail of tests is from.
pub(crate) const SENDER: &str = "alice@sender.test";

/// A server with a data directory of its own; dropping it stops it.
pub(crate) struct Server {
    /// Where HTTP listens.
    pub(crate) http: SocketAddr,
    /// Where SMTP listens.
    pub(crate) smtp: SocketAddr,
    /// Where HTTPS listens.
    pub(crate) https: Option<SocketAddr>,
    /// The certificate of its own authority.
    pub(crate) authority: Option<PathBuf>,
    /// The file with the API key.
    pub(crate) key_file: PathBuf,
    running: Option<RunningServer>,
    discovery: Discovery,
    runtime: Runtime,
    _data: TempDir,
}

impl Server {
    /// Starts a server with these `SVC_` variables (without the prefix) over the defaults of the laptop.
    pub(crate) fn start(variables: &[(&str, &str)], clock: Arc<dyn Clock>) -> Self {
        let data = tempfile::tempdir().unwrap();
        let settings = settings(data.path(), variables);
        let secrets = Secrets::prepare(data.path(), &settings.secrets).unwrap();
        let api_key = secrets.api_key_origin.clone();
        let runtime = Runtime::new().unwrap();
        let running = runtime
            .block_on(RunningServer::start(&settings, secrets, clock))
            .unwrap();
        Self {
            http: running.http,
            https: running.https,
            authority: running.authority.clone(),
            smtp: running.smtp.expect("SMTP is on in these tests"),
            key_file: data.path().join(".api-key"),
            discovery: told(&settings, api_key, &running),
            running: Some(running),
            runtime,
            _data: data,
        }
    }

    /// Says where it is, until what this gives back is dropped.
    pub(crate) fn announce(&self, path: PathBuf) -> DiscoveryFile {
        DiscoveryFile::write(path, &self.discovery).unwrap()
    }

    /// Its base URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.http)
    }

    /// Its API key.
    pub(crate) fn key(&self) -> String {
        std::fs::read_to_string(&self.key_file).unwrap().trim().to_owned()
    }

    /// Sends a text mail.
    pub(crate) fn send(&self, to: &str, subject: &str, text: &str) {
        let head = format!("From: Alice <{SENDER}>\r\nTo: {to}\r\nSubject: {subject}\r\n");
        self.send_raw(to, format!("{head}\r\n{text}\r\n").as_bytes());
    }

    /// Sends a message as it is.
    pub(crate) fn send_raw(&self, to: &str, message: &[u8]) {
        let envelope = Envelope::new(Some(SENDER.parse().unwrap()), vec![to.parse().unwrap()]).unwrap();
        let client = SmtpTransport::builder_dangerous(self.smtp.ip().to_string()).port(self.smtp.port());
        let client = client.hello_name(ClientId::Domain("client.test".to_owned()));
        client.build().send_raw(&envelope, message).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.runtime.block_on(running.stop(Duration::from_secs(5)));
        }
    }
}

/// What the discovery file says of it.
fn told(settings: &Settings, api_key: ApiKeyOrigin, running: &RunningServer) -> Discovery {
    let running = Running {
        profile: settings.profile,
        data_path: settings.data_path.clone(),
        api_key,
        smtp: running.smtp,
        smtp_tls: running.smtp_tls,
        http: running.http,
        https: running.https,
        authority: running.authority.clone(),
        chaos: settings.chaos,
        rspamd: None,
        test_emails: settings.http.test_emails,
    };
    discovery::describe(&running, std::process::id())
}

/// The settings of a test server: ports of its own.
fn settings(data: &Path, variables: &[(&str, &str)]) -> Settings {
    let defaults = [
        ("DATA_PATH", data.to_str().unwrap()),
        ("SMTP_PORT", "0"),
        ("SERVER_PORT", "0"),
        ("SMTP_HOSTNAME", "mx.restante.test"),
    ];
    let environment = defaults.iter().chain(variables);
    let environment = environment.map(|(name, value)| (format!("SVC_{name}").into(), value.into()));
    let machine = Machine {
        hostname: "test".into(),
        memory_bytes: 4 << 30,
        app_data_writable: false,
    };
    match settings::read(["server".into()], environment, &machine) {
        Ok(Invocation::Serve(settings)) => *settings,
        Ok(other) => panic!("expected settings, got {other:?}"),
        Err(error) => panic!("{error}"),
    }
}
