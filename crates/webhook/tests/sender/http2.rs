//! HTTP/2, where the target offers it (ALPN).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::bench::{attempt, trusting};

/// A target that speaks HTTP/2 only; it echoes the body, and ends with its owner.
struct Target {
    url: String,
    certificate: Vec<u8>,
    connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Target {
    async fn start(requests_per_connection: Option<usize>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        let (certificate, acceptor) = acceptor();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut conversations = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                let acceptor = acceptor.clone();
                conversations.spawn(async move {
                    let connection = acceptor.accept(socket).await.unwrap();
                    converse(connection, requests_per_connection).await;
                });
            }
        });
        Self {
            url,
            certificate,
            connections,
            _tasks: tasks,
        }
    }
}

fn acceptor() -> (Vec<u8>, TlsAcceptor) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    (certificate.to_vec(), TlsAcceptor::from(Arc::new(config)))
}

/// Serves a connection; after so many requests it says goodbye (GOAWAY), as servers do that restart.
async fn converse(connection: tokio_rustls::server::TlsStream<tokio::net::TcpStream>, requests: Option<usize>) {
    let served = Arc::new(tokio::sync::Semaphore::new(0));
    let counter = Arc::clone(&served);
    let service = service_fn(move |request: Request<Incoming>| {
        let counter = Arc::clone(&counter);
        async move {
            assert_eq!(request.version(), Version::HTTP_2);
            let body: Bytes = request.into_body().collect().await?.to_bytes();
            counter.add_permits(1);
            Ok::<_, hyper::Error>(Response::new(Full::new(body)))
        }
    });
    let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(connection), service);
    tokio::pin!(serving);
    let most = u32::try_from(requests.unwrap_or(1_000)).unwrap();
    tokio::select! {
        _ = serving.as_mut() => (),
        _ = served.acquire_many(most) => {
            serving.as_mut().graceful_shutdown();
            let _ = serving.await;
        }
    }
}

#[tokio::test]
async fn many_attempts_share_one_connection() {
    let target = Target::start(None).await;
    let sender = trusting(&target.certificate);
    let attempt = attempt(&target.url);
    for _ in 0..3 {
        let outcome = sender.send(&attempt).await;
        assert!(outcome.is_success(), "{outcome:?}");
        assert_eq!(outcome.response, attempt.body);
    }
    let (first, second) = tokio::join!(sender.send(&attempt), sender.send(&attempt));
    assert!(first.is_success() && second.is_success());
    assert_eq!(target.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_target_that_says_goodbye_after_each_answer_never_fails() {
    let target = Target::start(Some(1)).await;
    let sender = trusting(&target.certificate);
    for _ in 0..20 {
        let outcome = sender.send(&attempt(&target.url)).await;
        assert!(outcome.is_success(), "{outcome:?}");
    }
    assert!(target.connections.load(Ordering::SeqCst) > 1);
}
