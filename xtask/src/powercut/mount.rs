//! Loop devices and mounts that end with what holds them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// Tries to unmount, with pauses: a process that was killed may take a moment to let go.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);

/// Something that is mounted.
pub(super) struct Mounted(PathBuf);

impl Mounted {
    /// Takes over what is mounted there already.
    pub(super) fn at(folder: &Path) -> Self {
        Self(folder.to_owned())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        for _ in 0..TRIES {
            if run(Command::new("umount").arg(&self.0)).is_ok() {
                return;
            }
            thread::sleep(PAUSE);
        }
        eprintln!("warning: {} is still mounted", self.0.display());
    }
}

/// A file as a block device.
struct Loop(String);

impl Drop for Loop {
    fn drop(&mut self) {
        if let Err(error) = run(Command::new("losetup").args(["--detach", &self.0])) {
            eprintln!("warning: {error:#}");
        }
    }
}

/// An ext4 file system in a file, mounted.
pub(super) struct FileSystem {
    // In this order: unmounted, then detached.
    _mounted: Mounted,
    _device: Loop,
}

impl FileSystem {
    /// Mounts it; the journal is replayed on the way.
    pub(super) fn mount(image: &Path, folder: &Path) -> Result<Self> {
        let device = Loop(
            run(Command::new("losetup").args(["--find", "--show"]).arg(image))?
                .trim()
                .to_owned(),
        );
        run(Command::new("mount").args(["-t", "ext4", &device.0]).arg(folder))?;
        Ok(Self {
            _mounted: Mounted::at(folder),
            _device: device,
        })
    }
}

/// Runs a command that says little, and gives back what it says.
pub(super) fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}
