//! What the server must keep to itself: the API key, the signing key, the keys of the store.
//!
//! Each lives in a file of the data directory that only its owner reads (0600), is made at the first start and never
//! overwritten. None is ever shown; what a log may say is where it came from.
//!
//! Whoever wants another API key removes its file. The signing key, the event key and the MAC key belong to the stored
//! mail: their fingerprints are in the stamp of the store, and a store with inboxes does not open with others.
//!
//! Modules, in reading order: [`api_key`], [`signing`], [`key_file`].

pub mod api_key;
pub mod key_file;
pub mod signing;

use std::path::{Path, PathBuf};

use restante_envelope::{KeyError, SigningKey, digest};
use zeroize::Zeroizing;

pub use api_key::{ApiKey, ApiKeyOrigin, ApiKeyTooShort};
pub use key_file::KeyFileError;

use crate::settings::SecretSettings;

/// The name of the API key's file in the data directory (interface, "Authentication").
pub const API_KEY_FILE: &str = ".api-key";
/// The name of the signing key's file in the data directory.
pub const SIGNING_KEY_FILE: &str = "signing-key";
/// The name of the event key's file in the data directory.
pub const EVENT_KEY_FILE: &str = "event-key";
/// The name of the MAC key's file in the data directory.
pub const SEAL_MAC_KEY_FILE: &str = "seal-mac-key";

/// All secrets of a server.
#[derive(Debug)]
pub struct Secrets {
    /// What clients authenticate with.
    pub api_key: ApiKey,
    /// Where that came from.
    pub api_key_origin: ApiKeyOrigin,
    /// What sealed mail is signed with; clients pin its public part.
    pub signing_key: SigningKey,
    /// What queued webhook events are sealed with at rest (decisions, section 5).
    pub event_key: StoreKey,
    /// Authenticates sealed parts on disk until they are signed.
    pub seal_mac_key: StoreKey,
}

/// A 256-bit key of the store.
pub struct StoreKey(Zeroizing<[u8; Self::LEN]>);

impl StoreKey {
    /// Bytes of a key.
    pub const LEN: usize = 32;

    /// The secret bytes.
    pub fn expose(&self) -> &Zeroizing<[u8; Self::LEN]> {
        &self.0
    }

    /// Names the key without telling it, for the stamp of the store.
    pub fn fingerprint(&self) -> [u8; 32] {
        digest::sha256(self.0.as_slice())
    }

    fn load_or_create(path: &Path) -> Result<Self, SecretError> {
        let fresh = || Zeroizing::new(digest::random_bytes::<{ Self::LEN }>().to_vec());
        let (bytes, _) = key_file::load_or_create(path, fresh)?;
        let exact = <[u8; Self::LEN]>::try_from(bytes.as_slice()).map_err(|_| SecretError::Length {
            path: path.into(),
            expected: Self::LEN,
            actual: bytes.len(),
        })?;
        Ok(Self(Zeroizing::new(exact)))
    }
}

impl std::fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoreKey(..)")
    }
}

/// Why a secret cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// A file cannot be read or made.
    #[error(transparent)]
    File(#[from] KeyFileError),
    /// The API key's file holds a key that is too short, or no text.
    #[error("{}: the API key is {reason}; remove the file to have one made", path.display())]
    ApiKey {
        /// The file.
        path: PathBuf,
        /// The rule.
        reason: ApiKeyTooShort,
    },
    /// A key file does not have the size of its key.
    #[error("{}: expected a key of {expected} bytes, found {actual}", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// The size that it should have.
        expected: usize,
        /// The size that it has.
        actual: usize,
    },
    /// A signing key file holds no signing key.
    #[error("{}: {source}", path.display())]
    SigningKey {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: KeyError,
    },
    /// The secret and the public file are of two keys.
    #[error("{} and {} do not belong together", secret.display(), public.display())]
    SigningPair {
        /// The secret key's file.
        secret: PathBuf,
        /// The public key's file.
        public: PathBuf,
    },
}

/// The fingerprints of the secrets that stored mail depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprints {
    /// That of the signing key.
    pub signing: [u8; 32],
    /// That of the event key.
    pub event: [u8; 32],
    /// That of the MAC key.
    pub seal_mac: [u8; 32],
}

impl Fingerprints {
    /// Those of the files that are there; the API key is not looked at.
    ///
    /// # Errors
    /// The first secret that cannot be had.
    pub fn read(data_path: &Path, settings: &SecretSettings) -> Result<Self, SecretError> {
        let signing_key = signing::obtain(&data_path.join(SIGNING_KEY_FILE), settings.signing_key.as_ref())?;
        let event_key = StoreKey::load_or_create(&data_path.join(EVENT_KEY_FILE))?;
        let seal_mac_key = StoreKey::load_or_create(&data_path.join(SEAL_MAC_KEY_FILE))?;
        Ok(Self::of(&signing_key, &event_key, &seal_mac_key))
    }

    fn of(signing_key: &SigningKey, event_key: &StoreKey, seal_mac_key: &StoreKey) -> Self {
        Self {
            signing: digest::sha256(signing_key.verifying_key().as_bytes()),
            event: event_key.fingerprint(),
            seal_mac: seal_mac_key.fingerprint(),
        }
    }
}

impl Secrets {
    /// Loads every secret; those that do not exist are made. The data directory must exist.
    ///
    /// # Errors
    /// The first secret that cannot be had.
    pub fn prepare(data_path: &Path, settings: &SecretSettings) -> Result<Self, SecretError> {
        let (api_key, api_key_origin) = api_key::obtain(&data_path.join(API_KEY_FILE), &settings.api_key)?;
        Ok(Self {
            api_key,
            api_key_origin,
            signing_key: signing::obtain(&data_path.join(SIGNING_KEY_FILE), settings.signing_key.as_ref())?,
            event_key: StoreKey::load_or_create(&data_path.join(EVENT_KEY_FILE))?,
            seal_mac_key: StoreKey::load_or_create(&data_path.join(SEAL_MAC_KEY_FILE))?,
        })
    }

    /// Names what stored mail depends on.
    pub fn fingerprints(&self) -> Fingerprints {
        Fingerprints::of(&self.signing_key, &self.event_key, &self.seal_mac_key)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::settings::ApiKeySource;

    const FROM_FILES: SecretSettings = SecretSettings {
        api_key: ApiKeySource::File,
        signing_key: None,
    };

    #[test]
    fn a_second_start_has_the_same_secrets() {
        let data = tempfile::tempdir().unwrap();
        let first = Secrets::prepare(data.path(), &FROM_FILES).unwrap();
        let second = Secrets::prepare(data.path(), &FROM_FILES).unwrap();
        assert_eq!(first.api_key, second.api_key);
        assert_eq!(first.signing_key.verifying_key(), second.signing_key.verifying_key());
        assert_eq!(first.event_key.expose(), second.event_key.expose());
        assert_eq!(first.seal_mac_key.expose(), second.seal_mac_key.expose());
        assert_ne!(first.event_key.expose(), first.seal_mac_key.expose());
        assert_ne!(first.event_key.fingerprint(), first.seal_mac_key.fingerprint());
    }

    #[test]
    fn another_directory_has_other_secrets() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let one = Secrets::prepare(one.path(), &FROM_FILES).unwrap();
        let other = Secrets::prepare(other.path(), &FROM_FILES).unwrap();
        assert_ne!(one.api_key, other.api_key);
        assert_ne!(one.signing_key.verifying_key(), other.signing_key.verifying_key());
        assert_ne!(one.event_key.expose(), other.event_key.expose());
    }

    #[test]
    fn the_directory_holds_these_files_and_nothing_else() {
        let data = tempfile::tempdir().unwrap();
        Secrets::prepare(data.path(), &FROM_FILES).unwrap();
        let mut names: Vec<_> = fs::read_dir(data.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(
            names,
            [API_KEY_FILE, EVENT_KEY_FILE, SEAL_MAC_KEY_FILE, SIGNING_KEY_FILE]
        );
    }

    #[test]
    fn a_key_of_the_store_must_have_its_size() {
        for size in [0, 31, 33] {
            let data = tempfile::tempdir().unwrap();
            let path = data.path().join(EVENT_KEY_FILE);
            fs::write(&path, vec![7; size]).unwrap();
            let error = Secrets::prepare(data.path(), &FROM_FILES).unwrap_err();
            let expected = format!("{}: expected a key of 32 bytes, found {size}", path.display());
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn debug_output_shows_no_secret() {
        let data = tempfile::tempdir().unwrap();
        let secrets = Secrets::prepare(data.path(), &FROM_FILES).unwrap();
        let shown = format!("{secrets:?}");
        assert!(!shown.contains(secrets.api_key.expose()), "{shown}");
        assert!(shown.contains("event_key: StoreKey(..)"), "{shown}");
    }
}
