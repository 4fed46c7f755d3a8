//! The checks against a real DNS server on the loopback interface, with zones from `tests/fixtures/dns`.

mod bench;
mod deadline;
mod dkim;
mod dmarc;
mod foreign;
mod hostile;
mod names;
mod resolver;
mod reverse_dns;
mod shown;
mod spf;
