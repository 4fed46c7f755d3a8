//! Whether an attachment is what its checksum says.

use std::fmt::Write as _;

use restante_envelope::digest::sha256;
use restante_model::AttachmentData;

/// Whether the bytes of an attachment have the SHA-256 that stands beside them; `None` where none stands.
///
/// ```
/// # let json = r#"{"filename":"a.txt","contentType":"text/plain","size":3,"contentDisposition":"attachment",
/// #   "content":"YWJj","checksum":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}"#;
/// # let mut attachment: restante_client::AttachmentData = serde_json::from_str(json).unwrap();
/// assert_eq!(restante_client::checksum_matches(&attachment), Some(true));
/// attachment.content.0 = "abd".into();
/// assert_eq!(restante_client::checksum_matches(&attachment), Some(false));
/// ```
pub fn checksum_matches(attachment: &AttachmentData) -> Option<bool> {
    let stated = attachment.checksum.as_deref()?;
    let mut hex = String::with_capacity(64);
    for byte in sha256(&attachment.content.0) {
        let _ = write!(hex, "{byte:02x}");
    }
    Some(stated.eq_ignore_ascii_case(&hex))
}
