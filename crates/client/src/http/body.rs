//! Reading bodies, within bounds.

use bytes::{Bytes, BytesMut};
use reqwest::Response;

/// The largest body of a success in which there is mail: a server that takes messages of 256 MiB answers with less.
pub(super) const MAX_MAIL_BYTES: usize = 1024 * 1024 * 1024;
/// The largest body of any other success: whoever answers with more is not the server that was meant.
pub(super) const MAX_PLAIN_BYTES: usize = 16 * 1024 * 1024;
/// The largest body of an error of which anything is read.
pub(super) const MAX_ERROR_BYTES: usize = 256 * 1024;

/// A body, or `None` if it is larger than the limit; the rest of it is not read.
pub(super) async fn read(mut response: Response, limit: usize) -> Result<Option<Bytes>, reqwest::Error> {
    let announced = response.content_length().unwrap_or_default();
    if usize::try_from(announced).map_or(true, |announced| announced > limit) {
        return Ok(None);
    }
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await? {
        if chunk.len() > limit - body.len() {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body.freeze()))
}

#[cfg(test)]
mod tests {
    use restante_testkit::receiver::{Answer, Receiver};

    use super::*;

    #[tokio::test]
    async fn a_body_is_read_up_to_the_limit() {
        let server = Receiver::start();
        let base = server.url("/").parse().unwrap();
        let client = super::super::tls::client(&base, &[]).unwrap();
        let chunked = "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n123\r\n2\r\n45\r\n0\r\n\r\n";
        for (answer, limit, expected) in [
            (Answer::status(200).body("12345"), 5, Some("12345")),
            (Answer::status(200).body("12345"), 4, None),
            (Answer::status(200), 0, Some("")),
            (Answer::raw(chunked), 5, Some("12345")),
            (Answer::raw(chunked), 4, None),
            (Answer::endless(200), 100_000, None),
        ] {
            server.script([answer]);
            let response = client.get(base.clone()).send().await.unwrap();
            let body = read(response, limit).await.unwrap();
            assert_eq!(body.as_deref(), expected.map(str::as_bytes));
        }
    }
}
