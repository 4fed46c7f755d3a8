"""Export and import, the read flag, deleting, and what a client is refused."""

import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

from vaultsandbox import (
    ApiError,
    CreateInboxOptions,
    EmailNotFoundError,
    Inbox,
    InboxAlreadyExistsError,
    InboxNotFoundError,
    VaultSandboxClient,
)

from harness.mail import Mail, check_received, html_mail, send, text_mail
from harness.refusal import refused
from harness.server import Server
from harness.step import check, run, step


async def keep(server: Server, client: VaultSandboxClient, mode: str) -> None:
    inbox = await client.create_inbox(CreateInboxOptions(encryption=mode))
    mails = [text_mail(), html_mail()]
    for mail in mails:
        await send(server, mail, inbox)
    with step(f"{mode}: export, import in another client, read there"):
        await export_and_import(server, client, inbox, mails)
    await read_and_delete(inbox, mode)


async def export_and_import(server: Server, client: VaultSandboxClient, inbox: Inbox, mails: list[Mail]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "inbox.json"
        await client.export_inbox_to_file(inbox, path)
        await refused(InboxAlreadyExistsError, client.import_inbox_from_file(path))
        async with server.client() as other:
            imported = await other.import_inbox_from_file(path)
            for email, mail in zip(await imported.list_emails(), reversed(mails), strict=True):
                await check_received(imported, email, mail)


async def read_and_delete(inbox: Inbox, mode: str) -> None:
    with step(f"{mode}: mark as read"):
        newest, oldest = await inbox.list_emails()
        await newest.mark_as_read()
        check("read", (await inbox.get_email(newest.id)).is_read, True)
        flags = [email.is_read for email in await inbox.list_emails_metadata_only()]
        check("flags in the list", flags, [True, False])
    with step(f"{mode}: delete an email"):
        before = await inbox.get_sync_status()
        await newest.delete()
        after = await inbox.get_sync_status()
        check("count", (before.email_count, after.email_count), (2, 1))
        check("hash changes", before.emails_hash == after.emails_hash, False)
        await refused(EmailNotFoundError, inbox.get_email(newest.id))
        check("what is left", [email.id for email in await inbox.list_emails()], [oldest.id])
    with step(f"{mode}: delete the inbox, twice"):
        await inbox.delete()
        await inbox.delete()
        await refused(InboxNotFoundError, inbox.list_emails())


async def create(client: VaultSandboxClient) -> None:
    with step("create: the lifetime that was asked for"):
        inbox = await client.create_inbox(CreateInboxOptions(ttl=60, email_auth=False))
        left = inbox.expires_at - datetime.now(timezone.utc)
        check("lifetime", timedelta(seconds=30) < left <= timedelta(seconds=60), True)
        check("encrypted by default", inbox.encrypted, True)
    with step("create: a taken address gives another one at the same domain"):
        wanted = inbox.email_address
        other = await client.create_inbox(CreateInboxOptions(email_address=wanted))
        check("another address", other.email_address != wanted, True)
        check("same domain", other.email_address.split("@")[1], wanted.split("@")[1])
    with step("create: a lifetime out of range is refused"):
        error = await refused(ApiError, client.create_inbox(CreateInboxOptions(ttl=59)))
        check("status", error.status_code, 400)
    with step("delete all inboxes"):
        # Other scripts may have left some.
        check("at least these two", await client.delete_all_inboxes() >= 2, True)
        await refused(InboxNotFoundError, inbox.list_emails())


async def walk(server: Server) -> None:
    async with server.client() as client:
        with step("the key is checked, the server says what it is"):
            check("key", await client.check_key(), True)
            info = await client.get_server_info()
            check("context", info.context, "vaultsandbox:email:v1")
            check("policy", info.encryption_policy, "enabled")
        for mode in ("plain", "encrypted"):
            await keep(server, client, mode)
        await create(client)
    async with server.client(api_key="x" * 43) as stranger:
        with step("a wrong key is refused"):
            check("status", (await refused(ApiError, stranger.check_key())).status_code, 401)


run(walk)
