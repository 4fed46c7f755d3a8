//! The end of a connection whose client still sends.
//!
//! A socket that is closed with bytes unread is reset, and the reset may overtake the answer: a client that sends all of
//! its request before it reads would not learn why it was refused. So the write side ends first, and what still comes is
//! thrown away for a while (RFC 9112 section 9.6).

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// Bytes that are thrown away, at most.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// How long they are, at most.
const TIME_MAX: Duration = Duration::from_secs(2);
/// Bytes of one read.
const READ_BYTES: usize = 16 * 1024;

/// What a connection may still send when it is over.
#[derive(Debug)]
pub(crate) struct Linger {
    left: usize,
    until: Pin<Box<Sleep>>,
}

impl Linger {
    pub(crate) fn begin() -> Self {
        Self {
            left: BYTES_MAX,
            until: Box::pin(sleep_until(Instant::now() + TIME_MAX)),
        }
    }

    /// Throws away what comes; ready when the client has ended or has had its chance.
    pub(crate) fn poll(&mut self, stream: &mut (impl AsyncRead + Unpin), cx: &mut Context<'_>) -> Poll<()> {
        let mut space = [0; READ_BYTES];
        while self.left > 0 {
            let mut buf = ReadBuf::new(&mut space);
            match Pin::new(&mut *stream).poll_read(cx, &mut buf) {
                Poll::Pending => return self.until.as_mut().poll(cx),
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => {
                    self.left = self.left.saturating_sub(buf.filled().len());
                }
                Poll::Ready(_) => break,
            }
        }
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncWriteExt as _, DuplexStream, duplex};

    use super::*;

    /// How long a stream lingers.
    async fn linger(mut stream: DuplexStream) -> Duration {
        let (began, mut linger) = (Instant::now(), Linger::begin());
        poll_fn(|cx| linger.poll(&mut stream, cx)).await;
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_with_the_client() {
        let (mut client, server) = duplex(64);
        let sending = async move {
            client.write_all(&[0; 10_000]).await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
        };
        assert_eq!(tokio::join!(sending, linger(server)).1, Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_after_a_while() {
        let (_client, server) = duplex(64);
        assert_eq!(linger(server).await, TIME_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_when_too_much_has_come() {
        let (mut client, server) = duplex(READ_BYTES);
        let sending = async move { client.write_all(&vec![0; BYTES_MAX + 2 * READ_BYTES]).await };
        let (sent, lingered) = tokio::join!(sending, linger(server));
        assert_eq!((sent.is_err(), lingered), (true, Duration::ZERO));
    }
}
