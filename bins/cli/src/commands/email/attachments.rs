//! The attachments of an email are listed or saved.

use std::io;
use std::path::{Path, PathBuf};

use restante_client::{AttachmentData, Inbox, checksum_matches};
use serde::Serialize;

use super::fetch;
use crate::args::email::AttachmentsArgs;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::clean;
use crate::{attachments, output};

/// What is printed of an attachment for machines: the fields of the interface without the content.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    filename: &'a str,
    content_type: &'a str,
    size: usize,
    content_disposition: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checksum: Option<&'a str>,
    /// Where it was saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    saved_as: Option<PathBuf>,
}

/// Lists them; saves them where that is asked for.
pub(super) async fn run(context: &Context, inbox: &Inbox, wanted: &AttachmentsArgs) -> Result<(), Failure> {
    let email = fetch(inbox, &wanted.choice).await?;
    let mut listed: Vec<Listed<'_>> = email.attachments().iter().map(Listed::of).collect();
    let mut failed = None;
    if let Some(folder) = &wanted.save {
        for (attachment, listed) in email.attachments().iter().zip(&mut listed) {
            match save(folder, attachment) {
                Ok(path) => listed.saved_as = Some(path),
                Err(failure) => failed = failed.or(Some(failure)),
            }
        }
    }
    shown(context, &listed, email.attachments())?;
    failed.map_or(Ok(()), Err)
}

fn shown(context: &Context, listed: &[Listed<'_>], attachments: &[AttachmentData]) -> Result<(), Failure> {
    if context.output.json {
        return Ok(context.output.json(&listed)?);
    }
    if attachments.is_empty() {
        context.output.note("no attachments");
        return Ok(());
    }
    context.output.table(&output::email::attachments(attachments))?;
    for path in listed.iter().filter_map(|listed| listed.saved_as.as_ref()) {
        context
            .output
            .line(&format!("saved {}", clean::line(&path.display().to_string())))?;
    }
    Ok(())
}

/// Saves an attachment whose bytes are what its checksum says.
fn save(folder: &Path, attachment: &AttachmentData) -> Result<PathBuf, Failure> {
    let name = attachments::safe_name(&attachment.filename);
    if checksum_matches(attachment) == Some(false) {
        return Err(Failure::Usage(format!(
            "the bytes of {name} are not those of its checksum; it is not saved"
        )));
    }
    let saved = attachments::save(folder, &name, &attachment.content.0);
    saved.map_err(|source| Failure::File {
        path: folder.join(name),
        source,
    })
}

/// Writes a file, over one that is there only if that is wanted. A link at its name is not followed.
pub(super) fn save_as(path: &Path, bytes: &[u8], replace: bool) -> Result<(), Failure> {
    let saved = attachments::write(path, bytes, replace);
    saved.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => already_there(path),
        _ => Failure::File {
            path: path.to_owned(),
            source,
        },
    })
}

/// The refusal to write over a file.
pub(in crate::commands) fn already_there(path: &Path) -> Failure {
    Failure::Usage(format!("{} is there already; --force overwrites it", path.display()))
}

impl<'a> Listed<'a> {
    fn of(attachment: &'a AttachmentData) -> Self {
        Self {
            filename: &attachment.filename,
            content_type: &attachment.content_type,
            size: attachment.size,
            content_disposition: &attachment.content_disposition,
            content_id: attachment.content_id.as_deref(),
            checksum: attachment.checksum.as_deref(),
            saved_as: None,
        }
    }
}
