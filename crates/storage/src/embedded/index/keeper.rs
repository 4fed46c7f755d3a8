//! The thread that writes and merges the files of the index, so that commits need not wait for it.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::tree::Tree;

/// The running thread; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Keeper {
    hints: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(super) fn start(tree: Arc<Tree>) -> io::Result<Self> {
        let (hints, heard) = sync_channel(1);
        let run = move || {
            while heard.recv().is_ok() {
                if let Err(error) = tree.tidy() {
                    // Damage has woken the committer; anything else it meets again when it has to help. Then it makes the index anew.
                    tracing::warn!(%error, "cannot write the files of the index");
                }
            }
        };
        let thread = std::thread::Builder::new().name("index".to_owned()).spawn(run)?;
        Ok(Self {
            hints: Some(hints),
            thread: Some(thread),
        })
    }

    /// Says that there may be something to do; never blocks.
    pub(super) fn hint(&self) {
        if let Some(hints) = &self.hints {
            // A full channel holds a hint already.
            let _ = hints.try_send(());
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.hints = None;
        if let Some(thread) = self.thread.take() {
            // A panic was reported where it happened.
            let _ = thread.join();
        }
    }
}
