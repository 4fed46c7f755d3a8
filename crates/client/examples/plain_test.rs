//! A test without `async`: one mail comes, and no second one.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use lettre::{Message, SmtpTransport, Transport as _};
use restante_client::blocking::Client;
use restante_client::{EmailMatcher, LocalServer, NewInbox};

fn main() -> Result<(), Box<dyn Error>> {
    let server = LocalServer::find()?;
    let smtp = server.smtp().ok_or("the server takes no mail")?.parse()?;
    plain_test(&server.builder()?.build_blocking()?, smtp)
}

/// The test.
pub fn plain_test(client: &Client, smtp: SocketAddr) -> Result<(), Box<dyn Error>> {
    let inbox = client.create_inbox(NewInbox::new())?;

    reset_password(smtp, inbox.address())?;

    let reset = EmailMatcher::new().subject("password").text("valid for one hour");
    let email = inbox.wait_for(reset).timeout(Duration::from_secs(10)).wait()?;
    inbox.delete_email(email.id())?;
    inbox
        .wait_for_none(EmailMatcher::new())
        .window(Duration::from_millis(500))
        .wait()?;

    inbox.delete()?;
    Ok(())
}

/// Stands for your application.
fn reset_password(smtp: SocketAddr, address: &str) -> Result<(), Box<dyn Error>> {
    let mail = Message::builder()
        .from("Shop <noreply@shop.test>".parse()?)
        .to(address.parse()?)
        .subject("Your password")
        .body("The link is valid for one hour.".to_owned())?;
    let transport = SmtpTransport::builder_dangerous(smtp.ip().to_string()).port(smtp.port());
    transport.build().send(&mail)?;
    Ok(())
}
