//! `restante completions`

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Arguments;
use crate::failure::Failure;

/// Prints the completions for a shell.
pub(crate) fn run(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "restante", &mut script);
    crate::output::Output::new(false).bytes(&script)?;
    Ok(())
}
