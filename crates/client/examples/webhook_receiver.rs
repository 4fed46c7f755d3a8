//! A receiver of webhooks that believes nothing but what the server signed.
//!
//! The server sends to this machine only if it runs with `SVC_WEBHOOK_ALLOW_HTTP=true`.

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use restante_client::blocking::Client;
use restante_client::webhooks::{DeliveryError, EventType, SignatureHeaders};
use restante_client::{LocalServer, NewWebhook, WebhookEvent};

fn main() -> Result<(), Box<dyn Error>> {
    webhook_receiver(&LocalServer::find()?.builder()?.build_blocking()?)
}

/// Creates a webhook, has it tested, and receives the test.
pub fn webhook_receiver(client: &Client) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/hook", listener.local_addr()?);
    let webhooks = client.webhooks();
    let webhook = webhooks.create(NewWebhook::new(url, [EventType::EmailReceived]))?;
    let secret = webhook.secret.ok_or("a webhook is created with its secret")?;

    let (tested, event) = std::thread::scope(|scope| {
        let test = scope.spawn(|| webhooks.test(webhook.id));
        let event = listener
            .accept()
            .map(|(connection, _)| serve(connection, secret.expose()));
        (test.join(), event)
    });
    assert_eq!(event???.event_type(), EventType::EmailReceived);
    let tested = tested.map_err(|_| "the test panicked")??;
    assert!(tested.success);

    webhooks.delete(webhook.id)?;
    Ok(())
}

/// What a handler of any web framework does: it has the headers, the bytes of the body, and the secret.
fn receive(headers: &HashMap<String, String>, body: &[u8], secret: &str) -> Result<WebhookEvent, DeliveryError> {
    let headers = SignatureHeaders::find(|name| headers.get(name).map(String::as_str))?;
    WebhookEvent::verify(secret, &headers, body)
}

/// Stands for a web framework: reads one request and answers it.
fn serve(mut connection: TcpStream, secret: &str) -> Result<Result<WebhookEvent, DeliveryError>, Box<dyn Error>> {
    let mut reader = BufReader::new(&connection);
    let (mut headers, mut line) = (HashMap::new(), String::new());
    while reader.read_line(&mut line)? > 2 {
        if let Some((name, value)) = line.split_once(": ") {
            headers.insert(name.to_lowercase(), value.trim_end().to_owned());
        }
        line.clear();
    }
    let mut body = vec![0; headers.get("content-length").ok_or("no length")?.parse()?];
    reader.read_exact(&mut body)?;

    let event = receive(&headers, &body, secret);
    let status = if event.is_ok() {
        "204 No Content"
    } else {
        "400 Bad Request"
    };
    write!(connection, "HTTP/1.1 {status}\r\n\r\n")?;
    Ok(event)
}
