//! Driving one connection: bytes to the session, its replies back, and what it asks for in between.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use restante_inbox::{Announcement, Reservation};
use restante_model::{ForwardPath, TlsFacts};
use restante_monitor::Refusal;
use restante_smtp::{Action, Answer, CloseReason, Phase, Reply, Session, Transaction};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::accept::{Accepted, NotTaken};
use crate::chaos::Hangup;
use crate::ingest::Ingest;
use crate::patience::{Impatience, Patience};
use crate::reply::Refused;
use crate::wire::Wire;
use crate::{handshake, reply};

/// Read buffers: small while commands come, so that thousands of idle clients cost little; large for messages.
const COMMAND_BUFFER: usize = 4 * 1024;
const DATA_BUFFER: usize = 64 * 1024;
/// Under TLS a read never brings more than one record (RFC 8446 section 5.1).
const TLS_DATA_BUFFER: usize = 16 * 1024;

/// What a client still sends after the last reply is read and dropped for so long, and not beyond 64 KiB.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_READS: usize = 64;

/// Arrivals are told in the order of their commits, so none may wait longer than this for its 250 to be taken.
const ANNOUNCE_WITHIN: Duration = Duration::from_millis(50);

/// Serves one client until it leaves, misses a deadline, or the server stops; `tls` if the stream is encrypted already.
///
/// # Errors
/// When the connection breaks.
pub async fn serve<S>(
    stream: S,
    peer: SocketAddr,
    tls: Option<TlsFacts>,
    ingest: &Ingest,
    stop: &CancellationToken,
) -> io::Result<()>
where
    S: Wire,
{
    let mut connection = Connection {
        stream,
        peer,
        ingest,
        stop,
        data_buffer: if tls.is_some() { TLS_DATA_BUFFER } else { DATA_BUFFER },
        session: Session::new(ingest.session.clone(), tls),
        reservation: ingest.budget.empty_reservation(),
        buffer_growth: None,
        began: Instant::now(),
    };
    connection.session.greet();
    connection.flush().await?;
    match connection.run().await? {
        End::Closed => Ok(()),
        // On the heap: who never asks for TLS does not pay for it.
        End::StartTls => Box::pin(connection.encrypt()).await,
    }
}

/// Closes so that the last reply arrives: with unread bytes a close would be a reset, which can overtake it.
///
/// Under TLS the client is told that this is the end (`close_notify`), which waits for room to write.
pub(crate) async fn close<S>(stream: &mut S) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut rest, deadline) = ([0; 1024], Instant::now() + LINGER);
    match timeout_at(deadline, stream.shutdown()).await {
        Ok(shut) => shut?,
        Err(_) => return Err(io::ErrorKind::TimedOut.into()),
    }
    for _ in 0..LINGER_READS {
        match timeout_at(deadline, stream.read(&mut rest)).await {
            Ok(Ok(1..)) => {}
            Ok(Ok(0) | Err(_)) | Err(_) => break,
        }
    }
    Ok(())
}

/// Writes all, and out of the buffers of TLS too.
async fn write<S: AsyncWrite + Unpin>(stream: &mut S, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await
}

struct Connection<'a, S> {
    stream: S,
    peer: SocketAddr,
    ingest: &'a Ingest,
    stop: &'a CancellationToken,
    session: Session,
    reservation: Reservation,
    /// Bytes of the large read buffer.
    data_buffer: usize,
    /// What it takes of the budget beyond the small one, while it is in use.
    buffer_growth: Option<Reservation>,
    began: Instant,
}

/// Whether the connection goes on.
enum Next {
    Read,
    Close,
    Encrypt,
    /// To its end, without a word.
    Reset,
}

/// How a connection, as it was, ended.
enum End {
    Closed,
    /// The client has been told to begin a handshake.
    StartTls,
}

impl<S: Wire> Connection<'_, S> {
    async fn run(&mut self) -> io::Result<End> {
        let mut buffer = vec![0; COMMAND_BUFFER];
        loop {
            let deadline = self.deadline();
            let read = tokio::select! {
                biased;
                () = self.stop.cancelled(), if !self.session.in_transaction() => {
                    return self.leave(&self.session.shutdown_reply().to_bytes()).await;
                }
                read = timeout_at(deadline, self.stream.read(&mut buffer)) => read,
            };
            let Ok(read) = read else {
                return self.leave(&self.session.timeout_reply().to_bytes()).await;
            };
            let received = read?;
            if received == 0 {
                return self.closed().await;
            }
            match self.feed(&buffer[..received]).await? {
                Next::Read => self.size(&mut buffer, received),
                Next::Close => return self.closed().await,
                Next::Encrypt => return Ok(End::StartTls),
                Next::Reset => return self.stream.reset_on_drop().map(|()| End::Closed),
            }
        }
    }

    /// Goes on under TLS, in a session that begins anew; a stop does not wait for the handshake.
    async fn encrypt(mut self) -> io::Result<()> {
        let shaken = tokio::select! {
            () = self.stop.cancelled() => None,
            shaken = handshake::shake(self.stream, self.peer, self.ingest) => shaken,
        };
        let Some(stream) = shaken else { return Ok(()) };
        self.session.resume(Answer::TlsStarted(restante_tls::facts(&stream)));
        let mut encrypted = Connection {
            stream,
            peer: self.peer,
            ingest: self.ingest,
            stop: self.stop,
            session: self.session,
            reservation: self.reservation,
            data_buffer: TLS_DATA_BUFFER,
            buffer_growth: self.buffer_growth,
            began: self.began,
        };
        encrypted.run().await.map(|_| ())
    }

    /// Hands what was read to the session and does what it asks for.
    async fn feed(&mut self, mut input: &[u8]) -> io::Result<Next> {
        while let Some(action) = self.session.feed(&mut input) {
            self.note_refusals();
            match action {
                Action::Flush => self.flush().await?,
                Action::Verify(path) => {
                    let answer = self.verify(&path).await;
                    self.session.resume(answer);
                }
                Action::Reserve(bytes) => {
                    let granted = self.reserve(bytes);
                    self.session.resume(if granted {
                        Answer::Granted
                    } else {
                        Answer::Refused(self.refuse(reply::no_room()))
                    });
                }
                Action::Accept(transaction) => {
                    if let Some(hangup) = self.accept(transaction).await? {
                        return Ok(match hangup {
                            Hangup::Fin => Next::Close,
                            Hangup::Reset => Next::Reset,
                        });
                    }
                }
                Action::StartTls => {
                    self.reservation.shrink_to(0);
                    self.flush().await?;
                    return Ok(Next::Encrypt);
                }
                Action::Close(reason) => {
                    self.log_close(reason);
                    self.flush().await?;
                    return Ok(Next::Close);
                }
            }
            self.reservation.shrink_to(self.session.reserved_bytes());
        }
        self.note_refusals();
        self.reservation.shrink_to(self.session.reserved_bytes());
        self.flush().await?;
        Ok(Next::Read)
    }

    /// Whether mail for the recipient is taken. Who has brought too much is told so here: RFC 5321 (section 4.3.2) has a
    /// 450 for RCPT, and senders try again.
    async fn verify(&self, path: &ForwardPath) -> Answer {
        if let Err(wait) = self.ingest.counts.check(self.peer.ip()) {
            return Answer::Refused(self.refuse(reply::too_much_mail(wait)));
        }
        match self.ingest.inboxes.recipient(path).await {
            Ok(_) => Answer::Granted,
            Err(error) => Answer::Refused(self.refuse(reply::recipient(&error))),
        }
    }

    /// Has the monitor know why, which the client hears in other words.
    fn refuse(&self, refused: Refused) -> Reply {
        self.ingest.note_refusal(refused.cause, self.peer);
        refused.reply
    }

    /// The same of what the session has refused by itself.
    fn note_refusals(&mut self) {
        let refused = self.session.take_refusals();
        for _ in 0..refused.too_large {
            self.ingest.note_refusal(Refusal::Size, self.peer);
        }
        for _ in 0..refused.too_many_recipients {
            self.ingest.note_refusal(Refusal::Recipients, self.peer);
        }
    }

    /// Stores the message, answers, and then tells whoever watches: the 250 comes first.
    ///
    /// While a reply is late, the memory of the message stays reserved, the place of the connection taken and the mail
    /// counted: a delay is limited by what a client may bring, and by the deadline of the session.
    async fn accept(&mut self, transaction: Transaction) -> io::Result<Option<Hangup>> {
        if self.ingest.chaos.is_some() {
            // A fault meets the end of data, not the replies that were to go out with its own.
            self.flush().await?;
        }
        let held = self.reservation.take();
        let patience = Patience {
            stop: self.stop,
            session_ends: self.began + self.ingest.limits.session,
        };
        let taken = self.ingest.accept(transaction, self.peer, &patience).await;
        drop(held);
        let (answer, announcements) = match taken {
            Ok(Accepted { ids, announcements }) => {
                let ids = ids.iter().map(ToString::to_string).collect();
                (Answer::Accepted { ids }, announcements)
            }
            Err(NotTaken::HungUp(how)) => return Ok(Some(how)),
            Err(NotTaken::Refused(refused)) => (Answer::Refused(self.refuse(refused)), [None, None]),
            Err(NotTaken::Dismissed(refused)) => (Answer::Dismissed(self.refuse(refused)), [None, None]),
            Err(NotTaken::Interrupted(why)) => (Answer::Dismissed(self.farewell(why)), [None, None]),
        };
        self.session.resume(answer);
        self.answer(announcements).await.map(|()| None)
    }

    fn farewell(&self, why: Impatience) -> Reply {
        match why {
            Impatience::Stopped => self.session.shutdown_reply(),
            Impatience::SessionOver => self.session.timeout_reply(),
        }
    }

    /// Writes the 250 and announces; a client that does not take it holds back nothing that was stored after.
    async fn answer(&mut self, announcements: [Option<Announcement>; 2]) -> io::Result<()> {
        let (output, now) = (self.session.take_output(), Instant::now());
        let mut write = pin!(write(&mut self.stream, &output));
        let written = timeout_at(now + ANNOUNCE_WITHIN, write.as_mut()).await;
        drop(announcements);
        match written {
            Ok(written) => written,
            Err(_) => timeout_at(now + self.ingest.limits.idle, write)
                .await
                .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())),
        }
    }

    /// Writes the replies that have gathered, in one write.
    async fn flush(&mut self) -> io::Result<()> {
        let output = self.session.take_output();
        if output.is_empty() {
            return Ok(());
        }
        let written = timeout_at(
            Instant::now() + self.ingest.limits.idle,
            write(&mut self.stream, &output),
        )
        .await;
        written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Says a last word and closes.
    async fn leave(&mut self, farewell: &[u8]) -> io::Result<End> {
        let deadline = Instant::now() + self.ingest.limits.first_command;
        let _ = timeout_at(deadline, write(&mut self.stream, farewell)).await;
        self.closed().await
    }

    async fn closed(&mut self) -> io::Result<End> {
        close(&mut self.stream).await.map(|()| End::Closed)
    }

    /// Takes room for the message; the large read buffer gives way to it.
    fn reserve(&mut self, bytes: usize) -> bool {
        self.reservation.grow(bytes) || {
            self.buffer_growth = None;
            self.reservation.grow(bytes)
        }
    }

    /// Sets the buffer for the next read: a message that filled the last one gets the large one, if the budget has room
    /// for it, and gives it back at its end. A short message never pays for it.
    fn size(&mut self, buffer: &mut Vec<u8>, received: usize) {
        match self.session.phase() {
            Phase::Data | Phase::Draining if received == buffer.len() && self.buffer_growth.is_none() => {
                let mut growth = self.ingest.budget.empty_reservation();
                self.buffer_growth = growth.grow(self.data_buffer - COMMAND_BUFFER).then_some(growth);
            }
            Phase::Data | Phase::Draining => {}
            Phase::Connected | Phase::Commands | Phase::Closed => self.buffer_growth = None,
        }
        if self.buffer_growth.is_some() {
            buffer.resize(self.data_buffer, 0);
        } else {
            buffer.truncate(COMMAND_BUFFER);
            buffer.shrink_to(COMMAND_BUFFER);
        }
    }

    /// The first command has its time from the start of the connection, so that no byte before its end prolongs it.
    fn deadline(&self) -> Instant {
        let limits = &self.ingest.limits;
        let deadline = match self.session.phase() {
            Phase::Connected => self.began + limits.first_command,
            Phase::Data | Phase::Draining => Instant::now() + limits.data_block,
            Phase::Commands | Phase::Closed => Instant::now() + limits.idle,
        };
        deadline.min(self.began + limits.session)
    }

    fn log_close(&self, reason: CloseReason) {
        let peer = self.peer;
        match reason {
            CloseReason::HttpRequest => tracing::warn!(%peer, "HTTP on the SMTP port: the API has a port of its own"),
            CloseReason::TlsHello => {
                tracing::warn!(%peer, "TLS on the plain SMTP port: connect without TLS or with STARTTLS, or to SVC_SMTP_TLS_PORT");
            }
            CloseReason::TooManyUnknownCommands => tracing::info!(%peer, "closed after too many unknown commands"),
            CloseReason::LostFraming => tracing::info!(%peer, "closed after a BDAT without a readable size"),
            CloseReason::DrainLimit => tracing::info!(%peer, "closed while a refused message did not end"),
            CloseReason::Quit | CloseReason::TlsFailed | CloseReason::Dismissed => {}
        }
    }
}
