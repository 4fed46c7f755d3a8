//! Runs other programs, showing each command before it starts.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::repository;

/// `cargo` with the given arguments, in the root of the repository.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(repository::root());
    command
}

/// Runs a command to its end; an exit code other than 0 is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = describe(command);
    eprintln!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// Runs a command to its end and gives back what it wrote to standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = describe(command);
    let output = command.output().with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!(
            "`{line}` failed: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` did not write UTF-8"))
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_is_an_error_that_names_it() {
        let error = run(Command::new("false").arg("--now")).expect_err("false fails");
        assert!(error.to_string().starts_with("`false --now` failed"), "{error}");
    }

    #[test]
    fn output_is_what_the_command_wrote() {
        assert_eq!(
            output(Command::new("echo").arg("hello")).expect("echo works"),
            "hello\n"
        );
        assert!(output(&mut Command::new("false")).is_err());
    }
}
