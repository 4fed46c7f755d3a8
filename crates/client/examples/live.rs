//! A live subscription over several inboxes: every mail once, in the order in which it arrives.

use std::error::Error;
use std::net::SocketAddr;

use lettre::{Message, SmtpTransport, Transport as _};
use restante_client::{Client, Existing, LocalServer, NewInbox};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = LocalServer::find()?;
    let smtp = server.smtp().ok_or("the server takes no mail")?.parse()?;
    live(&server.builder()?.build()?, smtp).await
}

/// Follows an order from the buyer's inbox to the seller's.
pub async fn live(client: &Client, smtp: SocketAddr) -> Result<(), Box<dyn Error>> {
    let buyer = client.create_inbox(NewInbox::new()).await?;
    let seller = client.create_inbox(NewInbox::new()).await?;
    // From here on nothing is missed, whatever happens to the connection.
    let mut watch = client.watch(&[buyer.clone(), seller.clone()], Existing::Skip).await?;

    send(smtp, buyer.address(), "Thank you for your order")?;
    send(smtp, seller.address(), "Please ship order 7")?;

    for expected in [&buyer, &seller] {
        let arrival = watch.next().await.ok_or("the subscription has ended")??;
        assert_eq!(arrival.inbox.address(), expected.address());
        println!("{}: {}", arrival.inbox.address(), arrival.email.subject());
        // The subscription carries who and about what; the content is fetched.
        assert!(arrival.fetch().await?.text().is_some());
    }

    buyer.delete().await?;
    seller.delete().await?;
    Ok(())
}

/// Stands for your application.
fn send(smtp: SocketAddr, address: &str, subject: &str) -> Result<(), Box<dyn Error>> {
    let mail = Message::builder()
        .from("Shop <noreply@shop.test>".parse()?)
        .to(address.parse()?)
        .subject(subject)
        .body("Details follow.".to_owned())?;
    let transport = SmtpTransport::builder_dangerous(smtp.ip().to_string()).port(smtp.port());
    transport.build().send(&mail)?;
    Ok(())
}
