//! Questions to the person at the terminal.

use std::io::{self, IsTerminal as _, Write as _};

use super::clean;

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Yes.
    Yes,
    /// Anything else.
    No,
    /// There is nobody to ask.
    Nobody,
}

/// Asks on the standard error, if a person is at both ends.
pub(crate) async fn ask(question: &str) -> io::Result<Answer> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Ok(Answer::Nobody);
    }
    // An address in it may come from anywhere, and must not rewrite the question.
    write!(anstream::stderr(), "{} [y/N] ", clean::line(question))?;
    // A thread of its own, so that Ctrl-C is heard meanwhile.
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    let line = read.await.map_err(io::Error::other)??;
    Ok(meaning(&line))
}

fn meaning(line: &str) -> Answer {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Answer::Yes,
        _ => Answer::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_one() {
        for (line, answer) in [
            ("y\n", Answer::Yes),
            (" YES \r\n", Answer::Yes),
            ("\n", Answer::No),
            ("", Answer::No),
            ("yess", Answer::No),
            ("n", Answer::No),
        ] {
            assert_eq!(meaning(line), answer, "{line:?}");
        }
    }
}
