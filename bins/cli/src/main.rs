//! The `restante` command.

fn main() {}
