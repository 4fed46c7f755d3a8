//! A disk that fails while the server runs: mail is refused for now, readiness says so, earlier mail is read as ever;
//! once the disk works again so does the server, with everything that it ever acknowledged, and more restarts change
//! nothing.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use crate::daemon::{Daemon, PATIENCE, now};
use crate::faults::{self, Fault, Ongoing};
use crate::told::{BOB, Told, health, wait_until_ready};

/// Calls that change a segment.
const WRITES: &str = "writev,pwrite64,ftruncate";

/// A server with an inbox and mail in it, in which faults can begin.
struct Scene {
    _dir: tempfile::TempDir,
    home: PathBuf,
    server: Daemon,
    told: Told,
}

impl Scene {
    /// None where this machine permits no faults.
    fn set() -> Option<Self> {
        if !faults::are_permitted() {
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        // The path is absolute in the server's calls too, so that faults of a file find them.
        let data = home.join("data");
        let server = faults::start(&home, &[("DATA_PATH", data.to_str().unwrap())]);
        server.create(BOB, None);
        let mut told = Told::default();
        for subject in ["before 1", "before 2", "before 3"] {
            told.deliver(&server, subject);
        }
        Some(Self {
            _dir: dir,
            home,
            server,
            told,
        })
    }

    /// The file of all mail.
    fn segment(&self) -> PathBuf {
        self.home.join("data/store/segments/00000001.log")
    }

    /// These calls about the segment fail from now on.
    fn begin(&self, calls: &str, error: &str) -> Ongoing {
        let fault = Fault {
            calls,
            fate: &format!("error={error}"),
            files: &[self.segment()],
        };
        fault.begin(&self.server)
    }

    /// After the fault: the server recovers, and neither kill nor stop changes what is there.
    fn recovers(self) {
        let Self {
            _dir,
            home,
            server,
            mut told,
        } = self;
        wait_until_ready(&server);
        told.deliver(&server, "after 1");
        let there = told.check(&server);
        server.kill();
        let server = Daemon::start(&home, &[]);
        assert_eq!(told.check(&server), there, "after kill -9");
        server.stop();
        let server = Daemon::start(&home, &[]);
        assert_eq!(told.check(&server), there, "after a stop");
        told.deliver(&server, "after 2");
        told.check(&server);
    }
}

/// Mail and changes are refused for as long as the fault lasts, and nothing else is.
fn refuses_mail_until_it_ends(calls: &str, error: &str) {
    let Some(mut scene) = Scene::set() else { return };
    let fault = scene.begin(calls, error);
    let Scene { server, told, .. } = &mut scene;
    for subject in ["during 1", "during 2"] {
        assert!(told.send(server, subject).is_some(), "{subject} is taken");
        assert_eq!(health(server, "ready"), 503, "{subject}");
        assert_eq!(health(server, "live"), 200);
    }
    told.check_exactly(server);
    told.delete_oldest(server, 503);
    let _ = server.request("GET", &told.oldest(), None).expect_status(200);
    fault.end();
    wait_until_ready(server);
    told.delete_oldest(server, 204);
    scene.recovers();
}

#[test]
fn a_disk_that_does_not_sync_takes_no_mail() {
    refuses_mail_until_it_ends("fdatasync,fsync", "EIO");
}

#[test]
fn a_disk_that_does_not_write_takes_no_mail() {
    refuses_mail_until_it_ends(WRITES, "EIO");
}

#[test]
fn a_disk_that_became_read_only_takes_no_mail() {
    refuses_mail_until_it_ends(WRITES, "EROFS");
}

#[test]
fn a_disk_without_room_takes_no_mail() {
    refuses_mail_until_it_ends("writev,pwrite64", "ENOSPC");
}

/// What a failed sync could not write, the system counts as written, and the next sync would succeed without it: so
/// before each there must be a write.
#[test]
fn no_sync_is_repeated_before_its_data_is_written_again() {
    let Some(mut scene) = Scene::set() else { return };
    let fault = Fault {
        calls: "fdatasync,fsync",
        fate: "error=EIO:when=1..2",
        files: &[scene.segment()],
    };
    let ongoing = fault.begin_beside("pwrite64,writev", &scene.server);
    let Scene { server, told, .. } = &mut scene;
    for subject in ["during 1", "during 2"] {
        assert!(told.send(server, subject).is_some());
        wait_until_ready(server);
    }
    told.deliver(server, "after 0");
    let log = ongoing.end();
    let calls: Vec<_> = log.lines().filter(|line| line.contains('(')).collect();
    let is_sync = |call: &&str| call.contains("sync(");
    assert!(!calls.windows(2).any(|pair| pair.iter().all(is_sync)), "{log}");
    let failed = calls.iter().filter(|call| is_sync(call) && call.contains("EIO"));
    assert_eq!(failed.count(), 4, "two by each call: {log}");
    told.check_exactly(server);
    scene.recovers();
}

/// The index is written when the server stops, at the latest; it can be made again from the log.
#[test]
fn an_index_that_cannot_be_written_costs_no_mail() {
    let Some(scene) = Scene::set() else { return };
    let tables: Vec<_> = (0..10)
        .map(|n| scene.home.join(format!("data/store/index.1/tables/{n}")))
        .collect();
    let fault = Fault {
        calls: "openat",
        fate: "error=ENOSPC",
        files: &tables,
    };
    let ongoing = fault.begin(&scene.server);
    let Scene {
        _dir,
        home,
        server,
        mut told,
    } = scene;
    told.deliver(&server, "during");
    server.terminate();
    let ended = server.wait();
    ongoing.end();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.logged.contains("cannot flush the index"), "{ended:?}");
    told.check_exactly(&Daemon::start(&home, &[]));
}

/// Content that cannot be read is no reason to refuse mail, and is there again when the fault is not.
fn refuses_reads_until_it_ends(calls: &str, error: &str) {
    let Some(mut scene) = Scene::set() else { return };
    let fault = scene.begin(calls, error);
    let Scene { server, told, .. } = &mut scene;
    let raw = format!("{}/raw", told.oldest());
    let answer = server.request("GET", &raw, None).expect_status(503);
    assert!(!answer.body.contains("os error"), "{}", answer.body);
    told.deliver(server, "during");
    assert_eq!(health(server, "ready"), 200);
    fault.end();
    let _ = server.request("GET", &raw, None).expect_status(200);
    scene.recovers();
}

#[test]
fn mail_that_cannot_be_read_is_not_lost() {
    refuses_reads_until_it_ends("pread64", "EIO");
}

#[test]
fn mail_whose_file_cannot_be_opened_is_not_lost() {
    refuses_reads_until_it_ends("openat", "EMFILE");
}

#[test]
fn a_server_in_trouble_stops_when_it_is_told_to() {
    let Some(mut scene) = Scene::set() else { return };
    let fault = scene.begin("fdatasync,fsync", "EIO");
    assert!(scene.told.send(&scene.server, "during").is_some());
    let ended = scene.server.stop();
    assert!(ended.took < Duration::from_secs(10), "{:?}", ended.took);
    fault.end();
    scene.told.check_exactly(&Daemon::start(&scene.home, &[]));
}

/// Nobody is refused for a disk that takes its time; readiness tells of it, and reads do not wait.
#[test]
fn a_disk_that_hangs_holds_up_writes_only() {
    let Some(mut scene) = Scene::set() else { return };
    let fault = Fault {
        calls: "fdatasync",
        fate: "delay_enter=4s:when=1",
        files: &[scene.segment()],
    };
    let ongoing = fault.begin(&scene.server);
    let Scene { server, told, .. } = &mut scene;
    thread::scope(|scope| {
        let (server, oldest) = (&*server, told.oldest());
        scope.spawn(move || told.deliver(server, "during"));
        let deadline = now() + PATIENCE;
        while health(server, "ready") == 200 {
            assert!(now() < deadline, "the disk does not hang");
        }
        assert_eq!(health(server, "live"), 200);
        let _ = server.request("GET", &format!("{oldest}/raw"), None).expect_status(200);
    });
    ongoing.end();
    scene.recovers();
}
