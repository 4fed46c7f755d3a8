//! `restante send`

mod compose;
mod content_type;
mod input;
mod smtp;

use std::time::{Duration, SystemTime};

use restante_client::Timestamp;
use serde::Serialize;

use self::compose::{ComposeError, Draft};
pub(crate) use self::smtp::SmtpError;
use self::smtp::{Accepted, Envelope, Session};
use crate::args::send::SendArgs;
use crate::context::{Context, SmtpServer};
use crate::failure::Failure;
use crate::output::{Output, clean};

/// Who a bounce shows as its sender: its envelope names nobody (RFC 5321 section 4.5.5).
const BOUNCE_SENDER: &str = "Mail Delivery System <mailer-daemon@example.test>";

/// What the server took.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sent {
    /// The ids that it gave.
    email_ids: Vec<String>,
    /// What it said to each mail, line by line.
    reply: String,
}

/// The mails that are to be sent: one made anew each time, or one as it is.
enum Mail {
    Made(Box<Draft>, SystemTime),
    AsIs(Vec<u8>),
}

/// Makes a mail, sends it, says what the server said.
pub(crate) async fn run(context: &Context, wanted: SendArgs) -> Result<(), Failure> {
    let server = server(context)?;
    let recipients = recipients(context, &wanted)?;
    let (output, now) = (context.output, context.clock.now());
    let count = wanted.count;
    // Files, the standard input and lettre's sessions block; Ctrl-C is heard meanwhile.
    let sending = tokio::task::spawn_blocking(move || {
        let envelope = envelope(&wanted, &recipients)?;
        let mail = mail(output, now, &wanted, &recipients)?;
        Ok::<_, Failure>(send(&server, &envelope, &mail, count))
    });
    let broken_off = |_| Failure::Usage("sending broke off".to_owned());
    let (sent, ended) = sending.await.map_err(broken_off)??;
    if ended.is_err() && !sent.email_ids.is_empty() {
        output.note(&format!(
            "{} of {count} mails were sent: {}",
            sent.email_ids.len(),
            sent.email_ids.join(" ")
        ));
    }
    ended?;
    if output.json {
        return Ok(output.json(&sent)?);
    }
    Ok(output.text(&format!("{}\n", clean::block(&sent.reply)))?)
}

fn server(context: &Context) -> Result<SmtpServer, Failure> {
    let server = context.smtp.clone().ok_or_else(|| {
        Failure::Usage("where the mail server is, is not known: name it with --smtp HOST:PORT or RESTANTE_SMTP".into())
    })?;
    if server.implicit_tls {
        let text = format!(
            "mail is sent in the clear only, and {}:{} is for TLS: name the plain SMTP port with --smtp HOST:PORT",
            server.host, server.port
        );
        return Err(Failure::Usage(text));
    }
    Ok(server)
}

fn recipients(context: &Context, wanted: &SendArgs) -> Result<Vec<String>, Failure> {
    if wanted.to.is_empty() {
        let document = context.keystore.read()?;
        return Ok(vec![context.address(None, document.server(&context.connection.url))?]);
    }
    Ok(wanted.to.clone())
}

fn envelope(wanted: &SendArgs, recipients: &[String]) -> Result<Envelope, Failure> {
    let from = match wanted.from.as_str() {
        "" => String::new(),
        from => compose::address(from)?,
    };
    let to = recipients
        .iter()
        .map(|to| compose::address(to))
        .collect::<Result<_, _>>()?;
    Ok(Envelope { from, to })
}

fn mail(output: Output, now: Timestamp, wanted: &SendArgs, recipients: &[String]) -> Result<Mail, Failure> {
    if let Some(path) = &wanted.raw {
        let bytes = input::bytes(path)?;
        for fact in input::oddities(&bytes) {
            output.note(&format!("note: {fact}"));
        }
        return Ok(Mail::AsIs(bytes));
    }
    let from = if wanted.from.is_empty() {
        BOUNCE_SENDER
    } else {
        &wanted.from
    };
    let file = |path: &Option<_>| path.as_deref().map(input::text).transpose();
    let draft = Draft {
        from: from.to_owned(),
        to: recipients.to_vec(),
        subject: wanted.subject.clone(),
        text: wanted.text.clone().or(file(&wanted.text_file)?),
        html: wanted.html.clone().or(file(&wanted.html_file)?),
        headers: wanted.headers.clone(),
        files: wanted
            .attachments
            .iter()
            .map(|path| input::attached(path))
            .collect::<Result<_, _>>()?,
    };
    let date = SystemTime::UNIX_EPOCH + Duration::from_millis(now.unix_ms());
    Ok(Mail::Made(Box::new(draft), date))
}

/// Sends over one connection; blocks. What was taken before something failed is told too.
fn send(server: &SmtpServer, envelope: &Envelope, mail: &Mail, count: u32) -> (Sent, Result<(), Failure>) {
    let mut sent = Sent::default();
    let ended = send_each(server, envelope, mail, count, |accepted| {
        sent.email_ids.extend(accepted.email_ids);
        if !sent.reply.is_empty() {
            sent.reply.push('\n');
        }
        sent.reply.push_str(&accepted.reply.join("\n"));
    });
    (sent, ended)
}

fn send_each(
    server: &SmtpServer,
    envelope: &Envelope,
    mail: &Mail,
    count: u32,
    mut accepted: impl FnMut(Accepted),
) -> Result<(), Failure> {
    let mut session = Session::open(server)?;
    for _ in 0..count {
        accepted(match mail {
            Mail::AsIs(bytes) => session.send(envelope, bytes)?,
            Mail::Made(draft, date) => session.send(envelope, &compose::compose(draft, *date)?)?,
        });
    }
    session.quit();
    Ok(())
}

impl From<ComposeError> for Failure {
    fn from(error: ComposeError) -> Self {
        Self::Usage(error.to_string())
    }
}
