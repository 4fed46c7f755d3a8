//! Connections beyond the cap, many of them.

use std::sync::Arc;

use restante_ingest::{Encryption, IngestParts, Listener};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

use crate::fixture::Fixture;
use crate::listening::connect;

const REFUSAL: &str = "421 4.7.0 Too many connections, try again later\r\n";

/// They stay until they close or their time is over: what they hold must not grow with their number.
#[tokio::test]
async fn who_is_refused_hears_why_and_few_are_waited_for() {
    const WAITED_FOR: usize = 5;
    let limited = |parts: &mut IngestParts| {
        parts.limits.max_connections = 1;
        parts.limits.max_farewells = WAITED_FOR;
    };
    let fixture = Fixture::with(limited).await;
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listener = Listener::new(socket, Arc::clone(&fixture.ingest), Encryption::OnRequest);
    let (address, tasks) = (listener.local_addr().unwrap(), TaskTracker::new());
    let crowd = async {
        let mut only = connect(address).await;
        only.greet().await;
        let mut refused = Vec::new();
        for _ in 0..60 {
            let mut client = connect(address).await;
            assert_eq!(client.rest().await.0, REFUSAL);
            refused.push(client);
        }
        assert!(tasks.len() <= 1 + WAITED_FOR, "{} connections are held", tasks.len());
        only.say("QUIT", "221 ").await;
    };
    tokio::select! {
        () = listener.run(tasks.clone(), fixture.stop.clone()) => panic!("it runs until it is stopped"),
        () = crowd => {}
    }
}
