//! P1 to P4: mails a second, from `smtp-source`, beside what discards or only appends.

use anyhow::Result;

use super::api::{Api, Mode};
use super::case::Case;
use super::disk::Appended;
use super::figures::{Figure, Goal, Row, Unit};
use super::ground::Ground;
use super::load::{Connections, Load, Sink};
use super::report::Report;
use crate::machine;

/// Bytes of a small mail.
pub(super) const SMALL_BYTES: usize = 2048;
/// Bytes of a mail of P4.
const LARGE_BYTES: usize = 75_000;

/// What one row measures.
struct Measurement {
    case: Case,
    name: &'static str,
    inbox: Mode,
    connections: Connections,
    reference: Reference,
    /// The least ratio.
    goal: f64,
}

/// What the server is compared with.
#[derive(Clone, Copy)]
enum Reference {
    /// Accepts the same load and discards it.
    Sink,
    /// Appends and syncs each mail on one thread.
    Append,
}

const MEASUREMENTS: &[Measurement] = &[
    Measurement {
        case: Case::P1,
        name: "plain inbox, connections kept",
        inbox: Mode::Plain,
        connections: Connections::Kept,
        reference: Reference::Sink,
        goal: 0.5,
    },
    Measurement {
        case: Case::P2,
        name: "encrypted inbox, connections kept",
        inbox: Mode::Encrypted,
        connections: Connections::Kept,
        reference: Reference::Sink,
        goal: 0.3,
    },
    Measurement {
        case: Case::P3,
        name: "plain inbox, a connection for each mail",
        inbox: Mode::Plain,
        connections: Connections::New,
        reference: Reference::Sink,
        goal: 0.6,
    },
    Measurement {
        case: Case::P4,
        name: "plain inbox, 75 KB",
        inbox: Mode::Plain,
        connections: Connections::Kept,
        reference: Reference::Append,
        goal: 0.5,
    },
];

/// Mails a second in each round.
#[derive(Default)]
struct Rates {
    ours: Vec<f64>,
    reference: Vec<f64>,
}

/// Measures what is wanted of P1 to P4, round by round.
pub(super) fn run(ground: &Ground, report: &mut Report) -> Result<()> {
    let wanted = MEASUREMENTS.iter().filter(|measured| ground.wants(measured.case));
    let measurements: Vec<_> = wanted.collect();
    let folder = ground.folder()?;
    let server = ground.server(folder.path())?;
    let api = Api::of(&server)?;
    for measured in &measurements {
        api.create(&measured.address(), measured.inbox)?;
    }
    let sink = Sink::start()?;
    let mut rates: Vec<_> = measurements.iter().map(|_| Rates::default()).collect();
    for round in 1..=ground.sizes.rounds {
        for (measured, rates) in measurements.iter().zip(&mut rates) {
            let reference = measured.reference_rate(ground, &sink)?;
            let ours = measured.load(ground, &server.discovery().smtp).run()?;
            eprintln!(
                "round {round}: {:?}: {ours:.0} mails/s, {} {reference:.0}",
                measured.case,
                measured.reference.name()
            );
            rates.ours.push(ours);
            rates.reference.push(reference);
        }
    }
    for (measured, rates) in measurements.iter().zip(rates) {
        let sent = u64::from(measured.mails(ground)) * ground.sizes.rounds as u64;
        let present = api.ids(&measured.address())?.len() as u64;
        report.rows.push(measured.row(rates, sent.saturating_sub(present)));
    }
    report.note(format!(
        "Peak memory of the server over the rounds of P1 to P4: {:.0} MB.",
        machine::memory_mb(server.pid(), "VmHWM")?
    ));
    server.stop()
}

impl Reference {
    fn name(self) -> &'static str {
        match self {
            Self::Sink => "smtp-sink",
            Self::Append => "append and fdatasync",
        }
    }
}

impl Measurement {
    fn address(&self) -> String {
        format!("{:?}@restante.test", self.case).to_lowercase()
    }

    fn mails(&self, ground: &Ground) -> u32 {
        match self.reference {
            Reference::Sink => ground.sizes.mails,
            Reference::Append => ground.sizes.large_mails,
        }
    }

    fn bytes(&self) -> usize {
        match self.reference {
            Reference::Sink => SMALL_BYTES,
            Reference::Append => LARGE_BYTES,
        }
    }

    fn load(&self, ground: &Ground, target: &str) -> Load {
        Load {
            target: target.to_owned(),
            recipient: self.address(),
            mails: self.mails(ground),
            bytes: self.bytes(),
            connections: self.connections,
        }
    }

    fn reference_rate(&self, ground: &Ground, sink: &Sink) -> Result<f64> {
        match self.reference {
            Reference::Sink => self.load(ground, &sink.address).run(),
            Reference::Append => Appended::new(ground, self.bytes())?.rate(self.mails(ground)),
        }
    }

    fn row(&self, rates: Rates, lost: u64) -> Row {
        let ratios = rates
            .ours
            .iter()
            .zip(&rates.reference)
            .map(|(ours, other)| ours / other);
        let ratios = Figure::new(
            format!("{}, of {}", self.name, self.reference.name()),
            Unit::Ratio,
            ratios.collect(),
        );
        Row {
            behind: vec![
                Figure::new("restante", Unit::PerSecond, rates.ours),
                Figure::new(self.reference.name(), Unit::PerSecond, rates.reference),
            ],
            lost: Some(lost),
            ..Row::new(self.case, Goal::AtLeast(self.goal), ratios)
        }
    }
}
