//! The one crypto provider (docs/adr/0002).

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// SHA-256 by the provider.
pub(crate) fn sha256(bytes: &[u8]) -> Vec<u8> {
    let suite = aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13();
    let suite = suite.expect("its name says that it is one of TLS 1.3");
    suite.common.hash_provider.hash(bytes).as_ref().to_vec()
}
