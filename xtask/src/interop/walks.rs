//! Our scripts, which walk through the SDK, the command line and receivers of webhooks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::suite;
use crate::server::Server;
use crate::{repository, shell};

/// The scripts, each a program of its own; a folder beside them holds what they share.
const SCRIPTS: &str = "tests/interop/python";

/// As the SDK expects the peer, with webhooks to receivers of this machine.
const SETTINGS: [(&str, &str); 2] = [("SVC_WIRE_PROFILE", "vaultsandbox"), ("SVC_WEBHOOK_ALLOW_HTTP", "true")];

/// Starts the server that was built, runs every script against it, and stops it whatever happens.
pub(super) fn run(python: &Path) -> Result<()> {
    let folder = TempDir::new()?;
    let built = repository::target()?.join("debug");
    let server = Server::start(&built.join("server"), folder.path(), &SETTINGS)?;
    let outcome = run_scripts(python, &server, &built.join("restante"));
    suite::stopped(server, outcome)
}

fn run_scripts(python: &Path, server: &Server, command_line: &Path) -> Result<()> {
    let scripts = scripts()?;
    ensure!(!scripts.is_empty(), "no script in {SCRIPTS}");
    for script in scripts {
        let found = server.discovery();
        let mut command = Command::new(python);
        // -B: no byte code beside the sources; -u: a line is seen when its step ends.
        command.arg("-B").arg("-u").arg(&script);
        command
            .env("RESTANTE_URL", &found.url)
            .env("RESTANTE_SMTP", &found.smtp);
        command
            .env("RESTANTE_API_KEY_FILE", &found.api_key_file)
            .env("RESTANTE_COMMAND", command_line);
        shell::run(&mut command)?;
    }
    Ok(())
}

fn scripts() -> Result<Vec<PathBuf>> {
    let folder = repository::root().join(SCRIPTS);
    let mut scripts = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {SCRIPTS}"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "py") {
            scripts.push(path);
        }
    }
    scripts.sort();
    Ok(scripts)
}
