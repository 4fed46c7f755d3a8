//! A certificate with its key, read from files and checked.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use zeroize::Zeroizing;

use crate::provider::{provider, sha256};
use crate::validity::{Validity, validity};

/// Bytes of a file, at most: no chain comes near, and a wrong path must not fill the memory.
const SIZE_MAX: u64 = 1024 * 1024;

/// Where a certificate and its key are; both may be the same file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// PEM file of the chain, the server's certificate first.
    pub chain: PathBuf,
    /// PEM file of the private key.
    pub key: PathBuf,
}

/// Why a certificate cannot be used; each is one line that begins with the file.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It is a directory, a pipe, a device: what cannot be read whole, or makes its reader wait.
    #[error("{}: is not a file", path.display())]
    NotAFile {
        /// What is there.
        path: PathBuf,
    },
    /// A file is larger than any certificate or key.
    #[error("{}: too large for a certificate or a key", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A file is not whole: cut, or not PEM where it says that it is.
    #[error("{}: broken PEM: {reason}", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What is broken.
        reason: PemFault,
    },
    /// There is no certificate in the file of the chain.
    #[error("{}: no certificate in PEM form is in it", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// A certificate of the chain is not one.
    #[error("{}: certificate {number} cannot be used: {source}", path.display())]
    BadCertificate {
        /// The file.
        path: PathBuf,
        /// Which one, from 1.
        number: usize,
        /// The TLS library's reason.
        source: rustls::Error,
    },
    /// There is no key in the file of the key.
    #[error("{}: no private key in PEM form is in it", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// The key has a passphrase, which nobody could type at a start.
    #[error("{}: the private key is encrypted; a server needs it without a passphrase", path.display())]
    EncryptedKey {
        /// The file.
        path: PathBuf,
    },
    /// The key is damaged or of a kind that TLS does not use.
    #[error("{}: the private key cannot be used: {source}", path.display())]
    BadKey {
        /// The file.
        path: PathBuf,
        /// The TLS library's reason.
        source: rustls::Error,
    },
    /// The key is that of another certificate.
    #[error("{}: is not the key of the first certificate in {}", key.display(), chain.display())]
    WrongKey {
        /// The file of the chain.
        chain: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
}

/// What is wrong with a PEM file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PemFault {
    /// A section has no end.
    #[error("a section has no END line")]
    NoEnd,
    /// A section begins with a line that is no `BEGIN` line.
    #[error("a BEGIN line is not whole")]
    BadBegin,
    /// What should be base64 is not.
    #[error("its base64 is damaged")]
    Base64,
}

/// What the files hold, unread.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Content {
    chain: Vec<u8>,
    key: Zeroizing<Vec<u8>>,
}

/// A certificate that has passed every check, with its key.
#[derive(Clone)]
pub struct Certificate {
    pub(crate) key: Arc<CertifiedKey>,
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Content(..)")
    }
}

impl CertificateFiles {
    pub(crate) fn read(&self) -> Result<Content, CertificateError> {
        let chain = read(&self.chain)?.to_vec();
        let key = read(&self.key)?;
        Ok(Content { chain, key })
    }
}

impl Certificate {
    /// Reads and checks the files.
    ///
    /// # Errors
    /// [`CertificateError`].
    pub fn load(files: &CertificateFiles) -> Result<Self, CertificateError> {
        Self::check(files, &files.read()?, &provider())
    }

    /// Checks what the files held.
    pub(crate) fn check(
        files: &CertificateFiles,
        content: &Content,
        provider: &CryptoProvider,
    ) -> Result<Self, CertificateError> {
        let chain = chain(&files.chain, &content.chain)?;
        let key = key(&files.key, &content.key)?;
        let bad_key = |source| CertificateError::BadKey {
            path: files.key.clone(),
            source,
        };
        let key = provider.key_provider.load_private_key(key).map_err(bad_key)?;
        let key = CertifiedKey::new(chain, key);
        match key.keys_match() {
            Ok(()) => Ok(Self { key: Arc::new(key) }),
            Err(rustls::Error::InconsistentKeys(_)) => Err(CertificateError::WrongKey {
                chain: files.chain.clone(),
                key: files.key.clone(),
            }),
            Err(error) => Err(bad_key(error)),
        }
    }

    /// The chain in DER, the server's certificate first; never empty.
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.key.cert
    }

    /// From when to when the server's certificate is good; `None` if it does not say so in the usual way.
    pub fn validity(&self) -> Option<Validity> {
        validity(&self.chain()[0])
    }

    /// The SHA-256 of the server's certificate as `openssl x509 -fingerprint` shows it.
    pub fn fingerprint(&self) -> String {
        let bytes = sha256(&self.chain()[0]);
        bytes
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect::<Vec<_>>()
            .join(":")
    }
}

impl fmt::Display for Certificate {
    /// For example `valid until 2027-01-25T11:41:16.000Z, SHA-256 4F:…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.validity() {
            Some(validity) => write!(f, "valid until {}, ", validity.end)?,
            None => f.write_str("without a readable end, ")?,
        }
        write!(f, "SHA-256 {}", self.fingerprint())
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({self})")
    }
}

/// The whole file, in memory that is wiped: it may hold a key, even as the file of the chain.
fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, CertificateError> {
    let unreadable = |source| CertificateError::Read {
        path: path.into(),
        source,
    };
    // Before it is opened: a pipe that nobody writes to would keep its reader for ever.
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(CertificateError::NotAFile { path: path.into() });
    }
    let file = File::open(path).map_err(unreadable)?;
    let length = metadata.len().min(SIZE_MAX) + 1;
    // Room for all of it at once: a buffer that grows leaves pieces of the key behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(length).unwrap_or_default()));
    file.take(SIZE_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > SIZE_MAX {
        return Err(CertificateError::TooLarge { path: path.into() });
    }
    Ok(bytes)
}

fn chain(path: &Path, content: &[u8]) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let chain = CertificateDer::pem_slice_iter(content).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| broken(path, &error))?;
    if chain.is_empty() {
        return Err(CertificateError::NoCertificate { path: path.into() });
    }
    for (index, certificate) in chain.iter().enumerate() {
        ParsedCertificate::try_from(certificate).map_err(|source| CertificateError::BadCertificate {
            path: path.into(),
            number: index + 1,
            source,
        })?;
    }
    Ok(chain)
}

fn key(path: &Path, content: &[u8]) -> Result<PrivateKeyDer<'static>, CertificateError> {
    if is_encrypted(content) {
        return Err(CertificateError::EncryptedKey { path: path.into() });
    }
    match PrivateKeyDer::from_pem_slice(content) {
        Ok(key) => Ok(key),
        Err(pem::Error::NoItemsFound) => Err(CertificateError::NoKey { path: path.into() }),
        Err(error) => Err(broken(path, &error)),
    }
}

/// PKCS #8 says so in its first line (RFC 7468, section 11), the older form in a header (RFC 1421, section 4.6.1.1).
fn is_encrypted(content: &[u8]) -> bool {
    let marks: [&[u8]; 2] = [b"BEGIN ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED"];
    let has = |mark: &[u8]| content.windows(mark.len()).any(|window| window == mark);
    marks.into_iter().any(has)
}

fn broken(path: &Path, error: &pem::Error) -> CertificateError {
    let reason = match error {
        pem::Error::MissingSectionEnd { .. } => PemFault::NoEnd,
        pem::Error::IllegalSectionStart { .. } => PemFault::BadBegin,
        // The rest cannot be: bytes in memory, of a size that was checked, with an item.
        _ => PemFault::Base64,
    };
    CertificateError::Pem {
        path: path.into(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use restante_model::Timestamp;
    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;
    use crate::testing::{Pair, files_in};

    /// What is said of a pair of files, without their directory.
    fn said(chain: &[u8], key: &[u8]) -> String {
        let directory = tempfile::tempdir().unwrap();
        let files = files_in(directory.path());
        fs::write(&files.chain, chain).unwrap();
        fs::write(&files.key, key).unwrap();
        match Certificate::load(&files) {
            Ok(certificate) => certificate.to_string(),
            Err(error) => error
                .to_string()
                .replace(&format!("{}/", directory.path().display()), ""),
        }
    }

    #[test]
    fn a_pair_that_fits_is_taken_from_one_file_or_two() {
        let pair = Pair::ending("a.test", Timestamp::parse("2050-01-25T11:41:16Z").unwrap());
        let both = format!("{}{}", pair.key, pair.chain);
        for (chain, key) in [(&pair.chain, &pair.key), (&both, &both)] {
            let said = said(chain.as_bytes(), key.as_bytes());
            assert!(
                said.starts_with("valid until 2050-01-25T11:41:16.000Z, SHA-256 "),
                "{said}"
            );
            assert_eq!(said.matches(':').count(), 2 + 31, "{said}");
        }
    }

    #[test]
    fn each_fault_names_its_file_on_one_line() {
        let (pair, other) = (Pair::new("a.test"), Pair::new("b.test"));
        let cut = |text: &str| text[..text.len() / 2].to_owned();
        let damaged = |text: &str| text.replacen('\n', "\n*", 1);
        let relabelled = |text: &str| text.replace("PRIVATE KEY", "CERTIFICATE");
        let encrypted = pair.key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
        let old = pair.key.replacen('\n', "\nProc-Type: 4,ENCRYPTED\n", 1);
        for (chain, key, expected) in [
            (
                String::new(),
                pair.key.clone(),
                "chain.pem: no certificate in PEM form is in it",
            ),
            (
                pair.key.clone(),
                pair.key.clone(),
                "chain.pem: no certificate in PEM form is in it",
            ),
            (
                cut(&pair.chain),
                pair.key.clone(),
                "chain.pem: broken PEM: a section has no END line",
            ),
            (
                damaged(&pair.chain),
                pair.key.clone(),
                "chain.pem: broken PEM: its base64 is damaged",
            ),
            (
                relabelled(&pair.key),
                pair.key.clone(),
                "chain.pem: certificate 1 cannot be used: invalid peer certificate: ",
            ),
            (
                pair.chain.clone(),
                String::new(),
                "key.pem: no private key in PEM form is in it",
            ),
            (
                pair.chain.clone(),
                pair.chain.clone(),
                "key.pem: no private key in PEM form is in it",
            ),
            (
                pair.chain.clone(),
                cut(&pair.key),
                "key.pem: broken PEM: a section has no END line",
            ),
            (
                pair.chain.clone(),
                encrypted,
                "key.pem: the private key is encrypted; a server needs it without a passphrase",
            ),
            (
                pair.chain.clone(),
                old,
                "key.pem: the private key is encrypted; a server needs it without a passphrase",
            ),
            (
                pair.chain.clone(),
                pair.chain.replace("CERTIFICATE", "PRIVATE KEY"),
                "key.pem: the private key cannot be used: ",
            ),
            (
                pair.chain.clone(),
                other.key.clone(),
                "key.pem: is not the key of the first certificate in chain.pem",
            ),
            (
                format!("{}{}", other.chain, pair.chain),
                pair.key.clone(),
                "key.pem: is not the key of the first certificate in chain.pem",
            ),
        ] {
            let said = said(chain.as_bytes(), key.as_bytes());
            assert!(said.starts_with(expected) && !said.contains('\n'), "{expected}\n{said}");
            assert!(said == expected || expected.ends_with(": "), "{said}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_or_is_no_certificate_at_all_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let (files, pair) = (files_in(directory.path()), Pair::new("a.test"));
        let said = |files: &CertificateFiles| Certificate::load(files).unwrap_err().to_string();
        let start = format!("{}: cannot be read: ", files.chain.display());
        assert!(said(&files).starts_with(&start), "{}", said(&files));

        pair.write(&files);
        fs::write(&files.key, " ".repeat(1024 * 1024 + 1)).unwrap();
        let expected = format!("{}: too large for a certificate or a key", files.key.display());
        assert_eq!(said(&files), expected);
    }

    /// A pipe has no writer here: who opened it as a file would wait for one for ever.
    #[test]
    fn what_is_no_file_is_named_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let (files, pair) = (files_in(directory.path()), Pair::new("a.test"));
        pair.write(&files);
        let pipe = directory.path().join("pipe");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        for path in [pipe.as_path(), directory.path(), Path::new("/dev/zero")] {
            let expected = format!("{}: is not a file", path.display());
            for files in [
                CertificateFiles {
                    chain: path.into(),
                    ..files.clone()
                },
                CertificateFiles {
                    key: path.into(),
                    ..files.clone()
                },
            ] {
                assert_eq!(Certificate::load(&files).unwrap_err().to_string(), expected);
            }
        }
    }

    #[test]
    fn nothing_of_the_key_is_shown() {
        let directory = tempfile::tempdir().unwrap();
        let (files, pair) = (files_in(directory.path()), Pair::new("a.test"));
        pair.write(&files);
        let certificate = Certificate::load(&files).unwrap();
        let secret = pair.key.lines().nth(1).unwrap();
        assert!(!format!("{certificate:?}").contains(secret));
    }
}
