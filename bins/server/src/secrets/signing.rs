//! The signing key: an ML-DSA-65 pair that clients pin, so it must survive restarts.
//!
//! Source: decisions, section 5.

use std::path::Path;

use restante_envelope::{SigningKey, VerifyingKey};

use super::SecretError;
use super::key_file;
use crate::settings::SigningKeyPaths;

/// The key of the files that were set, else the one in the data directory, else a new one there.
pub(super) fn obtain(path: &Path, given: Option<&SigningKeyPaths>) -> Result<SigningKey, SecretError> {
    if let Some(paths) = given {
        return from_pair(paths);
    }
    let (bytes, _) = key_file::load_or_create(path, || SigningKey::generate().expose())?;
    parse(path, &bytes)
}

/// A pair made elsewhere: the public file must be the secret one's.
fn from_pair(paths: &SigningKeyPaths) -> Result<SigningKey, SecretError> {
    let key = parse(&paths.secret, &key_file::load(&paths.secret)?)?;
    let public =
        VerifyingKey::parse(&key_file::load_public(&paths.public)?).map_err(|source| SecretError::SigningKey {
            path: paths.public.clone(),
            source,
        })?;
    if *key.verifying_key() != public {
        return Err(SecretError::SigningPair {
            secret: paths.secret.clone(),
            public: paths.public.clone(),
        });
    }
    Ok(key)
}

fn parse(path: &Path, bytes: &[u8]) -> Result<SigningKey, SecretError> {
    SigningKey::from_raw(bytes).map_err(|source| SecretError::SigningKey {
        path: path.into(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn pair(data: &TempDir, secret: &[u8], public: &[u8]) -> SigningKeyPaths {
        let paths = SigningKeyPaths {
            secret: data.path().join("secret"),
            public: data.path().join("public"),
        };
        fs::write(&paths.secret, secret).unwrap();
        fs::write(&paths.public, public).unwrap();
        paths
    }

    #[test]
    fn the_key_is_made_once_and_kept_raw() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("signing-key");
        let made = obtain(&path, None).unwrap();
        assert_eq!(fs::read(&path).unwrap().len(), 4032);
        assert_eq!(obtain(&path, None).unwrap().verifying_key(), made.verifying_key());
    }

    #[test]
    fn a_pair_made_elsewhere_is_used_and_no_file_made() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("signing-key");
        let key = SigningKey::generate();
        let paths = pair(&data, &key.expose(), key.verifying_key().as_bytes());
        assert_eq!(
            obtain(&path, Some(&paths)).unwrap().verifying_key(),
            key.verifying_key()
        );
        assert!(!path.exists());
    }

    #[test]
    fn the_two_files_must_belong_together() {
        let data = tempfile::tempdir().unwrap();
        let (key, other) = (SigningKey::generate(), SigningKey::generate());
        let paths = pair(&data, &key.expose(), other.verifying_key().as_bytes());
        let error = obtain(data.path(), Some(&paths)).unwrap_err();
        assert!(matches!(error, SecretError::SigningPair { .. }), "{error}");
    }

    #[test]
    fn sizes_are_checked_and_named() {
        let key = SigningKey::generate();
        let (secret, public) = (key.expose(), key.verifying_key().as_bytes().as_slice());
        for (secret, public, expected) in [
            (&secret[..4031], public, "secret: not a key of 4032 bytes: it has 4031"),
            (
                secret.as_slice(),
                &public[..1951],
                "public: not a key of 1952 bytes: it has 1951",
            ),
        ] {
            let data = tempfile::tempdir().unwrap();
            let error = obtain(data.path(), Some(&pair(&data, secret, public)))
                .unwrap_err()
                .to_string();
            assert!(error.ends_with(expected), "{error}");
        }
    }

    #[test]
    fn a_damaged_file_stops_the_start() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("signing-key");
        fs::write(&path, [0; 4032]).unwrap();
        let error = obtain(&path, None).unwrap_err();
        assert!(matches!(error, SecretError::SigningKey { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), [0; 4032]);
    }
}
