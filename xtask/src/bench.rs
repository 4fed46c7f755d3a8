//! `cargo xtask bench`: the release server under load, held against the goals of speed.
//!
//! Where a third party's program can be the load or the reference it is: Postfix `smtp-source`, and `smtp-sink`, which
//! accepts and discards, so that nothing that stores can be faster. What they cannot ask is measured by small clients
//! of our own. Rounds are interleaved, so that a slow moment of the machine meets all alike.

mod api;
mod case;
mod crowd;
mod dead_target;
mod disk;
mod figures;
mod filler;
mod ground;
mod http;
mod kill;
mod latency;
mod lists;
mod load;
mod memory;
mod million;
mod profile;
mod report;
mod start;
mod throughput;
mod webhooks;
mod witness;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;

use crate::{machine, release, repository};
use case::{Case, Sizes};
use ground::Ground;
use million::Removal;
use report::Report;

/// What to measure, and how much of it.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only these cases
    #[arg(long, value_enum, value_delimiter = ',', ignore_case = true)]
    only: Vec<Case>,
    /// Interleaved rounds; 5, or 2 with --quick
    #[arg(long)]
    rounds: Option<usize>,
    /// Small sizes, for trying the tool
    #[arg(long)]
    quick: bool,
    /// Where the servers keep their data; the target directory, if nothing is said
    #[arg(long)]
    data: Option<PathBuf>,
    /// A server to measure instead of the one that is built for it
    #[arg(long)]
    server: Option<PathBuf>,
    /// Write docs/BENCHMARKS.md and docs/benchmarks.json; with --only the part of the former that those cases have
    #[arg(long, conflicts_with_all = ["quick", "server"])]
    write: bool,
}

/// Cases that are measured together.
struct Group {
    cases: &'static [Case],
    run: fn(&Ground, &mut Report) -> Result<()>,
}

const GROUPS: &[Group] = &[
    Group {
        cases: &[Case::P1, Case::P2, Case::P3, Case::P4],
        run: throughput::run,
    },
    Group {
        cases: &[Case::P5],
        run: latency::run,
    },
    Group {
        cases: &[Case::P6],
        run: memory::run,
    },
    Group {
        cases: &[Case::P7],
        run: start::run,
    },
    Group {
        cases: &[Case::P8],
        run: lists::run,
    },
    Group {
        cases: &[Case::P9],
        run: webhooks::run,
    },
    Group {
        cases: &[Case::W6],
        run: dead_target::run,
    },
    Group {
        cases: &[Case::Kill],
        run: kill::run,
    },
    Group {
        cases: &[Case::Profile],
        run: profile::run,
    },
    Group {
        cases: &[Case::P6, Case::P7],
        run: million::run,
    },
    Group {
        cases: &[Case::P11],
        run: crowd::run,
    },
];

/// Measures, prints the tables, and writes them if asked to.
pub(crate) fn run(options: &Options) -> Result<()> {
    load::check_installed()?;
    let ground = ground(options)?;
    let mut report = Report::new(machine::facts(&ground.data)?, ground.sizes.rounds);
    for group in GROUPS {
        if group.cases.iter().any(|case| ground.wants(*case)) {
            eprintln!("== {:?}", group.cases);
            if let Err(error) = (group.run)(&ground, &mut report) {
                report.fail(group.cases, &error);
            }
        }
    }
    println!("{}", report.tables());
    if options.write {
        report.write(&options.only)?;
    }
    report.check()
}

fn ground(options: &Options) -> Result<Ground> {
    let (full, removal) = if options.quick {
        (Sizes::QUICK, Removal::Deletion)
    } else {
        (Sizes::FULL, Removal::Expiry)
    };
    let sizes = Sizes {
        rounds: options.rounds.unwrap_or(full.rounds),
        ..full
    };
    ensure!(sizes.rounds > 0, "--rounds must be at least 1");
    let target = repository::target()?;
    let binary = if let Some(server) = &options.server {
        server.clone()
    } else {
        release::run()?;
        target.join("release/server")
    };
    Ok(Ground {
        binary,
        data: options.data.clone().unwrap_or(target),
        sizes,
        removal,
        wanted: options.only.clone(),
    })
}
