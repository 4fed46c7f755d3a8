//! Flags over environment over defaults: what every setting holds, and where that came from.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use restante_ingest::IpNet;
use restante_model::Domain;
use zeroize::Zeroizing;

use super::error::{SettingError, SettingErrors};
use super::kind::Value;
use super::machine::Machine;
use super::nearest::suggestion;
use super::profile::{ChosenProfile, Profile, ProfileReason};
use super::relations;
use super::table::{self, Setting};
use crate::listen::{ListenAddress, ListenHost};

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A flag of the command line.
    Flag,
    /// A variable of the environment.
    Environment,
    /// Nothing was given.
    Default,
}

impl Source {
    /// How a setting is spelled there: `--smtp-port` or `SVC_SMTP_PORT`.
    pub fn spelling(self, name: &str) -> String {
        match self {
            Self::Flag => format!("--{}", name.to_ascii_lowercase().replace('_', "-")),
            Self::Environment | Self::Default => format!("SVC_{name}"),
        }
    }

    /// The word of `--check-config`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::Default => "default",
        }
    }
}

/// What a default may be computed from.
pub struct Basis<'a> {
    /// The profile that holds.
    pub profile: Profile,
    /// The machine.
    pub machine: &'a Machine,
    /// The settings above in the table.
    pub above: &'a Resolved,
}

/// A setting with its value.
pub struct Effective {
    /// The setting.
    pub setting: &'static Setting,
    /// What it holds.
    pub value: Value,
    /// Where that came from.
    pub source: Source,
}

/// What every setting holds, in the order of the table.
pub struct Resolved {
    /// The profile that holds, and why.
    pub profile: ChosenProfile,
    /// The settings.
    pub effective: Vec<Effective>,
}

/// A value that was given.
struct Given {
    /// With prefix, for messages.
    spelled: String,
    source: Source,
    text: OsString,
}

/// What was given, by the setting's name; a flag has replaced the variable.
struct Givens(BTreeMap<&'static str, Given>);

/// Resolves every setting.
///
/// # Errors
/// Every error there is.
pub fn resolve(
    flags: Vec<(&'static Setting, OsString)>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    machine: &Machine,
) -> Result<Resolved, SettingErrors> {
    let (givens, misnamed) = Givens::gather(flags, environment);
    let (resolved, mut errors) = givens.fill(machine);
    errors.extend(misnamed);
    if errors.is_empty() {
        Ok(resolved)
    } else {
        Err(SettingErrors(errors))
    }
}

impl Givens {
    /// Sorts what was given by setting; variables that are none, or are given twice, are errors.
    fn gather(
        flags: Vec<(&'static Setting, OsString)>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> (Self, Vec<SettingError>) {
        let mut by_name: BTreeMap<&'static str, Given> = BTreeMap::new();
        let mut errors = Vec::new();
        let mut variables: Vec<_> = environment
            .into_iter()
            .map(|(name, text)| (name.to_string_lossy().into_owned(), text))
            .filter(|(name, _)| name.starts_with("SVC_"))
            .collect();
        variables.sort();
        for (spelled, text) in variables {
            let name = &spelled["SVC_".len()..];
            let Some(setting) = table::find(name) else {
                let names = table::settings().map(|setting| setting.name);
                let suggestion = suggestion(&name.to_ascii_uppercase(), names).expect("the table is not empty");
                errors.push(SettingError::Unknown {
                    name: spelled,
                    suggestion,
                });
                continue;
            };
            if let Some(other) = by_name.get(setting.name) {
                errors.push(SettingError::Twice {
                    name: spelled,
                    other: other.spelled.clone(),
                });
                continue;
            }
            let source = Source::Environment;
            by_name.insert(setting.name, Given { spelled, source, text });
        }
        for (setting, text) in flags {
            let source = Source::Flag;
            let spelled = source.spelling(setting.name);
            by_name.insert(setting.name, Given { spelled, source, text });
        }
        (Self(by_name), errors)
    }

    /// Goes through the table from top to bottom.
    fn fill(&self, machine: &Machine) -> (Resolved, Vec<SettingError>) {
        let mut resolved = Resolved {
            profile: self.profile(),
            effective: Vec::new(),
        };
        let mut errors = Vec::new();
        let mut unsound = Vec::new();
        for setting in table::settings() {
            let basis = Basis {
                profile: resolved.profile.profile,
                machine,
                above: &resolved,
            };
            let (value, source) = self
                .value(setting, setting.default_value(&basis))
                .unwrap_or_else(|error| {
                    errors.push(error);
                    unsound.push(setting.name);
                    // Lets the rest be checked; the error keeps it from ever being used.
                    (setting.stand_in(&basis), Source::Default)
                });
            resolved.effective.push(Effective { setting, value, source });
        }
        errors.extend(relations::check(&resolved, &unsound));
        (resolved, errors)
    }

    /// What a setting holds: what was given, else its default.
    fn value(&self, setting: &Setting, default: Option<Value>) -> Result<(Value, Source), SettingError> {
        let Some(given) = self.0.get(setting.name) else {
            let value = default.ok_or_else(|| SettingError::Required {
                name: setting.variable(),
                because: format!("in the {} profile", Profile::Production),
            })?;
            return Ok((value, Source::Default));
        };
        let name = given.spelled.clone();
        let value = given.text.to_str().and_then(|text| setting.kind.read(text));
        let Some(value) = value else {
            let got = given.text.to_string_lossy().into_owned();
            let is_shown = !setting.kind.may_hold_secret(&got);
            return Err(SettingError::Malformed {
                name,
                expected: setting.kind.expected(),
                got: is_shown.then_some(got),
            });
        };
        if !setting.is_built && default.as_ref() != Some(&value) {
            return Err(SettingError::NotAvailable { name });
        }
        Ok((value, given.source))
    }

    fn profile(&self) -> ChosenProfile {
        let set = self.0.get("PROFILE").and_then(|given| {
            let profile = Profile::parse(given.text.to_str()?)?;
            let reason = ProfileReason::Set(given.source);
            Some(ChosenProfile { profile, reason })
        });
        let implied = || {
            let reason = ProfileReason::DomainsSet(self.0.get("SMTP_ALLOWED_RECIPIENT_DOMAINS")?.source);
            let profile = Profile::Production;
            Some(ChosenProfile { profile, reason })
        };
        set.or_else(implied).unwrap_or(ChosenProfile {
            profile: Profile::Laptop,
            reason: ProfileReason::Default,
        })
    }
}

/// Typed reading. Each panics when the table has no setting of that name and kind, which every start would show.
impl Resolved {
    /// A setting with its value.
    pub fn entry(&self, name: &str) -> &Effective {
        self.effective
            .iter()
            .find(|effective| effective.setting.name == name)
            .expect("the table has a setting of this name")
    }

    /// A switch.
    pub fn switch(&self, name: &str) -> bool {
        match self.entry(name).value {
            Value::Switch(on) => on,
            _ => unreachable!("{name} is a switch"),
        }
    }

    /// A number.
    pub fn number(&self, name: &str) -> u64 {
        match self.entry(name).value {
            Value::Number(number) => number,
            _ => unreachable!("{name} is a number"),
        }
    }

    /// A number, if it is set.
    pub fn optional_number(&self, name: &str) -> Option<u64> {
        match self.entry(name).value {
            Value::Unset => None,
            _ => Some(self.number(name)),
        }
    }

    /// A password, if it is set.
    pub fn password(&self, name: &str) -> Option<Zeroizing<String>> {
        match self.entry(name).value {
            Value::Unset => None,
            _ => Some(Zeroizing::new(self.text(name).into())),
        }
    }

    /// A number in a narrower type, which the table's range keeps it in.
    pub fn narrow<T: TryFrom<u64>>(&self, name: &str) -> T {
        T::try_from(self.number(name)).unwrap_or_else(|_| unreachable!("the range of {name} fits"))
    }

    /// A number of milliseconds.
    pub fn span(&self, name: &str) -> Duration {
        Duration::from_millis(self.number(name))
    }

    /// A host with a port; `None` if the port is off.
    pub fn listen(&self, host: &str, port: &str) -> Option<ListenAddress> {
        let host = self.host(host);
        let is_off = self.entry(port).value == Value::Unset;
        (!is_off).then(|| ListenAddress {
            host,
            port: self.narrow(port),
        })
    }

    fn host(&self, name: &str) -> ListenHost {
        match self.entry(name).value {
            Value::Host(host) => host,
            _ => unreachable!("{name} is a host"),
        }
    }

    /// The address of a server, if it is set.
    pub fn server(&self, name: &str) -> Option<SocketAddr> {
        match self.entry(name).value {
            Value::Server(address) => Some(address),
            Value::Unset => None,
            _ => unreachable!("{name} is the address of a server"),
        }
    }

    /// Networks.
    pub fn networks(&self, name: &str) -> &[IpNet] {
        match &self.entry(name).value {
            Value::Networks(networks) => networks,
            _ => unreachable!("{name} is a list of networks"),
        }
    }

    /// Domains.
    pub fn domains(&self, name: &str) -> &[Domain] {
        match &self.entry(name).value {
            Value::Domains(domains) => domains,
            _ => unreachable!("{name} is one or several domains"),
        }
    }

    /// A text.
    pub fn text(&self, name: &str) -> &str {
        match &self.entry(name).value {
            Value::Text(text) => text,
            _ => unreachable!("{name} is a text"),
        }
    }

    /// One of some words, as the type that the word names.
    pub fn choice<T: FromStr>(&self, name: &str) -> T {
        let word = self.text(name);
        word.parse()
            .unwrap_or_else(|_| unreachable!("{name} takes only words that its type reads"))
    }

    /// A path, if it is set.
    pub fn path(&self, name: &str) -> Option<&Path> {
        match &self.entry(name).value {
            Value::Path(path) => Some(path),
            Value::Unset => None,
            _ => unreachable!("{name} is a path"),
        }
    }
}
