//! Limits of the process.

use std::io;

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the soft limit of open files to the hard one: each connection is a file, and the usual soft limit of 1024
/// is there for programs that use `select`.
///
/// # Errors
/// The system's refusal; the server then runs with what it has.
pub fn raise_open_files() -> io::Result<()> {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        setrlimit(Resource::Nofile, limit)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        raise_open_files().unwrap();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
