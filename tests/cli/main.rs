//! The command line as a process, against a real server.

#![expect(clippy::unwrap_used, reason = "what panics here fails its test")]

mod attachments;
mod chaos;
mod completions;
mod configuration;
mod desk;
mod errors;
mod exports;
mod hostile;
mod interrupts;
mod keystore;
mod pipes;
mod proxies;
mod ran;
mod secrecy;
mod send;
mod server;
mod shapes;
mod terminal;
mod terms;
mod tls;
mod wait;
mod walk;
mod watch;
