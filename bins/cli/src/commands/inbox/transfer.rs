//! `restante inbox export` and `restante inbox import`

use std::io;
use std::path::Path;

use restante_client::{Error, ExportedInbox};

use super::expiry;
use crate::args::inbox::{ExportArgs, ImportArgs};
use crate::commands::email::already_there as file_is_there;
use crate::context::Context;
use crate::failure::Failure;
use crate::keystore::Entry;
use crate::output::question::{Answer, ask};
use crate::output::{clean, style};

/// Writes an inbox with its key to a file, or to the standard output.
pub(super) async fn export(context: &Context, wanted: ExportArgs) -> Result<(), Failure> {
    let export = context.inbox(wanted.address.as_deref()).await?.export();
    let out = wanted.out.unwrap_or_else(|| ".".into());
    if is_standard(&out) {
        return Ok(context.output.bytes(export.to_json().as_bytes())?);
    }
    let path = if out.is_dir() {
        out.join(export.file_name())
    } else {
        out
    };
    if wanted.force {
        export.replace_file(&path)?;
    } else if path.exists() {
        return Err(file_is_there(&path));
    } else {
        export.write_file(&path)?;
    }
    if context.output.json {
        let said = serde_json::json!({ "emailAddress": export.address(), "file": path });
        return Ok(context.output.json(&said)?);
    }
    context.output.line(&clean::line(&path.display().to_string()))?;
    if export.is_encrypted() {
        context
            .output
            .note("Whoever has this file can read the mail of the inbox.");
    }
    Ok(())
}

/// Takes an export into the keystore; nothing is asked of the server.
pub(super) async fn import(context: &Context, wanted: ImportArgs) -> Result<(), Failure> {
    let export = read(&wanted.file)?;
    let entry = Entry::of(&export);
    let replace = wanted.replace || may_replace(context, &entry).await?;
    let address = entry.address().to_owned();
    context.keystore.update(|document| {
        let inboxes = document.server_mut(&context.connection.url);
        if let (false, Some(known)) = (replace, inboxes.same_as(&entry)) {
            return Err(already_there(known));
        }
        inboxes.put(entry);
        inboxes.activate(&address);
        Ok(())
    })?;
    say(context, &export)
}

fn say(context: &Context, export: &ExportedInbox) -> Result<(), Failure> {
    let now = context.clock.now();
    if export.expires_at().is_some_and(|end| end <= now) {
        context
            .output
            .note(&format!("warning: it {}", expiry(export.expires_at(), now)));
    }
    if context.output.json {
        let said = serde_json::json!({ "emailAddress": export.address(), "inboxHash": export.hash() });
        return Ok(context.output.json(&said)?);
    }
    context.output.line(&style::bold(export.address()))?;
    context.note_in_use(export.address());
    Ok(())
}

/// Whether a known inbox may be replaced: the person at the terminal says so; without one nobody does.
async fn may_replace(context: &Context, entry: &Entry) -> Result<bool, Failure> {
    let document = context.keystore.read()?;
    let known = document
        .server(&context.connection.url)
        .and_then(|known| known.same_as(entry));
    let Some(known) = known else {
        return Ok(false);
    };
    match ask(&format!(
        "{} is known already. Replace it, with its key?",
        known.address()
    ))
    .await?
    {
        Answer::Yes => Ok(true),
        Answer::No | Answer::Nobody => Err(already_there(known)),
    }
}

fn already_there(known: &Entry) -> Failure {
    let address = known.address().to_owned();
    Failure::Client(Error::InboxAlreadyExists { address })
}

fn read(path: &Path) -> Result<ExportedInbox, Failure> {
    let (path, read) = if is_standard(path) {
        let read = ExportedInbox::read(io::stdin().lock());
        (Path::new("the standard input"), read)
    } else {
        (path, ExportedInbox::read_file(path))
    };
    read.map_err(|error| match error {
        Error::InvalidImportData(reason) => Failure::SpoiledExport {
            path: path.to_owned(),
            reason,
        },
        Error::File { reason, .. } => Failure::Client(Error::File {
            path: path.display().to_string(),
            reason,
        }),
        error => error.into(),
    })
}

fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}
