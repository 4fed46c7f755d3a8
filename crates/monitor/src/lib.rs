//! What the server counts of its work, and the console that tells of it as it happens.
//!
//! Whoever does something says so once, by a [`Happening`]: [`Monitor::note`] is the one place that counts it and puts
//! it into words. Neither shows a subject, a body, a sender or a secret: a happening does not carry them.
//!
//! A note is a few additions to atomic numbers. Words are made only while somebody watches, and nobody waits for those
//! who do: the console keeps a bounded number of lines, and whoever reads too slowly is told how many were lost.
//! The numbers begin at zero with the process.
//!
//! ```
//! use std::sync::Arc;
//! use restante_model::SystemClock;
//! use restante_monitor::{Happening, Monitor, Refusal};
//!
//! let monitor = Monitor::new(Arc::new(SystemClock));
//! let peer = [127, 0, 0, 1].into();
//! monitor.note(Happening::MailRefused { cause: Refusal::NoInbox, peer });
//! assert_eq!(monitor.counts().refused(Refusal::NoInbox), 1);
//! ```
//!
//! Modules, in reading order: [`happening`], [`monitor`], [`counts`], [`console`], `words`.

pub mod console;
pub mod counts;
pub mod happening;
pub mod monitor;
mod words;

pub use console::{Line, LineKind, Watcher};
pub use counts::{Counter, Counts, Verdicts};
pub use happening::{Fault, Happening, Refusal};
pub use monitor::Monitor;
