//! The deadlines of a connection that HTTP itself does not know.
//!
//! A request head that has begun must end soon; a connection without a request may rest longer; a client that does not
//! read its answer is cut. While a request is being answered, its handler has its own deadline. A connection that ends
//! before its client has sent everything lingers.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::linger::Linger;

/// A request head is complete so long after its first byte.
const HEAD: Duration = Duration::from_secs(10);
/// A connection without a request rests so long, from its start too.
const IDLE: Duration = Duration::from_secs(75);
/// A client takes some of its answer within this time.
const WRITE: Duration = Duration::from_mins(1);

/// Whether a request is being answered on a connection, and whether some of it was not read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Busy(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    is_answering: AtomicBool,
    has_unread: AtomicBool,
}

/// Marks the connection as busy until it is dropped.
#[derive(Debug)]
pub(crate) struct BusyGuard(Busy);

impl Busy {
    pub(crate) fn begin(&self) -> BusyGuard {
        self.0.has_unread.store(false, Ordering::Release);
        self.0.is_answering.store(true, Ordering::Release);
        BusyGuard(self.clone())
    }

    /// Nobody reads the rest of the request.
    pub(crate) fn leave_unread(&self) {
        self.0.has_unread.store(true, Ordering::Release);
    }

    fn is_answering(&self) -> bool {
        self.0.is_answering.load(Ordering::Acquire)
    }

    fn has_unread(&self) -> bool {
        self.0.has_unread.load(Ordering::Acquire)
    }
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.0.is_answering.store(false, Ordering::Release);
    }
}

/// A stream whose waiting has limits.
#[derive(Debug)]
pub(crate) struct Deadlined<S> {
    stream: S,
    busy: Busy,
    was_busy: bool,
    /// Bytes of a head have come, but no request yet.
    in_head: bool,
    read: Pin<Box<Sleep>>,
    write: Option<Pin<Box<Sleep>>>,
    /// The write side has ended, but the client still sends.
    linger: Option<Linger>,
}

impl<S> Deadlined<S> {
    pub(crate) fn new(stream: S, busy: Busy) -> Self {
        let read = Box::pin(sleep_until(Instant::now() + IDLE));
        Self {
            stream,
            busy,
            was_busy: false,
            in_head: false,
            read,
            write: None,
            linger: None,
        }
    }

    /// Sets the clock anew when a request has begun or ended since the last look.
    fn look(&mut self) {
        let busy = self.busy.is_answering();
        if busy != self.was_busy {
            self.was_busy = busy;
            self.in_head = false;
            self.read.as_mut().reset(Instant::now() + IDLE);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Deadlined<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.look();
        let filled = buf.filled().len();
        match Pin::new(&mut self.stream).poll_read(cx, buf) {
            Poll::Pending if self.busy.is_answering() => Poll::Pending,
            Poll::Pending => self
                .read
                .as_mut()
                .poll(cx)
                .map(|()| Err(io::ErrorKind::TimedOut.into())),
            ready @ Poll::Ready(_) => {
                if buf.filled().len() > filled && !self.in_head && !self.busy.is_answering() {
                    self.in_head = true;
                    self.read.as_mut().reset(Instant::now() + HEAD);
                }
                ready
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> Deadlined<S> {
    /// A client that takes its answer is not idle: hyper lets go of an answer while its last bytes are still being sent.
    fn note(&mut self, written: &Poll<io::Result<usize>>) {
        if matches!(written, Poll::Ready(Ok(1..))) && !self.in_head {
            self.read.as_mut().reset(Instant::now() + IDLE);
        }
    }

    /// Lets a pending write wait, but not forever; any progress starts the wait anew.
    fn limit<T>(&mut self, cx: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.write = None;
            return outcome;
        }
        let wait = self
            .write
            .get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + WRITE)));
        wait.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Deadlined<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.note(&outcome);
        self.limit(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.note(&outcome);
        self.limit(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(cx);
        self.limit(cx, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.linger.is_none() {
            let outcome = Pin::new(&mut this.stream).poll_shutdown(cx);
            ready!(this.limit(cx, outcome))?;
            if !this.in_head && !this.busy.has_unread() {
                return Poll::Ready(Ok(()));
            }
        }
        let linger = this.linger.get_or_insert_with(Linger::begin);
        linger.poll(&mut this.stream, cx).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    async fn read_error(stream: &mut Deadlined<tokio::io::DuplexStream>) -> (io::ErrorKind, Duration) {
        let began = Instant::now();
        let error = stream.read_u8().await.unwrap_err();
        (error.kind(), began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_cut() {
        let (_client, server) = duplex(64);
        let mut stream = Deadlined::new(server, Busy::default());
        let (kind, after) = read_error(&mut stream).await;
        assert_eq!((kind, after.as_secs()), (io::ErrorKind::TimedOut, 75));
    }

    #[tokio::test(start_paused = true)]
    async fn half_a_head_is_cut_ten_seconds_after_its_first_byte() {
        let (mut client, server) = duplex(64);
        let mut stream = Deadlined::new(server, Busy::default());
        client.write_all(b"G").await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), b'G');
        tokio::time::advance(Duration::from_secs(9)).await;
        client.write_all(b"E").await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), b'E');
        let (kind, after) = read_error(&mut stream).await;
        assert_eq!((kind, after.as_secs()), (io::ErrorKind::TimedOut, 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_being_answered_has_no_read_deadline_and_rest_begins_after_it() {
        let (_client, server) = duplex(64);
        let busy = Busy::default();
        let mut stream = Deadlined::new(server, busy.clone());
        let guard = busy.begin();
        let waited = tokio::time::timeout(Duration::from_secs(1000), stream.read_u8()).await;
        assert!(waited.is_err());
        drop(guard);
        assert_eq!(
            read_error(&mut stream).await,
            (io::ErrorKind::TimedOut, Duration::from_secs(75))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_its_answer_slowly_is_not_idle() {
        let (mut client, server) = duplex(4);
        let (mut reader, mut writer) = tokio::io::split(Deadlined::new(server, Busy::default()));
        let slow = async {
            for _ in 0..16 {
                tokio::time::sleep(Duration::from_secs(50)).await;
                client.read_exact(&mut [0; 4]).await.unwrap();
            }
        };
        tokio::select! {
            read = reader.read_u8() => panic!("cut: {read:?}"),
            (written, ()) = async { tokio::join!(writer.write_all(&[0; 64]), slow) } => written.unwrap(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_cut() {
        let (_client, server) = duplex(4);
        let mut stream = Deadlined::new(server, Busy::default());
        let error = stream.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    async fn shut(mut stream: Deadlined<tokio::io::DuplexStream>) -> Duration {
        let began = Instant::now();
        stream.shutdown().await.unwrap();
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_connection_with_something_unread_lingers() {
        let (client, server) = duplex(64);
        assert_eq!(shut(Deadlined::new(server, Busy::default())).await, Duration::ZERO);
        drop(client);

        let (_client, server) = duplex(64);
        let busy = Busy::default();
        let stream = Deadlined::new(server, busy.clone());
        drop(busy.begin());
        busy.leave_unread();
        assert_eq!(shut(stream).await, Duration::from_secs(2), "a body");

        let (mut client, server) = duplex(64);
        let mut stream = Deadlined::new(server, Busy::default());
        client.write_all(b"G").await.unwrap();
        stream.read_u8().await.unwrap();
        assert_eq!(shut(stream).await, Duration::from_secs(2), "a head");

        let (_client, server) = duplex(64);
        let stream = Deadlined::new(server, busy.clone());
        drop(busy.begin());
        assert_eq!(shut(stream).await, Duration::ZERO, "the next request was read");
    }
}
