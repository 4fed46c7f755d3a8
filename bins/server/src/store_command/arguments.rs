//! The commands and what they take.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use restante_storage::transfer::Damaged;

/// The name of the command that these are below.
pub const NAME: &str = "store";

const FILE: &str = "FILE";
const YES: &str = "yes";
const ACCEPT_DAMAGE: &str = "accept-damage";
const JSON: &str = "json";
const SKIP_DAMAGED: &str = "skip-damaged";

/// What to do with the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreCommand {
    /// Read every byte, compare index and log.
    Verify,
    /// Make the index anew.
    Rebuild {
        /// Whether what cannot be read in the log is given up.
        accepts_damage: bool,
        /// Whether the command line says that this is meant.
        is_confirmed: bool,
    },
    /// Remove all inboxes and mail.
    Reset {
        /// Whether the command line says that this is meant.
        is_confirmed: bool,
    },
    /// Count.
    Stats {
        /// For machines.
        as_json: bool,
    },
    /// Write everything into a file.
    Export {
        /// The file; `-` is standard output.
        file: PathBuf,
        /// What becomes of damaged emails.
        damaged: Damaged,
    },
    /// Fill an empty store from a file.
    Import {
        /// The file; `-` is standard input.
        file: PathBuf,
    },
}

/// The commands, as `--help` has them.
pub fn command() -> Command {
    let sub = |name, about| Command::new(name).about(about);
    Command::new(NAME)
        .about("Look after the store of a server that is not running (docs/STORE.md)")
        .after_help(EXIT_CODES)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(sub(
            "verify",
            "Read every byte of the store and compare index and log; changes nothing, tells what it finds",
        ))
        .subcommand(
            sub("rebuild", "Make the index anew from the log")
                .arg(switch(
                    ACCEPT_DAMAGE,
                    "Give up for good what cannot be read in the log, be it mail, a deletion or an inbox",
                ))
                .arg(confirmation().requires(ACCEPT_DAMAGE)),
        )
        .subcommand(
            sub(
                "reset",
                "Remove all inboxes and mail; the API key and the other keys stay",
            )
            .arg(confirmation()),
        )
        .subcommand(sub("stats", "Count inboxes, emails and bytes").arg(switch(JSON, "Print JSON instead of text")))
        .subcommand(
            sub(
                "export",
                "Write all inboxes and mail into a file, readable by its owner only",
            )
            .arg(file("Where to; - is standard output"))
            .arg(switch(
                SKIP_DAMAGED,
                "Leave out emails that are damaged instead of stopping at the first",
            )),
        )
        .subcommand(sub("import", "Fill an empty store from an export").arg(file("Where from; - is standard input")))
}

const EXIT_CODES: &str = "Ends with 0 when the work is done, 1 when verify has found something wrong, 2 for wrong \
                          usage or settings, 3 when the store is in use, 4 for any other failure.";

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn confirmation() -> Arg {
    switch(YES, "Do not ask, as where there is no terminal")
}

fn file(help: &'static str) -> Arg {
    Arg::new(FILE)
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help(help)
}

/// The command of what was given below [`NAME`].
pub fn read(matches: &ArgMatches) -> StoreCommand {
    let (name, given) = matches.subcommand().expect("clap demands a command");
    let path = || given.get_one::<PathBuf>(FILE).cloned().expect("clap demands a file");
    match name {
        "verify" => StoreCommand::Verify,
        "rebuild" => StoreCommand::Rebuild {
            accepts_damage: given.get_flag(ACCEPT_DAMAGE),
            is_confirmed: given.get_flag(YES),
        },
        "reset" => StoreCommand::Reset {
            is_confirmed: given.get_flag(YES),
        },
        "stats" => StoreCommand::Stats {
            as_json: given.get_flag(JSON),
        },
        "export" => StoreCommand::Export {
            file: path(),
            damaged: if given.get_flag(SKIP_DAMAGED) {
                Damaged::LeftOut
            } else {
                Damaged::Stops
            },
        },
        "import" => StoreCommand::Import { file: path() },
        other => unreachable!("clap knows no command {other}"),
    }
}
