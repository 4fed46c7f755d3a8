"""The mails that the walks send, and how."""

import asyncio
import hashlib
import smtplib
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8

from vaultsandbox import Email, Inbox, SPFStatus

from harness.server import Server
from harness.step import check

SENDER = "sender@example.org"
ATTACHMENT = bytes(range(256)) * 40


@dataclass(frozen=True)
class Mail:
    """A message, and what its reader must find."""

    name: str
    message: EmailMessage
    sender: str = SENDER
    text: str | None = None
    html: str | None = None
    links: tuple[str, ...] = ()
    attachment: bytes | None = None

    @property
    def subject(self) -> str:
        return str(self.message["Subject"])

    def as_sent(self) -> bytes:
        """The bytes on the wire, before dot-stuffing."""
        return self.message.as_bytes(policy=SMTPUTF8 if self.is_international() else SMTP)

    def is_international(self) -> bool:
        return not self.sender.isascii()


def message(subject: str, sender: str = SENDER) -> EmailMessage:
    made = EmailMessage(policy=SMTPUTF8 if not sender.isascii() else SMTP)
    made["From"] = f"Jürgen Müller <{sender}>"
    made["To"] = "someone@example.org"
    made["Subject"] = subject
    made["X-Interop"] = "yes"
    return made


def text_mail() -> Mail:
    made = message("Plain text")
    body = "First line\n.a line that starts with a dot\n\nSee https://example.org/reset?token=1&x=2.\n"
    made.set_content(body)
    return Mail("text", made, text=body, links=("https://example.org/reset?token=1&x=2",))


def html_mail() -> Mail:
    made = message("Text and HTML")
    text, html = "Hello\n", '<p>Hello <a href="https://example.org/a?b=1&amp;c=2">there</a></p>\n'
    made.set_content(text)
    made.add_alternative(html, subtype="html")
    return Mail("HTML", made, text=text, html=html, links=("https://example.org/a?b=1&c=2",))


def attachment_mail() -> Mail:
    made = message("With an attachment")
    made.set_content("See the file.\n")
    made.add_attachment(ATTACHMENT, maintype="application", subtype="octet-stream", filename="all bytes.bin")
    return Mail("attachment", made, text="See the file.\n", attachment=ATTACHMENT)


def unicode_mail() -> Mail:
    sender = "jürgen@example.org"
    made = message("Grüße 你好 🎉", sender)
    made.set_content("Zażółć gęślą jaźń — 你好 🎉\n", cte="8bit")
    return Mail("Unicode (SMTPUTF8)", made, sender=sender, text="Zażółć gęślą jaźń — 你好 🎉\n")


def all_mails() -> list[Mail]:
    return [text_mail(), html_mail(), attachment_mail(), unicode_mail()]


async def send(server: Server, mail: Mail, *inboxes: Inbox) -> None:
    """Sends one transaction to all inboxes."""
    await send_to(server, mail, *(inbox.email_address for inbox in inboxes))


async def send_to(server: Server, mail: Mail, *addresses: str) -> None:
    """Sends one transaction to all addresses."""
    await asyncio.to_thread(_send, server, mail, list(addresses))


def _send(server: Server, mail: Mail, recipients: list[str]) -> None:
    options = ["SMTPUTF8", "BODY=8BITMIME"] if mail.is_international() else []
    with smtplib.SMTP(server.smtp_host, server.smtp_port, timeout=30) as smtp:
        smtp.ehlo()
        refused = smtp.sendmail(mail.sender, recipients, mail.as_sent(), mail_options=options)
    check("refused recipients", refused, {})


async def check_received(inbox: Inbox, email: Email, mail: Mail) -> None:
    """The email in the inbox is the mail that was sent, in every part that the SDK shows."""
    check("subject", email.subject, mail.subject)
    check("sender is shown", mail.sender in email.from_address, True)
    # The peer gives one string where its SDK says list.
    check("to", email.to, inbox.email_address)
    check("is read", email.is_read, False)
    check("text", email.text, mail.text)
    check("html", email.html, mail.html)
    check("header", email.headers.get("x-interop"), "yes")
    check("links", tuple(email.links), mail.links)
    check("spf", email.auth_results.spf and email.auth_results.spf.result, SPFStatus.SKIPPED)
    check_attachment(email, mail.attachment)
    raw = (await email.get_raw()).raw
    check("raw starts with our trace field", raw.startswith("Received: "), True)
    check("raw ends in what was sent", raw.encode().endswith(b"\r\n" + mail.as_sent()), True)


def check_attachment(email: Email, content: bytes | None) -> None:
    check("attachments", len(email.attachments), 0 if content is None else 1)
    if content is None:
        return
    found = email.attachments[0]
    check("attachment name", found.filename, "all bytes.bin")
    check("attachment type", found.content_type, "application/octet-stream")
    check("attachment disposition", found.content_disposition, "attachment")
    check("attachment size", found.size, len(content))
    check("attachment content", found.content, content)
    check("attachment checksum", found.checksum, hashlib.sha256(content).hexdigest())
