//! SMTP over TCP to a whole server, and what can be read afterwards.
//!
//! `tests/dialogues` shows each command and reply; here are real clients, and what only a whole server decides.

mod clients;
mod deadlines;
mod exact_bytes;
mod limits;
mod peers;
mod programs;
mod recipients;
