//! What the command line, the environment and the configuration file say, in this order.

use std::collections::BTreeMap;
use std::ffi::OsString;

use anstream::ColorChoice;
use zeroize::Zeroizing;

use super::file::FileSettings;
use super::{ConfigError, Environment, Origin, Setting};
use crate::args::Global;

/// A value, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given<T> {
    /// The value.
    pub(crate) value: T,
    /// Where it came from.
    pub(crate) origin: Origin,
}

/// A text, and where it came from; it may be a secret.
pub(crate) type GivenText = Given<Zeroizing<String>>;

/// What one source says of the key.
pub(crate) struct GivenKey {
    /// The key.
    pub(crate) key: Option<GivenText>,
    /// The file that holds it.
    pub(crate) file: Option<GivenText>,
    /// The server that the same source names: the key is for that one.
    pub(crate) url: Option<Given<String>>,
}

/// All that was said, the highest source first.
pub(crate) struct Sources([BTreeMap<Setting, GivenText>; 3]);

impl<T> Given<T> {
    /// A value from there.
    pub(crate) fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }
}

impl GivenText {
    /// What the text means.
    pub(crate) fn parse<T>(self, parse: impl Fn(&str) -> Result<T, &'static str>) -> Result<Given<T>, ConfigError> {
        match parse(&self.value) {
            Ok(value) => Ok(Given::new(value, self.origin)),
            Err(expected) => Err(ConfigError::Malformed {
                origin: self.origin,
                expected: format!("{expected}, and not {:?}", self.value.as_str()),
            }),
        }
    }

    /// The text, which is no secret.
    pub(crate) fn into_text(self) -> Given<String> {
        Given::new(self.value.to_string(), self.origin)
    }
}

impl Sources {
    /// Puts the three in order.
    ///
    /// # Errors
    /// A variable is no text.
    pub(crate) fn new(flags: &Global, environment: &Environment, file: FileSettings) -> Result<Self, ConfigError> {
        Ok(Self([
            given_by_flags(flags)?,
            given_by_environment(environment)?,
            file.settings,
        ]))
    }

    /// When to use colours; on a terminal unless somebody says otherwise.
    ///
    /// # Errors
    /// It is none of the three words.
    pub(crate) fn color(&self) -> Result<ColorChoice, ConfigError> {
        let given = self.find(Setting::Color).map(|text| text.parse(color)).transpose()?;
        Ok(given.map_or(ColorChoice::Auto, |given| given.value))
    }

    /// What the highest source that speaks of it says.
    pub(crate) fn find(&self, setting: Setting) -> Option<GivenText> {
        self.0.iter().find_map(|source| source.get(&setting)).cloned()
    }

    /// What the highest source that names a key, or a file with one, says.
    pub(crate) fn key(&self) -> Option<GivenKey> {
        self.0.iter().find_map(|source| {
            let (key, file) = (source.get(&Setting::ApiKey), source.get(&Setting::ApiKeyFile));
            (key.is_some() || file.is_some()).then(|| GivenKey {
                key: key.cloned(),
                file: file.cloned(),
                url: source.get(&Setting::Url).cloned().map(Given::into_text),
            })
        })
    }
}

fn color(text: &str) -> Result<ColorChoice, &'static str> {
    match text {
        "auto" => Ok(ColorChoice::Auto),
        "always" => Ok(ColorChoice::Always),
        "never" => Ok(ColorChoice::Never),
        _ => Err("auto, always or never"),
    }
}

fn given_by_flags(flags: &Global) -> Result<BTreeMap<Setting, GivenText>, ConfigError> {
    let text = |text: &Option<String>| text.clone().map(OsString::from);
    let path = |path: &Option<std::path::PathBuf>| path.clone().map(OsString::from);
    let given = [
        (Setting::Url, text(&flags.url)),
        (Setting::ApiKey, text(&flags.api_key)),
        (Setting::ApiKeyFile, path(&flags.api_key_file)),
        (Setting::CaFile, path(&flags.ca_file)),
        (Setting::Smtp, text(&flags.smtp)),
        (Setting::Inbox, text(&flags.inbox)),
        (Setting::Strategy, text(&flags.strategy)),
        (Setting::Color, text(&flags.color)),
    ];
    let given = collect(given.into_iter(), Origin::Flag)?;
    for (setting, text) in &given {
        not_empty(*setting, &text.value)?;
    }
    Ok(given)
}

fn given_by_environment(environment: &Environment) -> Result<BTreeMap<Setting, GivenText>, ConfigError> {
    let given = Setting::all().map(|setting| (setting, environment.variable(setting.variable())));
    collect(given, Origin::Variable)
}

/// An empty flag is an unset variable of a script, and must not stand for something else.
fn not_empty(setting: Setting, text: &str) -> Result<(), ConfigError> {
    match text.trim() {
        "" => Err(ConfigError::Malformed {
            origin: Origin::Flag(setting),
            expected: "a text, and not an empty one: perhaps a variable is unset".to_owned(),
        }),
        _ => Ok(()),
    }
}

fn collect(
    given: impl Iterator<Item = (Setting, Option<OsString>)>,
    origin: fn(Setting) -> Origin,
) -> Result<BTreeMap<Setting, GivenText>, ConfigError> {
    let present = given.filter_map(|(setting, value)| Some((setting, value?)));
    let texts = present.map(|(setting, value)| match value.into_string() {
        Ok(text) => Ok((setting, Given::new(Zeroizing::new(text), origin(setting)))),
        Err(_) => Err(ConfigError::Malformed {
            origin: origin(setting),
            expected: "a text of UTF-8".to_owned(),
        }),
    });
    texts.collect()
}
