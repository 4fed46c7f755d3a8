"""Exported inboxes between the command line and the SDK: each opens what the other wrote, and refuses what is broken."""

import json
import tempfile
from pathlib import Path

from vaultsandbox import CreateInboxOptions, InvalidImportDataError, VaultSandboxClient
from vaultsandbox.crypto import from_base64url, to_base64url

from harness.command import Commands, check_listed, commands
from harness.mail import all_mails, check_received, html_mail, send_to, text_mail
from harness.refusal import refused
from harness.server import Server
from harness.step import check, run, step

FIELDS = ["version", "emailAddress", "expiresAt", "inboxHash", "encrypted", "exportedAt"]
KEYS = ["serverSigPk", "secretKey"]


async def ours_to_sdk(server: Server, command: Commands, mode: str, folder: Path) -> Path:
    """The command creates and exports; the SDK imports and reads what came before and what comes then."""
    with step(f"{mode}: the command creates an inbox and exports it"):
        created = await command.json("inbox", "create", f"--{mode}")
        address = created["emailAddress"]
        exported = await command.json("inbox", "export", address, "--out", folder)
        path = Path(exported["file"])
        check("name", path.name, address.replace("@", "_at_") + ".json")
        check("permissions", oct(path.stat().st_mode & 0o777), "0o600")
        fields = FIELDS[:-1] + (KEYS if mode == "encrypted" else []) + FIELDS[-1:]
        check("fields", list(json.loads(path.read_text())), fields)
        check("expiry", json.loads(path.read_text())["expiresAt"], created["expiresAt"])
    with step(f"{mode}: the SDK reads mail of the command's inbox"):
        mails = all_mails()
        for mail in mails:
            await send_to(server, mail, address)
        async with server.client() as client:
            imported = await client.import_inbox_from_file(path)
            for email, mail in zip(await imported.list_emails(), reversed(mails), strict=True):
                await check_received(imported, email, mail)
            late = html_mail()
            await send_to(server, late, address)
            newest, *_ = await imported.list_emails()
            await check_received(imported, newest, late)
    return path


async def sdk_to_ours(server: Server, command: Commands, mode: str, folder: Path) -> Path:
    """The SDK creates and exports; the command imports, reads, and exports for the next SDK."""
    path = folder / "of-the-sdk.json"
    mails = all_mails()
    async with server.client() as client:
        with step(f"{mode}: the SDK creates an inbox and exports it"):
            inbox = await client.create_inbox(CreateInboxOptions(encryption=mode))
            address = inbox.email_address
            for mail in mails:
                await send_to(server, mail, address)
            await client.export_inbox_to_file(inbox, path)
            fields = FIELDS + (KEYS if mode == "encrypted" else [])
            check("fields that we know", sorted(set(fields) - set(json.loads(path.read_text()))), [])
        with step(f"{mode}: the command reads mail of the SDK's inbox"):
            said = await command.json("inbox", "import", path)
            check("address", said["emailAddress"], address)
            check("hash", said["inboxHash"], inbox.inbox_hash)
            await check_listed(command, address, mails)
            late = text_mail()
            await send_to(server, late, address)
            await check_listed(command, address, [*mails, late])
    with step(f"{mode}: what the command imported it exports for another SDK"):
        again = folder / "again.json"
        await command.bytes("inbox", "export", address, "--out", again)
        async with server.client() as other:
            imported = await other.import_inbox_from_file(again)
            newest, *_ = await imported.list_emails()
            await check_received(imported, newest, late)
    return path


async def known_twice(command: Commands, path: Path, mode: str) -> None:
    with step(f"{mode}: the command replaces a known inbox only when it is told to"):
        address = json.loads(path.read_text())["emailAddress"]
        says = await command.refused("inbox", "import", path)
        check("address is named", address in says, True)
        await command.bytes("inbox", "import", path, "--replace")


async def broken_keys(client: VaultSandboxClient, command: Commands, path: Path, folder: Path, of_whom: str) -> None:
    whole = json.loads(path.read_text())
    with step(f"a secret key one byte short, of {of_whom}, is refused by both"):
        short = to_base64url(from_base64url(whole["secretKey"])[:-1])
        broken = folder / "short.json"
        broken.write_text(json.dumps(whole | {"secretKey": short}))
        says = await command.refused("inbox", "import", broken, "--replace")
        check("field and sizes are named", [word in says for word in ("secretKey", "2400", "2399")], [True] * 3)
        check("the key is not shown", short[:40] in says, False)
        error = await refused(InvalidImportDataError, client.import_inbox_from_file(broken))
        check("both sizes are named there", ["2400" in str(error), "2399" in str(error)], [True, True])
    with step(f"another server's key, of {of_whom}, opens nothing"):
        other = bytes(byte ^ 1 for byte in from_base64url(whole["serverSigPk"]))
        substituted = folder / "substituted.json"
        substituted.write_text(json.dumps(whole | {"serverSigPk": to_base64url(other)}))
        await refused(InvalidImportDataError, client.import_inbox_from_file(substituted))
        await command.bytes("inbox", "import", substituted, "--replace")
        says = await command.refused("email", "view", "--inbox", whole["emailAddress"])
        check("nothing of the mail is shown", [mail.subject for mail in all_mails() if mail.subject in says], [])


async def walk(server: Server) -> None:
    with tempfile.TemporaryDirectory() as name, commands() as command:
        for mode in ("plain", "encrypted"):
            folder = Path(name) / mode
            folder.mkdir()
            ours = await ours_to_sdk(server, command, mode, folder)
            theirs = await sdk_to_ours(server, command, mode, folder)
            await known_twice(command, theirs, mode)
        async with server.client() as client:
            # The SDK compares the server's key of an export once it has asked for it.
            await client.get_server_info()
            await broken_keys(client, command, ours, folder, "the command")
            await broken_keys(client, command, theirs, folder, "the SDK")


run(walk)
