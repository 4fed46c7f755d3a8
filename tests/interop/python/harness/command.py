"""Our command line, as `cargo xtask interop` built it, in a home of its own."""

import asyncio
import base64
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.mail import Mail
from harness.step import CheckFailed, check

# Far above what a command needs, far below what a reader of a hung build endures.
DEADLINE_S = 30
# What a command says of any error.
ERROR = 2


class Commands:
    """`restante`: what it keeps is in the home, and where the server is it reads from the environment."""

    def __init__(self, home: Path) -> None:
        self.home = home
        # Absolute, because commands run in their home.
        self._binary = Path(os.environ["RESTANTE_COMMAND"]).resolve()
        kept = {"PATH", "RESTANTE_URL", "RESTANTE_SMTP", "RESTANTE_API_KEY_FILE"}
        self._environment = {name: value for name, value in os.environ.items() if name in kept}
        self._environment |= {"HOME": str(home), "RESTANTE_DATA_DIR": str(home / "keys")}
        for name in ("CONFIG", "DATA", "STATE", "CACHE", "RUNTIME"):
            self._environment[f"XDG_{name}_{'DIR' if name == 'RUNTIME' else 'HOME'}"] = str(home / name.lower())

    async def bytes(self, *arguments: str | Path) -> bytes:
        """What the command printed; it must succeed."""
        done = await self._run(arguments)
        if done.returncode != 0:
            raise CheckFailed(f"{arguments}: exit code {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    async def json(self, *arguments: str | Path) -> object:
        return json.loads(await self.bytes(*arguments, "--json"))

    async def refused(self, *arguments: str | Path) -> str:
        """What the command said of its error."""
        done = await self._run(arguments)
        check(f"exit code of {arguments}", done.returncode, ERROR)
        check("nothing is printed", done.stdout, b"")
        return done.stderr.decode()

    async def _run(self, arguments: tuple[str | Path, ...]) -> subprocess.CompletedProcess:
        return await asyncio.to_thread(
            subprocess.run,
            [self._binary, *map(str, arguments)],
            env=self._environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE_S,
        )


@contextmanager
def commands() -> Iterator[Commands]:
    """The command line of somebody who never used it."""
    with tempfile.TemporaryDirectory() as home:
        yield Commands(Path(home))


async def check_listed(command: Commands, address: str, mails: list[Mail]) -> None:
    """The command lists and shows exactly these mails, which were sent in this order."""
    listed = await command.json("email", "list", "--inbox", address)
    check("subjects", [email["metadata"]["subject"] for email in listed], [mail.subject for mail in reversed(mails)])
    for email, mail in zip(listed, reversed(mails), strict=True):
        await check_shown(command, address, email["id"], mail)


async def check_shown(command: Commands, address: str, email_id: str, mail: Mail) -> None:
    """The email is the mail that was sent, in every part that the command shows."""
    email = await command.json("email", "view", email_id, "--inbox", address)
    metadata, parsed = email["metadata"], email["parsed"]
    check("id", email["id"], email_id)
    check("subject", metadata["subject"], mail.subject)
    check("sender is shown", mail.sender in metadata["from"], True)
    check("text", parsed["text"], mail.text)
    check("html", parsed["html"], mail.html)
    check("header", parsed["headers"].get("x-interop"), "yes")
    check("links", tuple(parsed["links"]), mail.links)
    contents = [base64.b64decode(attachment["content"]) for attachment in parsed["attachments"]]
    check("attachments", contents, [mail.attachment] if mail.attachment is not None else [])
    raw = await command.bytes("email", "raw", email_id, "--inbox", address)
    check("raw ends in what was sent", raw.endswith(b"\r\n" + mail.as_sent()), True)
