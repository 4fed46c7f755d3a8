//! The thread on which the asynchronous client runs.

use std::fmt;
use std::sync::Arc;

use tokio::runtime::{Builder, Handle};

use crate::Error;

/// A runtime with one thread of its own; clones share it, and the last one ends it.
#[derive(Clone)]
pub(super) struct Runtime(Arc<Owned>);

/// `None` only while it is dropped.
struct Owned(Option<tokio::runtime::Runtime>);

impl Runtime {
    pub(super) fn start() -> Result<Self, Error> {
        Self::named("restante-client")
    }

    fn named(thread: &str) -> Result<Self, Error> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name(thread)
            .enable_all()
            .build();
        let runtime =
            runtime.map_err(|error| Error::Configuration(format!("the client's thread cannot be started: {error}")))?;
        Ok(Self(Arc::new(Owned(Some(runtime)))))
    }

    /// Waits for an operation of the asynchronous client.
    pub(super) fn wait<T>(&self, operation: impl IntoFuture<Output = Result<T, Error>>) -> Result<T, Error> {
        if is_asynchronous() {
            return Err(Error::Configuration(
                "the blocking client was called from asynchronous code, whose thread it would block; \
                 use restante_client::Client there"
                    .to_owned(),
            ));
        }
        let runtime = self
            .0
            .0
            .as_ref()
            .expect("it is taken when nothing refers to it any more");
        // Some operations look for their runtime when they are made, before they are first polled.
        runtime.block_on(async { operation.into_future().await })
    }
}

/// Nobody who looks at a client wants to see its threads.
impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}

impl Drop for Owned {
    /// Waits for the thread to end, except where nothing may wait.
    fn drop(&mut self) {
        match self.0.take() {
            Some(runtime) if is_asynchronous() => runtime.shutdown_background(),
            runtime => drop(runtime),
        }
    }
}

/// Whether this thread is one of a runtime, which must not be blocked.
pub(super) fn is_asynchronous() -> bool {
    Handle::try_current().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_asynchronous_code_operations_are_refused_and_the_runtime_may_be_dropped() {
        let runtime = Runtime::start().unwrap();
        let outer = tokio::runtime::Runtime::new().unwrap();
        let refused = outer.block_on(async { runtime.wait(async { Ok(()) }) });
        assert!(
            matches!(&refused, Err(Error::Configuration(text)) if text.contains("asynchronous")),
            "{refused:?}"
        );
        runtime.wait(async { Ok(()) }).unwrap();
        outer.block_on(async move { drop(runtime) });
    }

    #[test]
    fn threads_wait_beside_each_other() {
        let runtime = Runtime::start().unwrap();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let other = runtime.clone();
        let waiting = std::thread::spawn(move || other.wait(async { receiver.await.map_err(|_| Error::Closed) }));
        runtime
            .wait(async { sender.send(7).map_err(|_| Error::Closed) })
            .unwrap();
        assert_eq!(waiting.join().unwrap().unwrap(), 7);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn no_thread_is_left_after_the_last_clone() {
        let runtime = Runtime::named("counted").unwrap();
        let clone = runtime.clone();
        let worked = runtime.wait(async {
            let mut tasks = tokio::task::JoinSet::new();
            tasks.spawn(async { threads("counted") });
            Ok(tasks.join_all().await)
        });
        assert_eq!(worked.unwrap(), [1]);
        drop(runtime);
        clone.wait(async { Ok(()) }).unwrap();
        assert_eq!(threads("counted"), 1);
        drop(clone);
        // The kernel lists a thread for a moment after it was waited for.
        let began = tokio::time::Instant::now();
        while threads("counted") > 0 {
            assert!(began.elapsed().as_secs() < 10, "the thread is still there");
            std::thread::yield_now();
        }
    }

    /// How many threads of this process have the name.
    #[cfg(target_os = "linux")]
    fn threads(name: &str) -> usize {
        let threads = std::fs::read_dir("/proc/self/task").unwrap();
        // A thread may end while the list is read.
        let names = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
        names.filter(|found| found.trim() == name).count()
    }
}
