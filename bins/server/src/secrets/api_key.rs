//! The API key: the one credential of every request.
//!
//! Source: interface, "Authentication"; decisions, section 2.

use std::fmt;
use std::path::{Path, PathBuf};

use restante_envelope::{base64url, digest};
use zeroize::Zeroizing;

use super::SecretError;
use super::key_file::{self, FileState};
use crate::settings::ApiKeySource;

/// The credential of every request: at least 32 characters, without white space around them.
#[derive(Clone)]
pub struct ApiKey(Zeroizing<String>);

/// A text is no API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("shorter than {} characters", ApiKey::MIN_CHARS)]
pub struct ApiKeyTooShort;

/// Where the API key came from: what the log may tell of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiKeyOrigin {
    /// The setting.
    Setting,
    /// The file, which was there.
    Loaded(PathBuf),
    /// The file, which has just been made.
    Created(PathBuf),
}

impl ApiKeyOrigin {
    /// The file that holds the key, if one does.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Setting => None,
            Self::Loaded(path) | Self::Created(path) => Some(path),
        }
    }
}

impl ApiKey {
    /// Characters of a key, at least.
    pub const MIN_CHARS: usize = 32;

    /// Reads a key; white space around it is dropped.
    ///
    /// # Errors
    /// When fewer than 32 characters remain.
    pub fn parse(text: &str) -> Result<Self, ApiKeyTooShort> {
        let text = text.trim();
        if text.chars().count() < Self::MIN_CHARS {
            return Err(ApiKeyTooShort);
        }
        Ok(Self(Zeroizing::new(text.into())))
    }

    /// A new key: 32 random bytes as 43 characters of base64url.
    pub fn generate() -> Self {
        let bytes = Zeroizing::new(digest::random_bytes::<32>());
        Self(Zeroizing::new(base64url::encode(bytes.as_slice())))
    }

    /// The secret text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Takes a time that depends on the lengths only.
impl PartialEq for ApiKey {
    fn eq(&self, other: &Self) -> bool {
        digest::ct_eq(self.0.as_bytes(), other.0.as_bytes())
    }
}

impl Eq for ApiKey {}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

/// The key that was set, else the one in the file, else a new one in the file.
pub(super) fn obtain(path: &Path, source: &ApiKeySource) -> Result<(ApiKey, ApiKeyOrigin), SecretError> {
    let ApiKeySource::Set(key) = source else {
        return from_file(path);
    };
    Ok((key.clone(), ApiKeyOrigin::Setting))
}

fn from_file(path: &Path) -> Result<(ApiKey, ApiKeyOrigin), SecretError> {
    let fresh = || Zeroizing::new(ApiKey::generate().expose().as_bytes().to_vec());
    let (bytes, state) = key_file::load_or_create(path, fresh)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| ApiKeyTooShort);
    let key = text.and_then(ApiKey::parse).map_err(|reason| SecretError::ApiKey {
        path: path.into(),
        reason,
    })?;
    let origin = match state {
        FileState::Loaded => ApiKeyOrigin::Loaded(path.into()),
        FileState::Created => ApiKeyOrigin::Created(path.into()),
    };
    Ok((key, origin))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_key_has_32_characters_after_trimming() {
        let exact = "k".repeat(32);
        assert_eq!(ApiKey::parse(&exact).unwrap().expose(), exact);
        assert_eq!(ApiKey::parse(&format!(" \t{exact}\r\n")).unwrap().expose(), exact);
        assert_eq!(ApiKey::parse(&"\u{e9}".repeat(32)).unwrap().expose().len(), 64);
        for short in ["", "k".repeat(31).as_str(), format!("{}\n", "k".repeat(31)).as_str()] {
            assert_eq!(ApiKey::parse(short), Err(ApiKeyTooShort), "{short:?}");
        }
    }

    #[test]
    fn a_generated_key_is_43_characters_of_base64url() {
        let key = ApiKey::generate();
        assert_eq!(key.expose().len(), 43);
        assert!(base64url::decode(key.expose()).is_ok());
        assert_ne!(key, ApiKey::generate());
    }

    #[test]
    fn debug_output_hides_it() {
        assert_eq!(format!("{:?}", ApiKey::generate()), "ApiKey(..)");
    }

    #[test]
    fn a_key_that_was_set_leaves_the_file_alone() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(".api-key");
        let set = ApiKey::parse(&"s".repeat(32)).unwrap();
        let source = ApiKeySource::Set(set.clone());
        assert_eq!(obtain(&path, &source).unwrap(), (set.clone(), ApiKeyOrigin::Setting));
        assert!(!path.exists());
        // A file that could not be used is not even read.
        fs::write(&path, "short").unwrap();
        assert_eq!(obtain(&path, &source).unwrap().0, set);
        assert_eq!(fs::read(&path).unwrap(), b"short");
    }

    #[test]
    fn the_first_start_makes_the_file_and_the_second_reads_it() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(".api-key");
        let (made, origin) = obtain(&path, &ApiKeySource::File).unwrap();
        assert_eq!(origin, ApiKeyOrigin::Created(path.clone()));
        assert_eq!(fs::read_to_string(&path).unwrap(), made.expose());
        let (read, origin) = obtain(&path, &ApiKeySource::File).unwrap();
        assert_eq!((read, origin), (made, ApiKeyOrigin::Loaded(path)));
    }

    #[test]
    fn a_file_made_by_hand_may_end_in_a_newline() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join(".api-key");
        fs::write(&path, format!("{}\n", "h".repeat(32))).unwrap();
        assert_eq!(obtain(&path, &ApiKeySource::File).unwrap().0.expose(), "h".repeat(32));
    }

    #[test]
    fn a_bad_file_stops_the_start_and_stays_as_it_is() {
        for content in [b"".as_slice(), &[b'k'; 31], &[0xff; 40]] {
            let data = tempfile::tempdir().unwrap();
            let path = data.path().join(".api-key");
            fs::write(&path, content).unwrap();
            let error = obtain(&path, &ApiKeySource::File).unwrap_err().to_string();
            let expected = "the API key is shorter than 32 characters; remove the file to have one made";
            assert_eq!(error, format!("{}: {expected}", path.display()));
            assert_eq!(fs::read(&path).unwrap(), content);
        }
    }
}
