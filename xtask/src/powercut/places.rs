//! The files and mount points of a run.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::fuse::Medium;
use super::mount::{FileSystem, run};

const DISK_BYTES: u64 = 1 << 30;

/// Files and mount points.
pub(super) struct Places {
    /// The medium as it is: under load, and then as a cut left it.
    pub(super) disk: PathBuf,
    /// The medium as it was when the power was switched on.
    before: PathBuf,
    /// Where the medium is served.
    medium: PathBuf,
    /// Where the file system is mounted.
    pub(super) home: PathBuf,
}

impl Places {
    pub(super) fn in_folder(folder: &Path) -> Result<Self> {
        let [disk, before, medium, home] = ["disk.img", "before.img", "medium", "home"].map(|name| folder.join(name));
        fs::create_dir(&medium)?;
        fs::create_dir(&home)?;
        File::create(&disk)?.set_len(DISK_BYTES)?;
        Ok(Self {
            disk,
            before,
            medium,
            home,
        })
    }

    /// Makes the file system and mounts it once, as every trial does.
    pub(super) fn try_out(&self) -> Result<()> {
        let mut make = Command::new("mkfs.ext4");
        run(make.args(["-q", "-F", "-E", "nodiscard"]).arg(&self.disk))?;
        self.switch_on().map(drop)
    }

    /// Serves the medium and mounts its file system; what is dropped first comes first.
    pub(super) fn switch_on(&self) -> Result<(FileSystem, Medium)> {
        let medium = Medium::of(&self.disk, &self.medium)?;
        let mounted = FileSystem::mount(medium.file(), &self.home)?;
        Ok((mounted, medium))
    }

    /// Keeps the medium as it is now, before it is switched on.
    pub(super) fn keep(&self) -> Result<()> {
        copy(&self.disk, &self.before)
    }

    /// Brings the medium back to where it was kept.
    pub(super) fn bring_back(&self) -> Result<()> {
        copy(&self.before, &self.disk)
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    run(Command::new("cp").arg("--sparse=always").args([from, to])).map(drop)
}
