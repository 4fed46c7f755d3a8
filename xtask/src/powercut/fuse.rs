//! A file system of one file over `/dev/fuse`, which is the medium of a disk: every write and every flush is seen.
//!
//! Only what the loop device needs of the protocol is here; all else is answered "not implemented".
//!
//! Source: `include/uapi/linux/fuse.h` of the Linux kernel, protocol 7.31.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, Result};

use super::mount::{Mounted, run};
use super::recording::Recording;

/// The name of the one file.
const NAME: &str = "disk";
const ROOT: u64 = 1;
const DISK: u64 = 2;
const HEADER: usize = 40;
/// Bytes of one write, at most.
const WRITE_MAX: u32 = 1 << 20;
const PAGES_MAX: u16 = 256;

/// `FUSE_BIG_WRITES` and `FUSE_MAX_PAGES`.
const INIT_FLAGS: u32 = 1 << 5 | 1 << 22;
/// `FOPEN_DIRECT_IO`: the kernel keeps nothing back.
const DIRECT_IO: u32 = 1;

const NOT_FOUND: i32 = -2;
const IO_ERROR: i32 = -5;
const NOT_IMPLEMENTED: i32 = -38;

mod opcode {
    pub(super) const LOOKUP: u32 = 1;
    pub(super) const FORGET: u32 = 2;
    pub(super) const GETATTR: u32 = 3;
    pub(super) const SETATTR: u32 = 4;
    pub(super) const OPEN: u32 = 14;
    pub(super) const READ: u32 = 15;
    pub(super) const WRITE: u32 = 16;
    pub(super) const STATFS: u32 = 17;
    pub(super) const RELEASE: u32 = 18;
    pub(super) const FSYNC: u32 = 20;
    pub(super) const FLUSH: u32 = 25;
    pub(super) const INIT: u32 = 26;
    pub(super) const OPENDIR: u32 = 27;
    pub(super) const RELEASEDIR: u32 = 29;
    pub(super) const INTERRUPT: u32 = 36;
    pub(super) const BATCH_FORGET: u32 = 42;
}

/// A medium that is mounted as a file; dropping it unmounts it.
pub(super) struct Medium {
    // Unmounting ends the thread, so it comes first.
    mounted: Option<Mounted>,
    served: Option<JoinHandle<()>>,
    file: PathBuf,
    recording: Arc<Recording>,
}

impl Medium {
    /// Serves an image as the only file in a folder, and records what becomes of it.
    pub(super) fn of(image: &Path, folder: &Path) -> Result<Self> {
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse");
        let device = device.context("cannot open /dev/fuse")?;
        let image = OpenOptions::new().read(true).write(true).open(image)?;
        let recording = Arc::new(Recording::default());
        let disk = Disk {
            length: image.metadata()?.len(),
            image,
            recording: Arc::clone(&recording),
        };
        let mut mount = Command::new("mount");
        // The kernel takes the number of the descriptor as the program that mounts has it.
        mount.args([
            "-i",
            "-t",
            "fuse",
            "-o",
            "fd=0,rootmode=40000,user_id=0,group_id=0",
            "powercut",
        ]);
        run(mount.arg(folder).stdin(Stdio::from(device.try_clone()?)))?;
        let mounted = Mounted::at(folder);
        let served = thread::spawn(move || disk.serve(device));
        Ok(Self {
            mounted: Some(mounted),
            served: Some(served),
            file: folder.join(NAME),
            recording,
        })
    }

    /// The file that is the medium.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// What becomes of the medium; it can be kept when the medium is gone.
    pub(super) fn recording(&self) -> &Arc<Recording> {
        &self.recording
    }
}

impl Drop for Medium {
    fn drop(&mut self) {
        drop(self.mounted.take());
        // The kernel ends the conversation when the last user is gone.
        let _ = self.served.take().map(JoinHandle::join);
    }
}

struct Disk {
    image: File,
    length: u64,
    recording: Arc<Recording>,
}

/// A request of the kernel.
struct Request<'a> {
    opcode: u32,
    unique: u64,
    node: u64,
    body: &'a [u8],
}

impl<'a> Request<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        Some(Self {
            opcode: number32(bytes, 4)?,
            unique: number64(bytes, 8)?,
            node: number64(bytes, 16)?,
            body: bytes.get(HEADER..)?,
        })
    }
}

impl Disk {
    /// Answers until the file system is unmounted.
    fn serve(&self, mut device: File) {
        let mut buffer = vec![0; WRITE_MAX as usize + 64 * 1024];
        loop {
            let length = match device.read(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // ENODEV: it is unmounted.
                Err(_) => return,
            };
            let Some(request) = Request::parse(&buffer[..length]) else {
                return;
            };
            let unanswered = [opcode::FORGET, opcode::BATCH_FORGET, opcode::INTERRUPT];
            if unanswered.contains(&request.opcode) {
                continue;
            }
            let (error, body) = match self.answer(&request) {
                Ok(body) => (0, body),
                Err(error) => (error, Vec::new()),
            };
            let answer = Answer::default()
                .number32(u32::try_from(16 + body.len()).unwrap_or(u32::MAX))
                .number32(error.cast_unsigned())
                .number64(request.unique);
            // An answer must be written in one piece; a request that was given up takes none.
            let _ = device.write(&[answer.0, body].concat());
        }
    }

    fn answer(&self, request: &Request<'_>) -> Result<Vec<u8>, i32> {
        let body = request.body;
        match request.opcode {
            opcode::INIT => Ok(init()),
            opcode::LOOKUP if body.strip_suffix(b"\0") == Some(NAME.as_bytes()) => Ok(self.entry()),
            opcode::LOOKUP => Err(NOT_FOUND),
            opcode::GETATTR | opcode::SETATTR => {
                let attributes = self.attributes(request.node);
                Ok([Answer::default().number64(0).number64(0).0, attributes].concat())
            }
            opcode::OPEN | opcode::OPENDIR => {
                let flags = if request.opcode == opcode::OPEN { DIRECT_IO } else { 0 };
                Ok(Answer::default().number64(0).number32(flags).number32(0).0)
            }
            opcode::READ => self.read(body).ok_or(IO_ERROR),
            opcode::WRITE => self.write(body).ok_or(IO_ERROR),
            opcode::FSYNC => {
                self.recording.flushed();
                Ok(Vec::new())
            }
            opcode::FLUSH | opcode::RELEASE | opcode::RELEASEDIR => Ok(Vec::new()),
            opcode::STATFS => Ok(vec![0; 80]),
            _ => Err(NOT_IMPLEMENTED),
        }
    }

    fn read(&self, body: &[u8]) -> Option<Vec<u8>> {
        let (offset, size) = (number64(body, 8)?, u64::from(number32(body, 16)?));
        let size = size.min(self.length.saturating_sub(offset));
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        self.image.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }

    fn write(&self, body: &[u8]) -> Option<Vec<u8>> {
        let (offset, size) = (number64(body, 8)?, number32(body, 16)?);
        let bytes = body.get(40..)?.get(..size as usize)?;
        self.image.write_all_at(bytes, offset).ok()?;
        self.recording.wrote(offset, bytes);
        Some(Answer::default().number32(size).number32(0).0)
    }

    fn entry(&self) -> Vec<u8> {
        let head = Answer::default()
            .number64(DISK)
            .number64(0)
            .number64(0)
            .number64(0)
            .number64(0);
        [head.0, self.attributes(DISK)].concat()
    }

    /// `struct fuse_attr`.
    fn attributes(&self, node: u64) -> Vec<u8> {
        let (mode, size) = if node == ROOT {
            (0o40_700, 0)
        } else {
            (0o100_600, self.length)
        };
        let times = [0_u64; 3].into_iter().fold(
            Answer::default().number64(node).number64(size).number64(size / 512),
            Answer::number64,
        );
        let nanoseconds = [0_u32; 3].into_iter().fold(times, Answer::number32);
        // Mode, links, owner, group, device, block size, flags.
        [mode, 1, 0, 0, 0, 4096, 0]
            .into_iter()
            .fold(nanoseconds, Answer::number32)
            .0
    }
}

/// `struct fuse_init_out`.
fn init() -> Vec<u8> {
    let head = Answer::default()
        .number32(7)
        .number32(31)
        .number32(WRITE_MAX)
        .number32(INIT_FLAGS);
    // Requests in the background, and how many of them are a crowd.
    let queues = head.number16(12).number16(9);
    let sizes = queues.number32(WRITE_MAX).number32(1).number16(PAGES_MAX).number16(0);
    [0_u32; 8].into_iter().fold(sizes, Answer::number32).0
}

/// Bytes of an answer, in the byte order of the machine.
#[derive(Default)]
struct Answer(Vec<u8>);

impl Answer {
    fn number16(mut self, number: u16) -> Self {
        self.0.extend_from_slice(&number.to_ne_bytes());
        self
    }

    fn number32(mut self, number: u32) -> Self {
        self.0.extend_from_slice(&number.to_ne_bytes());
        self
    }

    fn number64(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_ne_bytes());
        self
    }
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn number64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
