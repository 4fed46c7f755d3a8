//! Messages of which every byte is known.

/// A message with everything that parsed content shows.
pub(crate) const RICH: &str = concat!(
    "From: =?UTF-8?Q?J=C3=BCrgen?= <juergen@sender.test>\r\n",
    "To: Bob <bob@restante.test>, carol@elsewhere.test\r\n",
    "Cc: dave@elsewhere.test\r\n",
    "Reply-To: replies@sender.test\r\n",
    "Subject: =?UTF-8?B?R3LDvMOfZQ==?=\r\n",
    "Date: Sun, 25 Jan 2026 12:41:16 +0100\r\n",
    "Message-ID: <one@sender.test>\r\n",
    "In-Reply-To: <zero@sender.test>\r\n",
    "References: <minus@sender.test> <zero@sender.test>\r\n",
    "X-Twice: one\r\n",
    "X-Twice: two\r\n",
    "MIME-Version: 1.0\r\n",
    "Content-Type: multipart/mixed; boundary=b\r\n",
    "\r\n",
    "--b\r\n",
    "Content-Type: multipart/alternative; boundary=a\r\n",
    "\r\n",
    "--a\r\n",
    "Content-Type: text/plain; charset=utf-8\r\n",
    "\r\n",
    "See https://example.test/text.\r\n",
    "--a\r\n",
    "Content-Type: text/html; charset=utf-8\r\n",
    "\r\n",
    "<p><a href=\"https://example.test/?a=1&amp;b=2\">here</a></p>\r\n",
    "--a--\r\n",
    "--b\r\n",
    "Content-Type: application/octet-stream\r\n",
    "Content-Disposition: attachment; filename=\"data.bin\"\r\n",
    "Content-ID: <part@sender.test>\r\n",
    "Content-Transfer-Encoding: base64\r\n",
    "\r\n",
    "AAEC/w==\r\n",
    "--b--\r\n",
);

/// The smallest message: no header, no body.
pub(crate) const EMPTY: &str = "\r\n";
