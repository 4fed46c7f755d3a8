"""What webhooks are sent to: an HTTP server of this process that keeps every request."""

import asyncio
import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue

from standardwebhooks import Webhook as StandardWebhook

from vaultsandbox import construct_webhook_event, verify_webhook_signature

from harness.step import check

# Far above what the server needs, far below what a reader of a hung build endures.
WAIT_S = 20
# A path that begins so is answered with the status behind it.
STATUS = "/status/"


@dataclass(frozen=True)
class Delivery:
    """A request, as it came."""

    headers: Message
    body: bytes

    def verify(self, secret: str) -> None:
        """Lets the SDK and a library of Standard Webhooks judge it; both raise if it is not signed so."""
        self.verify_with_sdk(secret, "X-Vault-Signature")
        self.verify_standard(secret)

    def verify_standard(self, secret: str) -> None:
        StandardWebhook(secret).verify(self.body, dict(self.headers), json_parse=False)

    def verify_with_sdk(self, secret: str, header: str) -> None:
        verify_webhook_signature(self.body, self.headers[header], self.headers["X-Vault-Timestamp"], secret)

    def event(self, secret: str) -> dict:
        """The event of a delivery without a template, when both helpers find it genuine."""
        self.verify(secret)
        event = construct_webhook_event(json.loads(self.body))
        check("content type", self.headers["Content-Type"], "application/json")
        check("event id", self.headers["webhook-id"], event["id"])
        check("event type", self.headers["X-Vault-Event"], event["type"])
        check("one time", self.headers["webhook-timestamp"], self.headers["X-Vault-Timestamp"])
        check("delivery id", self.headers["X-Vault-Delivery"].startswith("dlv_"), True)
        return event


class Receiver:
    """Deliveries by the path that they were sent to."""

    def __init__(self) -> None:
        self._came: defaultdict[str, SimpleQueue[Delivery]] = defaultdict(SimpleQueue)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    def url(self, path: str) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host}:{port}{path}"

    async def next(self, path: str) -> Delivery:
        """The next delivery to a path."""
        return await asyncio.to_thread(self._came[path].get, timeout=WAIT_S)

    def has_more(self, path: str) -> bool:
        try:
            self._came[path].get_nowait()
        except Empty:
            return False
        return True

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        came = self._came

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                came[self.path].put(Delivery(self.headers, body))
                answer = f"got {len(body)} bytes".encode()
                is_chosen = self.path.startswith(STATUS)
                self.send_response(int(self.path.removeprefix(STATUS)) if is_chosen else 200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Steps are all that is printed."""

        return Handler

    def serve(self) -> None:
        self._server.serve_forever()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on a free port of this machine."""
    receiver = Receiver()
    thread = threading.Thread(target=receiver.serve, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.close()
        thread.join()
