//! An encrypted inbox: only this client can read its mail, and whoever is given its export.

use std::error::Error;
use std::net::SocketAddr;

use lettre::{Message, SmtpTransport, Transport as _};
use restante_client::{Client, EmailMatcher, ExportedInbox, IfKnown, LocalServer, NewInbox};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = LocalServer::find()?;
    let smtp = server.smtp().ok_or("the server takes no mail")?.parse()?;
    let (one, other) = (server.builder()?.build()?, server.builder()?.build()?);
    sealed(&one, &other, smtp).await
}

/// One client creates the inbox, the other one reads its mail.
pub async fn sealed(one: &Client, other: &Client, smtp: SocketAddr) -> Result<(), Box<dyn Error>> {
    // The key is made here; the server gets its public half.
    let inbox = one.create_inbox(NewInbox::new().encrypted()).await?;

    // The export holds the secret key: a file that only its owner can read.
    let folder = tempfile::tempdir()?;
    let file = inbox.export().write_into(folder.path())?;

    send_contract(smtp, inbox.address())?;

    // No request is made: the file says all that there is to know.
    let imported = other.import_inbox(ExportedInbox::read_file(&file)?, IfKnown::Refuse)?;
    let email = imported.wait_for(EmailMatcher::new().subject("contract")).await?;
    // The signature of the server was verified before anything was opened.
    assert_eq!(email.text().map(str::trim_end), Some("For your eyes only."));

    imported.delete().await?;
    Ok(())
}

/// Stands for your application.
fn send_contract(smtp: SocketAddr, address: &str) -> Result<(), Box<dyn Error>> {
    let mail = Message::builder()
        .from("Office <office@shop.test>".parse()?)
        .to(address.parse()?)
        .subject("Your contract")
        .body("For your eyes only.".to_owned())?;
    let transport = SmtpTransport::builder_dangerous(smtp.ip().to_string()).port(smtp.port());
    transport.build().send(&mail)?;
    Ok(())
}
