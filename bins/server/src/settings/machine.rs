//! What defaults depend on of the machine: a value, so that tests can make up one.

use std::fs;
use std::path::Path;

/// The data directory of a container image.
pub const APP_DATA: &str = "/app/data";

/// Facts about the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub hostname: String,
    /// The memory that this process may use, in bytes.
    pub memory_bytes: u64,
    /// Whether `/app/data` exists and can be written.
    pub app_data_writable: bool,
}

/// Taken where the memory cannot be found out.
const MEMORY_FALLBACK: u64 = 1 << 30;

impl Machine {
    /// The machine that this process runs on.
    pub fn of_this_process() -> Self {
        let root = Path::new("/");
        Self {
            hostname: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            memory_bytes: memory_bytes(root).unwrap_or(MEMORY_FALLBACK),
            app_data_writable: is_writable_directory(Path::new(APP_DATA)),
        }
    }
}

fn is_writable_directory(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    path.is_dir() && access(path, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// The least of the machine's memory and the limits of the control groups that this process is in.
fn memory_bytes(root: &Path) -> Option<u64> {
    let machine = fs::read_to_string(root.join("proc/meminfo")).ok();
    let machine = machine.as_deref().and_then(total_of_meminfo);
    machine.into_iter().chain(cgroup_limits(root)).min()
}

/// `MemTotal:       16384 kB`, in bytes.
fn total_of_meminfo(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kib * 1024)
}

/// Limits of the process's own group and those above it. In a container the path that the kernel tells may not exist
/// below its own mount; then the limit stands at the mount's root. No limit (`max`, or a huge number in version 1) is
/// no smaller than the machine's memory.
fn cgroup_limits(root: &Path) -> Vec<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let (mount, file) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            "memory" => ("sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let path = Path::new(path.trim_start_matches('/'));
        for group in path.ancestors() {
            let limit = fs::read_to_string(root.join(mount).join(group).join(file)).ok();
            limits.extend(limit.and_then(|text| text.trim().parse::<u64>().ok()));
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file system of these files.
    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:       1024 kB\nMemFree: 1 kB\n");

    #[test]
    fn the_smallest_limit_counts() {
        let v2 = ("proc/self/cgroup", "0::/a/b\n");
        let v1 = ("proc/self/cgroup", "5:cpu:/x\n4:memory:/x\n");
        for (files, expected) in [
            (vec![], None),
            (vec![MEMINFO], Some(1_048_576)),
            (
                vec![MEMINFO, v2, ("sys/fs/cgroup/a/b/memory.max", "max\n")],
                Some(1_048_576),
            ),
            (
                vec![MEMINFO, v2, ("sys/fs/cgroup/a/b/memory.max", "4096\n")],
                Some(4096),
            ),
            (vec![MEMINFO, v2, ("sys/fs/cgroup/a/memory.max", "8192\n")], Some(8192)),
            (vec![MEMINFO, v2, ("sys/fs/cgroup/memory.max", "512\n")], Some(512)),
            (
                vec![MEMINFO, v1, ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "2048\n")],
                Some(2048),
            ),
            (
                vec![
                    MEMINFO,
                    v1,
                    ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ],
                Some(1_048_576),
            ),
        ] {
            assert_eq!(memory_bytes(root(&files).path()), expected, "{files:?}");
        }
    }

    #[test]
    fn only_a_directory_that_can_be_written_counts() {
        let root = root(&[("file", "")]);
        assert!(is_writable_directory(root.path()));
        assert!(!is_writable_directory(&root.path().join("file")));
        assert!(!is_writable_directory(&root.path().join("none")));
    }
}
