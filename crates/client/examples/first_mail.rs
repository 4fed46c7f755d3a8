//! The first test: an inbox, a mail of your application, and what it should say.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use lettre::{Message, SmtpTransport, Transport as _};
use restante_client::{Client, EmailMatcher, LocalServer, NewInbox};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The server of this machine; `Client::new(url, api_key)` for any other.
    let server = LocalServer::find()?;
    let smtp = server.smtp().ok_or("the server takes no mail")?.parse()?;
    first_mail(&server.builder()?.build()?, smtp).await
}

/// The test.
pub async fn first_mail(client: &Client, smtp: SocketAddr) -> Result<(), Box<dyn Error>> {
    let inbox = client.create_inbox(NewInbox::new()).await?;

    sign_up(smtp, inbox.address())?;

    let welcome = EmailMatcher::new().subject("Welcome");
    let email = inbox.wait_for(welcome).timeout(Duration::from_secs(10)).await?;
    assert_eq!(email.from(), "Shop <noreply@shop.test>");
    assert_eq!(email.links(), ["https://shop.test/confirm?code=1234"]);

    inbox.delete().await?;
    Ok(())
}

/// Stands for your application, which mails to whoever signs up.
fn sign_up(smtp: SocketAddr, address: &str) -> Result<(), Box<dyn Error>> {
    let mail = Message::builder()
        .from("Shop <noreply@shop.test>".parse()?)
        .to(address.parse()?)
        .subject("Welcome to the shop")
        .body("Please confirm: https://shop.test/confirm?code=1234".to_owned())?;
    let transport = SmtpTransport::builder_dangerous(smtp.ip().to_string()).port(smtp.port());
    transport.build().send(&mail)?;
    Ok(())
}
