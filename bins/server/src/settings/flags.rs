//! The command line: a flag for each setting, made from the table.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::kind::Kind;
use super::report;
use super::table::{SECTIONS, Section, Setting, settings};
use crate::StartError;
use crate::store_command::arguments::{self, StoreCommand};

const CHECK_CONFIG: &str = "check-config";
const REFERENCE: &str = "settings-reference";

/// The settings that the commands of the store take as flags: where it is, and what its mail depends on.
const STORE_SETTINGS: [&str; 7] = [
    "PROFILE",
    "WIRE_PROFILE",
    "DATA_PATH",
    "SERVER_SIGNATURE_SECRET_KEY_PATH",
    "SERVER_SIGNATURE_PUBLIC_KEY_PATH",
    "LOG_FORMAT",
    "LOG_LEVEL",
];

/// A command line.
#[derive(Debug)]
pub enum Parsed {
    /// Print the help or the version and end.
    Print(String),
    /// What to do, with the settings that were given.
    Run {
        /// What to do.
        asked: Asked,
        /// Settings with their texts.
        flags: Vec<(&'static Setting, OsString)>,
    },
}

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Run the server.
    Serve,
    /// Print the effective settings.
    CheckConfig,
    /// Print the reference page.
    Reference,
    /// Look after the store.
    Store(StoreCommand),
}

/// Reads a command line, which starts with the program's name.
///
/// # Errors
/// [`StartError::Usage`] for flags that do not exist, lack their value or are given twice.
pub fn parse(argv: impl IntoIterator<Item = OsString>) -> Result<Parsed, StartError> {
    let matches = match command().try_get_matches_from(argv) {
        Ok(matches) => matches,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            return Ok(Parsed::Print(error.to_string()));
        }
        Err(error) => return Err(StartError::Usage(one_line(&error.to_string()))),
    };
    Ok(Parsed::Run {
        asked: asked(&matches),
        flags: settings()
            .filter_map(|setting| Some((setting, given(&matches, setting)?)))
            .collect(),
    })
}

/// What a setting was given, by the command nearest to it.
fn given(matches: &ArgMatches, setting: &Setting) -> Option<OsString> {
    let below = matches.subcommand().and_then(|(_, below)| given(below, setting));
    // Commands take some settings only.
    below.or_else(|| matches.try_get_one::<OsString>(setting.name).ok()?.cloned())
}

fn asked(matches: &ArgMatches) -> Asked {
    if let Some((arguments::NAME, below)) = matches.subcommand() {
        return Asked::Store(arguments::read(below));
    }
    if matches.get_flag(REFERENCE) {
        Asked::Reference
    } else if matches.get_flag(CHECK_CONFIG) {
        Asked::CheckConfig
    } else {
        Asked::Serve
    }
}

fn command() -> Command {
    Command::new("server")
        .version(env!("CARGO_PKG_VERSION"))
        .about("restante: a receive-only mail server for tests")
        .after_help("Each flag is also a variable: --smtp-port is SVC_SMTP_PORT. A flag wins over its variable.")
        .arg(switch(CHECK_CONFIG).help("Check the settings, print what holds and where it came from, and end"))
        .arg(switch(REFERENCE).hide(true))
        .subcommand(arguments::command())
        .args(SECTIONS.iter().flat_map(section_args))
}

fn switch(name: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue)
}

fn section_args(section: &'static Section) -> impl Iterator<Item = Arg> {
    section
        .settings
        .iter()
        .map(|setting| setting_arg(setting).help_heading(section.title))
}

/// Settings without a feature are known, so that their error is the clear one, but not advertised.
fn setting_arg(setting: &'static Setting) -> Arg {
    let arg = Arg::new(setting.name)
        .long(setting.flag())
        .value_name("VALUE")
        .value_parser(value_parser!(OsString))
        .help(help_text(setting))
        .hide(!setting.is_built)
        .global(STORE_SETTINGS.contains(&setting.name));
    match setting.kind {
        Kind::Switch => arg.num_args(0..=1).default_missing_value("true"),
        _ => arg,
    }
}

/// As the reference page has it, without the marks of Markdown.
fn help_text(setting: &Setting) -> String {
    format!("{} [default: {}]", setting.meaning, report::default_text(setting)).replace('`', "")
}

/// The first paragraph of a clap error, without its prefix: the rest repeats the usage.
fn one_line(message: &str) -> String {
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let lines = message.lines().map(str::trim);
    let told = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    told.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use restante_storage::transfer::Damaged;

    use super::*;

    fn line(words: &[&str]) -> Result<Parsed, StartError> {
        parse(
            std::iter::once("server")
                .chain(words.iter().copied())
                .map(OsString::from),
        )
    }

    #[test]
    fn flags_give_texts_and_a_bare_switch_is_true() {
        let words = [
            "--smtp-port",
            "1",
            "--local-api-key-strict",
            "--smtp-host=::1",
            "--email-auth-enabled",
            "off",
        ];
        let Ok(Parsed::Run { asked, flags }) = line(&words) else {
            panic!("{words:?}");
        };
        assert_eq!(asked, Asked::Serve);
        let given: Vec<_> = flags
            .iter()
            .map(|(setting, text)| (setting.name, text.to_str().unwrap()))
            .collect();
        assert_eq!(
            given,
            [
                ("SMTP_HOST", "::1"),
                ("SMTP_PORT", "1"),
                ("LOCAL_API_KEY_STRICT", "true"),
                ("EMAIL_AUTH_ENABLED", "off"),
            ]
        );
    }

    #[test]
    fn help_and_version_are_printed() {
        for (words, expected) in [
            (["--version"], concat!("server ", env!("CARGO_PKG_VERSION"), "\n")),
            (["-V"], concat!("server ", env!("CARGO_PKG_VERSION"), "\n")),
        ] {
            assert!(
                matches!(line(&words), Ok(Parsed::Print(text)) if text == expected),
                "{words:?}"
            );
        }
        let Ok(Parsed::Print(help)) = line(&["--help"]) else {
            panic!("help is printed");
        };
        for shown in [
            "--check-config",
            "--smtp-port <VALUE>",
            "[default: 2525; production: 25]",
            "Mail:",
        ] {
            assert!(help.contains(shown), "{shown} in {help}");
        }
        assert!(help.contains("--chaos-enabled") && !help.contains("--cert-enabled"));
    }

    #[test]
    fn commands_of_the_store_take_settings_before_and_behind_them() {
        for words in [
            ["--data-path", "/d", "store", "verify"],
            ["store", "--data-path", "/d", "verify"],
            ["store", "verify", "--data-path", "/d"],
        ] {
            let Ok(Parsed::Run { asked, flags }) = line(&words) else {
                panic!("{words:?}");
            };
            assert_eq!(asked, Asked::Store(StoreCommand::Verify));
            let given: Vec<_> = flags
                .iter()
                .map(|(setting, text)| (setting.name, text.clone()))
                .collect();
            assert_eq!(given, [("DATA_PATH", "/d".into())], "{words:?}");
        }
    }

    #[test]
    fn every_command_of_the_store_is_read() {
        let file = || "f".into();
        let rebuild = |accepts_damage, is_confirmed| StoreCommand::Rebuild {
            accepts_damage,
            is_confirmed,
        };
        for (words, expected) in [
            (vec!["rebuild"], rebuild(false, false)),
            (vec!["rebuild", "--accept-damage"], rebuild(true, false)),
            (vec!["rebuild", "--accept-damage", "--yes"], rebuild(true, true)),
            (vec!["reset"], StoreCommand::Reset { is_confirmed: false }),
            (vec!["reset", "--yes"], StoreCommand::Reset { is_confirmed: true }),
            (vec!["stats"], StoreCommand::Stats { as_json: false }),
            (vec!["stats", "--json"], StoreCommand::Stats { as_json: true }),
            (
                vec!["export", "f"],
                StoreCommand::Export {
                    file: file(),
                    damaged: Damaged::Stops,
                },
            ),
            (
                vec!["export", "--skip-damaged", "-"],
                StoreCommand::Export {
                    file: "-".into(),
                    damaged: Damaged::LeftOut,
                },
            ),
            (vec!["import", "f"], StoreCommand::Import { file: file() }),
        ] {
            let words = [&["store"], words.as_slice()].concat();
            let Ok(Parsed::Run { asked, .. }) = line(&words) else {
                panic!("{words:?}");
            };
            assert_eq!(asked, Asked::Store(expected));
        }
    }

    #[test]
    fn wrong_usage_is_one_line() {
        for (words, start) in [
            (vec!["--smtp-prot", "1"], "unexpected argument '--smtp-prot' found"),
            (vec!["extra"], "unrecognized subcommand 'extra'"),
            (vec!["store", "extra"], "unrecognized subcommand 'extra'"),
            (
                vec!["store", "export"],
                "the following required arguments were not provided",
            ),
            (vec!["--smtp-port"], "a value is required for '--smtp-port <VALUE>'"),
            (
                vec!["--smtp-port", "1", "--smtp-port", "2"],
                "the argument '--smtp-port <VALUE>' cannot be used multiple",
            ),
        ] {
            let Err(StartError::Usage(text)) = line(&words) else {
                panic!("{words:?}");
            };
            assert!(text.starts_with(start) && !text.contains('\n'), "{text}");
        }
    }
}
