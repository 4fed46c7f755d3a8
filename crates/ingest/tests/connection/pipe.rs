//! The server's end of a connection without a socket.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use restante_ingest::Wire;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

/// A stream that notes what a socket would have been asked for.
pub(crate) struct Pipe {
    stream: DuplexStream,
    was_reset: Arc<AtomicBool>,
    /// The largest buffer that was read into.
    largest_read: Arc<AtomicUsize>,
}

impl Pipe {
    /// The end of a connection that notes here if it is to end with a reset.
    pub(crate) fn over(stream: DuplexStream, was_reset: &Arc<AtomicBool>) -> Self {
        Self {
            stream,
            was_reset: Arc::clone(was_reset),
            largest_read: Arc::default(),
        }
    }

    /// Where the size of the largest buffer is noted that was read into.
    pub(crate) fn largest_read(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.largest_read)
    }
}

impl Wire for Pipe {
    fn reset_on_drop(&self) -> io::Result<()> {
        self.was_reset.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl AsyncRead for Pipe {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.largest_read.fetch_max(buffer.remaining(), Ordering::Relaxed);
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
