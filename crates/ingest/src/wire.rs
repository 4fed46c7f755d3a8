//! What a connection needs of its stream.

use std::io;

use restante_tls::TlsStream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// A stream of bytes both ways, in clear or encrypted.
pub trait Wire: AsyncRead + AsyncWrite + Unpin {
    /// Has the connection end with a reset (RST) as soon as it is dropped, under TLS too: what the client has not got by
    /// then it does not get.
    ///
    /// # Errors
    /// When the connection is broken already.
    fn reset_on_drop(&self) -> io::Result<()>;
}

impl Wire for TcpStream {
    fn reset_on_drop(&self) -> io::Result<()> {
        self.set_zero_linger()
    }
}

impl<S: Wire> Wire for TlsStream<S> {
    fn reset_on_drop(&self) -> io::Result<()> {
        self.get_ref().0.reset_on_drop()
    }
}
