//! Mail that is refused on purpose: does the application try again?

use std::error::Error;
use std::net::SocketAddr;

use lettre::{Message, SmtpTransport, Transport as _};
use restante_client::blocking::Client;
use restante_client::chaos::{Chaos, Greylisting};
use restante_client::{EmailMatcher, LocalServer, NewInbox};

fn main() -> Result<(), Box<dyn Error>> {
    let server = LocalServer::find()?;
    let smtp = server.smtp().ok_or("the server takes no mail")?.parse()?;
    unreliable(&server.builder()?.build_blocking()?, smtp)
}

/// The test; the server has chaos switched on.
pub fn unreliable(client: &Client, smtp: SocketAddr) -> Result<(), Box<dyn Error>> {
    let inbox = client.create_inbox(NewInbox::new())?;
    // The first two attempts are refused with 451, the third one is taken.
    inbox.set_chaos(&Chaos::new().greylist(Greylisting::new().max_attempts(3)))?;

    let attempts = confirm_order(smtp, inbox.address())?;

    assert_eq!(attempts, 3);
    let email = inbox.wait_for(EmailMatcher::new().subject("Your order")).wait()?;
    assert_eq!(inbox.summaries()?.len(), 1, "{email:?} came once");

    inbox.delete()?;
    Ok(())
}

/// Stands for your application, which tries again; how often it tried.
fn confirm_order(smtp: SocketAddr, address: &str) -> Result<u32, Box<dyn Error>> {
    let mail = Message::builder()
        .from("Shop <noreply@shop.test>".parse()?)
        .to(address.parse()?)
        .subject("Your order")
        .body("It is on its way.".to_owned())?;
    let transport = SmtpTransport::builder_dangerous(smtp.ip().to_string()).port(smtp.port());
    let transport = transport.build();
    for attempt in 1..=5 {
        match transport.send(&mail) {
            Ok(_) => return Ok(attempt),
            Err(error) if error.is_transient() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err("the mail was not taken".into())
}
