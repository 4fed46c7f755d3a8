//! The configuration file: TOML, each of its values a text.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use toml::de::DeTable;
use zeroize::Zeroizing;

use super::sources::{Given, GivenText};
use super::{ConfigError, Environment, Origin, Setting};

/// What the file says; nothing if there is none.
#[derive(Default)]
pub(crate) struct FileSettings {
    /// Its values.
    pub(super) settings: BTreeMap<Setting, GivenText>,
    /// What deserves a warning.
    pub(crate) warning: Option<String>,
}

impl FileSettings {
    /// Reads the file that the flag or `RESTANTE_CONFIG` names, else that of the user, which need not be there.
    ///
    /// # Errors
    /// It cannot be read, is no TOML, or has a key or a value that it may not have.
    pub(crate) fn read(flag: Option<&Path>, environment: &Environment) -> Result<Self, ConfigError> {
        let named = flag.map(Path::to_owned);
        if let Some(path) = named.or_else(|| environment.variable("RESTANTE_CONFIG").map(PathBuf::from)) {
            return Self::read_file(&path).map_err(|source| ConfigError::File {
                path: path.clone(),
                source,
            })?;
        }
        let Some(path) = default_path() else {
            return Ok(Self::default());
        };
        match Self::read_file(&path) {
            Ok(settings) => settings,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(Self::default())
            }
            Err(source) => Err(ConfigError::File { path, source }),
        }
    }

    fn read_file(path: &Path) -> io::Result<Result<Self, ConfigError>> {
        let text = Zeroizing::new(fs::read_to_string(path)?);
        let metadata = fs::metadata(path)?;
        Ok(parse(path, &text).map(|settings| Self {
            warning: warning(path, &metadata, &settings),
            settings,
        }))
    }
}

/// `config.toml` in `restante/` of the platform's configuration directory.
fn default_path() -> Option<PathBuf> {
    use etcetera::BaseStrategy as _;
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(strategy.config_dir().join("restante/config.toml"))
}

fn parse(path: &Path, text: &str) -> Result<BTreeMap<Setting, GivenText>, ConfigError> {
    let line = |offset: usize| text[..offset.min(text.len())].matches('\n').count() + 1;
    let table = DeTable::parse(text).map_err(|error| ConfigError::Toml {
        path: path.to_owned(),
        line: error.span().map_or(1, |span| line(span.start)),
        // Its `Display` would show the line, in which a key may stand.
        reason: error.message().trim().replace('\n', "; "),
    })?;
    let mut settings = BTreeMap::new();
    for (key, value) in table.into_inner() {
        let line = line(key.span().start);
        let Some(setting) = Setting::of_key(key.get_ref()) else {
            return Err(ConfigError::UnknownKey {
                path: path.to_owned(),
                line,
                key: key.get_ref().to_string(),
            });
        };
        let origin = Origin::File {
            path: path.to_owned(),
            line,
            setting,
        };
        let Some(text) = value.get_ref().as_str().filter(|text| !text.is_empty()) else {
            return Err(ConfigError::Malformed {
                origin,
                expected: "a text in quotation marks that is not empty".to_owned(),
            });
        };
        settings.insert(setting, Given::new(Zeroizing::new(text.to_owned()), origin));
    }
    Ok(settings)
}

/// A key in a file that others can read is no secret.
fn warning(path: &Path, metadata: &Metadata, settings: &BTreeMap<Setting, GivenText>) -> Option<String> {
    let shared = metadata.permissions().mode() & 0o077 != 0;
    (shared && settings.contains_key(&Setting::ApiKey)).then(|| {
        let path = path.display();
        format!("warning: {path} holds an API key, and others can read it: chmod 600 {path}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/home/u/config.toml";

    #[test]
    fn each_value_knows_its_line() {
        let text = "# mine\nurl = \"http://127.0.0.1:1\"\n\n\"api_key\" = 'secret'\n";
        let settings = parse(Path::new(PATH), text).unwrap();
        let told: Vec<_> = settings
            .values()
            .map(|given| (given.value.as_str(), given.origin.to_string()))
            .collect();
        assert_eq!(
            told,
            [
                ("http://127.0.0.1:1", format!("{PATH}, line 2: url")),
                ("secret", format!("{PATH}, line 4: api_key"))
            ]
        );
        assert!(parse(Path::new(PATH), "").unwrap().is_empty());
    }

    #[test]
    fn an_error_names_file_line_and_key_and_shows_no_secret() {
        for (text, parts) in [
            (
                "\nurll = \"x\"",
                [
                    "line 2",
                    "`urll`",
                    "url, api_key, api_key_file, ca_file, smtp, inbox, strategy, color",
                ],
            ),
            ("[server]\nurl = \"x\"", ["line 1", "`server`", "allowed"]),
            ("url = 7", ["line 1: url", "a text", "quotation marks"]),
            (
                "\n\napi_key = [\"S3CRET\"]",
                ["line 3: api_key", "a text", "quotation marks"],
            ),
            ("url = \"\"", ["line 1: url", "a text", "not empty"]),
            ("\napi_key = S3CRET", ["line 2", PATH, "TOML"]),
            ("api_key = \"S3CRET", ["line 1", PATH, "TOML"]),
            ("url = \"a\"\nurl = \"b\"", ["line 2", PATH, "duplicate"]),
        ] {
            let error = parse(Path::new(PATH), text).unwrap_err().to_string();
            assert!(!error.contains("S3CRET"), "{error}");
            for part in parts.into_iter().chain([PATH]) {
                assert!(error.contains(part), "{part:?} in {error:?}");
            }
        }
    }

    #[test]
    fn a_key_that_others_can_read_deserves_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        for (text, mode, warned) in [
            ("api_key = \"k\"", 0o644, true),
            ("api_key = \"k\"", 0o640, true),
            ("api_key = \"k\"", 0o600, false),
            ("url = \"http://a\"", 0o644, false),
        ] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let settings = FileSettings::read(Some(&path), &Environment::default()).unwrap();
            assert_eq!(settings.warning.is_some(), warned, "{text} {mode:o}");
        }
    }

    #[test]
    fn a_file_that_was_named_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("absent.toml");
        let error = FileSettings::read(Some(&path), &Environment::default()).err().unwrap();
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
}
