//! What a failure says of the server that was meant, and what to do next.

use restante_client::{Error, SignatureError};

use super::Failure;
use crate::config::{ConfigError, Origin};
use crate::context::Connection;

const START: &str = "start the server with `cargo run --release --bin server`";
const OTHER_SERVER: &str = "name another one with --url or RESTANTE_URL";

impl Failure {
    /// What went wrong; it names who said where the server is, where that may be the reason.
    pub(super) fn text(&self, connection: Option<&Connection>) -> String {
        let Some(Connection {
            url,
            url_origin,
            key_origin,
            ..
        }) = connection
        else {
            return self.to_string();
        };
        match self {
            Self::Client(Error::Network { reason, .. }) => format!("cannot reach {url} (from {url_origin}): {reason}"),
            Self::Client(Error::RequestTimeout { limit, .. }) => {
                format!(
                    "no answer from {url} (from {url_origin}) within {} s",
                    limit.as_secs_f64()
                )
            }
            // The server's own errors are said by the server; those of a proxy name nobody.
            Self::Client(Error::Api(answer)) if answer.status >= 500 => {
                format!("{url} (from {url_origin}) answered: {answer}")
            }
            Self::Client(Error::Unauthorized(answer)) => {
                format!("{url} (from {url_origin}) does not take the API key from {key_origin}: {answer}")
            }
            _ => self.to_string(),
        }
    }

    /// What to do next.
    pub(super) fn advice(&self, connection: Option<&Connection>) -> Option<String> {
        match self {
            Self::Client(error) => of_client(error, connection),
            Self::NoInboxInUse { .. } => Some(
                "`restante inbox create` makes one, `restante inbox use ADDRESS` takes one that is there".to_owned(),
            ),
            Self::Config(ConfigError::Unusable { .. }) => Some(
                "correct it there, or name another one; flags come before variables, those before config.toml"
                    .to_owned(),
            ),
            Self::SpoiledExport { .. } => Some("export it again where it comes from; nothing was imported".to_owned()),
            Self::SpoiledEntry { address, .. } => Some(format!(
                "import it again with `restante inbox import FILE --replace`, or forget it with `restante inbox delete {address}`"
            )),
            _ => None,
        }
    }
}

fn of_client(error: &Error, connection: Option<&Connection>) -> Option<String> {
    let advice = match error {
        Error::Network { reason, .. } if reason.contains("UnknownIssuer") => {
            "if the server has an authority of its own, name its certificate with --ca-file or RESTANTE_CA_FILE"
        }
        Error::Network { .. } | Error::RequestTimeout { .. } => return Some(of_silence(connection)),
        Error::Unauthorized(_) => {
            "the key is in the file .api-key of the server's data directory: name that file in RESTANTE_API_KEY_FILE, \
             or set RESTANTE_API_KEY"
        }
        Error::InboxNotFound(_) => {
            "it was deleted, has expired, or was made anew elsewhere: `restante inbox list` shows those that are there, \
             `restante inbox create` makes one, `restante inbox import FILE --replace` takes in the export of a new one"
        }
        Error::EmailNotFound(_) => "`restante email list` shows those that are there",
        Error::WebhookNotFound(_) => {
            "`restante webhook list` shows the global ones, with --for-inbox those of the inbox in use"
        }
        Error::InboxTaken(_) => {
            "choose another address, take that inbox with `restante inbox use ADDRESS`, or delete it first"
        }
        Error::InboxAlreadyExists { .. } => "--replace takes the imported one in its place",
        Error::KeyMissing { .. } => {
            "where it was created, `restante inbox export` writes a file; here, `restante inbox import FILE` takes it in"
        }
        Error::SignatureVerification(SignatureError::ServerKeyMismatch) => {
            "if the server was set up anew, create a new inbox; if it was not, do not trust this server"
        }
        Error::Stream(_) | Error::Strategy(_) => "--strategy polling works without the live stream",
        Error::Decryption | Error::SignatureVerification(SignatureError::Invalid) => {
            "if its inbox was made anew elsewhere, the key here is that of the old one: `restante inbox list` shows \
             whether the server still has the old one, `restante inbox import FILE --replace` takes in an export of the \
             new one"
        }
        Error::Api(answer) if answer.status == 400 => "`restante server info` shows what the server allows",
        Error::Api(answer) if answer.status == 403 => {
            "whoever runs the server switches it on; `restante server info` shows what is on"
        }
        Error::Api(answer) if answer.status == 503 => "`restante server health` tells when it works again",
        Error::Api(answer) if answer.status >= 500 => {
            "the server or a proxy before it failed: `restante server health` asks once more, the logs of both say more"
        }
        _ => return None,
    };
    Some(advice.to_owned())
}

fn of_silence(connection: Option<&Connection>) -> String {
    match connection.map(|connection| &connection.url_origin) {
        Some(Origin::LocalServer) => format!("the server seems to hang or to have just ended: {START}"),
        _ => format!("{START}, or {OTHER_SERVER}"),
    }
}
