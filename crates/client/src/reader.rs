//! From a document as it came to its bytes: decoded, or verified and then opened.

use restante_envelope::{DecapsulationKey, SealedPayload, VerifyingKey, WireProfile};
use zeroize::Zeroizing;

use crate::inbox::InboxKeys;
use crate::record::Part;
use crate::{Error, SignatureError};

/// Reads the documents of one inbox.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reader<'a> {
    /// There is nothing to open.
    Plain,
    /// Nothing is opened that the pinned key has not signed.
    Encrypted {
        key: &'a DecapsulationKey,
        pinned: &'a VerifyingKey,
        profile: WireProfile,
    },
}

impl<'a> Reader<'a> {
    pub(crate) fn new(keys: &'a InboxKeys, profile: WireProfile) -> Self {
        match keys {
            InboxKeys::Plain => Self::Plain,
            InboxKeys::Encrypted { key, pinned } => Self::Encrypted { key, pinned, profile },
        }
    }

    /// The bytes of a document.
    ///
    /// # Errors
    /// [`Error::SignatureVerification`] and [`Error::Decryption`].
    /// A document in clear that came for an encrypted inbox is refused like one without a signature: whoever stands
    /// between could have written it.
    pub(crate) fn read(self, part: &Part<'_>) -> Result<Zeroizing<Vec<u8>>, Error> {
        match (self, part) {
            (Self::Plain, Part::Plain(bytes)) => Ok(Zeroizing::new(bytes.to_vec())),
            (Self::Encrypted { key, pinned, profile }, Part::Sealed(json)) => {
                let payload = SealedPayload::from_json(json.as_bytes())?;
                let plaintext = payload.verify(pinned, profile)?.open(key)?;
                Ok(Zeroizing::new(plaintext.expose().to_vec()))
            }
            (Self::Encrypted { .. }, Part::Plain(_)) => Err(Error::SignatureVerification(SignatureError::Invalid)),
            (Self::Plain, Part::Sealed(_)) => Err(Error::Decryption),
        }
    }
}
