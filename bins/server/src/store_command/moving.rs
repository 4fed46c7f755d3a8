//! Export and import.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use restante_model::Timestamp;
use restante_storage::embedded::{Embedded, HeldStore, NewStore};
use restante_storage::transfer::{Damaged, ExportError, Exporting, Import, LeftOut, Totals, export as write_stream};
use restante_storage::{Stamp, Store};
use tokio::runtime::Runtime;

use super::progress::Console;
use super::report::{count, size};
use super::{StoreCommandError, is_standard};
use crate::compose;
use crate::secrets::{EVENT_KEY_FILE, Fingerprints, SEAL_MAC_KEY_FILE, SIGNING_KEY_FILE};
use crate::settings::Settings;

/// An export holds mail in the clear: it is for its owner only.
const FILE_MODE: u32 = 0o600;

/// Where an export goes.
pub(super) enum Destination {
    /// Standard output.
    Standard,
    /// A file, there or not yet; where a link led to it, the file itself.
    File(PathBuf),
}

impl Destination {
    /// What the command line names; nothing of the data directory may be replaced.
    pub(super) fn of(file: &Path, data_path: &Path) -> Result<Self, StoreCommandError> {
        if is_standard(file) {
            return Ok(Self::Standard);
        }
        let failed = |error| StoreCommandError::File {
            file: file.to_owned(),
            error,
        };
        let target = if file.is_symlink() {
            fs::canonicalize(file).map_err(failed)?
        } else {
            file.to_owned()
        };
        if fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(StoreCommandError::NotAFile { file: target });
        }
        let folder = fs::canonicalize(folder(&target)).map_err(failed)?;
        // Without a data directory there is nothing to export either, which is told later.
        if fs::canonicalize(data_path).is_ok_and(|data| folder.starts_with(data)) {
            return Err(StoreCommandError::InDataDirectory { file: target });
        }
        Ok(Self::File(target))
    }
}

fn folder(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

pub(super) fn export(
    path: &Path,
    to: &Destination,
    damaged: Damaged,
    now: Timestamp,
    console: &mut Console<'_>,
) -> Result<(), StoreCommandError> {
    let held = HeldStore::hold(path)?;
    let exporting = Exporting {
        stamp: held.stamp().clone(),
        now,
        damaged,
    };
    let store = Opened::new(held.open()?)?;
    let (totals, left_out) = match to {
        Destination::Standard => store.write(io::stdout(), &exporting, console)?.0,
        Destination::File(file) => store.write_file(file, &exporting, console)?,
    };
    store.close();
    let seconds = console.seconds();
    let told = format!("exported {}, {seconds:.1} s", moved(&totals));
    console.end();
    // Standard output may be the export.
    eprintln!("{told}");
    for (left_out, what) in [
        (left_out.emails, "damaged email"),
        (left_out.queued, "damaged webhook record"),
    ] {
        if left_out > 0 {
            eprintln!("left out {}; `server store verify` names them", count(left_out, what));
        }
    }
    Ok(())
}

/// An open store and what runs its calls.
struct Opened {
    store: Embedded,
    runtime: Runtime,
}

impl Opened {
    fn new(store: Embedded) -> Result<Self, StoreCommandError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(StoreCommandError::Runtime)?;
        Ok(Self { store, runtime })
    }

    fn close(self) {
        self.runtime.block_on(self.store.close());
    }

    /// Writes the stream; gives back what was written, what was left out, and the writer.
    fn write<W: Write>(
        &self,
        out: W,
        exporting: &Exporting,
        console: &mut Console<'_>,
    ) -> Result<((Totals, LeftOut), W), StoreCommandError> {
        let failed = |error| StoreCommandError::Export { error };
        let mut out = BufWriter::with_capacity(1024 * 1024, out);
        let usage = self.runtime.block_on(self.store.usage());
        let all = usage.map_err(|error| failed(error.into()))?.emails;
        let watch = |totals: &Totals| console.show("exporting", totals.emails, all);
        let written = self
            .runtime
            .block_on(write_stream(&self.store, &mut out, exporting, watch));
        let written = written.map_err(failed)?;
        let out = out
            .into_inner()
            .map_err(|error| failed(ExportError::Write(error.into_error())))?;
        Ok((written, out))
    }

    /// Writes the stream into a file that has its name only when it is whole.
    fn write_file(
        &self,
        file: &Path,
        exporting: &Exporting,
        console: &mut Console<'_>,
    ) -> Result<(Totals, LeftOut), StoreCommandError> {
        let temporary = temporary(file);
        let failed = |error| StoreCommandError::File {
            file: file.to_owned(),
            error,
        };
        let out = create(&temporary).map_err(failed)?;
        let written = self.write(out, exporting, console).and_then(|(written, out)| {
            let named = out.sync_all().and_then(|()| fs::rename(&temporary, file));
            named.and_then(|()| sync_folder(file)).map_err(failed)?;
            Ok(written)
        });
        if written.is_err() {
            // It is not whole, or has its name already.
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

/// What a file is called until it is whole.
fn temporary(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

fn create(file: &Path) -> io::Result<File> {
    // One that an earlier export left behind may be readable by others.
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(FILE_MODE)
        .open(file)
}

fn sync_folder(file: &Path) -> io::Result<()> {
    File::open(folder(file))?.sync_all()
}

pub(super) fn import(
    path: &Path,
    file: &Path,
    settings: &Settings,
    console: &mut Console<'_>,
) -> Result<(), StoreCommandError> {
    let failed = |error| StoreCommandError::File {
        file: file.to_owned(),
        error,
    };
    let (input, length): (Box<dyn Read>, _) = if is_standard(file) {
        (Box::new(io::stdin().lock()), None)
    } else {
        let opened = File::open(file).map_err(failed)?;
        let length = opened.metadata().map_err(failed)?.len();
        (Box::new(opened), Some(length).filter(|length| *length > 0))
    };
    let import = Import::begin(BufReader::with_capacity(1024 * 1024, input))?;
    let stamp = our_stamp(settings)?;
    check_stamp(&import.stamp(), &stamp)?;
    let Some(new) = NewStore::begin(path)? else {
        return Err(StoreCommandError::NotEmpty { path: path.to_owned() });
    };
    match fill(&new, import, stamp, length, console) {
        Ok(totals) => {
            new.finish()?;
            let seconds = console.seconds();
            console.say(format_args!("imported {}, {seconds:.1} s", moved(&totals)));
            Ok(())
        }
        Err(error) => {
            // The store is as it was either way; what is left behind goes with the next import.
            let _ = new.abandon();
            Err(error)
        }
    }
}

/// What was written or stored, for people.
fn moved(totals: &Totals) -> String {
    let mut parts = vec![count(totals.inboxes, "inbox"), count(totals.emails, "email")];
    if totals.webhooks > 0 {
        parts.push(count(totals.webhooks, "webhook"));
        parts.push(format!(
            "{} still to be told or remembered",
            count(totals.events, "event")
        ));
    }
    let last = parts.pop().unwrap_or_default();
    format!("{} and {last}, {}", parts.join(", "), size(totals.bytes))
}

fn fill(
    new: &NewStore,
    import: Import<impl Read>,
    stamp: Stamp,
    length: Option<u64>,
    console: &mut Console<'_>,
) -> Result<Totals, StoreCommandError> {
    let store = Opened::new(new.open(stamp)?)?;
    let watch = |totals: &Totals| match length {
        // All but a little of the stream are the parts of emails.
        Some(length) => console.show("importing", totals.bytes, length),
        None => console.count("importing, emails so far", totals.emails),
    };
    let filled = store.runtime.block_on(import.fill(&store.store, watch));
    store.close();
    Ok(filled?)
}

/// What mail in this data directory depends on; keys are not made here, as they would be other ones.
fn our_stamp(settings: &Settings) -> Result<Stamp, StoreCommandError> {
    let mut needed = vec![EVENT_KEY_FILE, SEAL_MAC_KEY_FILE];
    if settings.secrets.signing_key.is_none() {
        needed.push(SIGNING_KEY_FILE);
    }
    let files = needed.into_iter().map(|name| settings.data_path.join(name));
    let missing: Vec<_> = files.filter(|file| !file.exists()).collect();
    if !missing.is_empty() {
        return Err(StoreCommandError::KeysMissing { missing });
    }
    let keys = Fingerprints::read(&settings.data_path, &settings.secrets)?;
    Ok(compose::stamp(settings, &keys))
}

fn check_stamp(theirs: &Stamp, ours: &Stamp) -> Result<(), StoreCommandError> {
    if theirs.profile != ours.profile {
        let theirs = theirs.profile.clone();
        return Err(StoreCommandError::OtherProfile { theirs });
    }
    match ours.difference(theirs) {
        Some((what, theirs, ours)) => Err(StoreCommandError::OtherKey { what, theirs, ours }),
        None => Ok(()),
    }
}
