//! The hash by which an inbox says that its set of emails has changed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use restante_testkit::digest::sha256;

/// The hash of a set of ids (decisions, section 3).
pub(crate) fn emails_hash<'a>(sorted: impl Iterator<Item = &'a str>) -> String {
    let joined = sorted.collect::<Vec<_>>().join(",");
    URL_SAFE_NO_PAD.encode(sha256(joined.as_bytes()))
}
