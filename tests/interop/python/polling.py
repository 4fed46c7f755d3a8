"""A plain inbox, watched by polling (with encrypted ones this SDK reads a field that lists do not have)."""

import hashlib

from vaultsandbox import CreateInboxOptions, DeliveryStrategyType
from vaultsandbox.crypto import to_base64url

from harness.arrivals import watching
from harness.mail import all_mails, check_received, send
from harness.server import Server
from harness.step import check, run, step


async def walk(server: Server) -> None:
    async with server.client(DeliveryStrategyType.POLLING) as client:
        with step("polling: create a plain inbox"):
            inbox = await client.create_inbox(CreateInboxOptions(encryption="plain"))
        async with watching(inbox) as arrivals:
            for mail in all_mails():
                with step(f"polling: {mail.name} mail is found"):
                    await send(server, mail, inbox)
                    # Polling announces what the list shows, which is the metadata.
                    found = await arrivals.next()
                    await check_received(inbox, await inbox.get_email(found.id), mail)
        with step("polling: the sync status is the hash of the ids"):
            ids = sorted(email.id for email in await inbox.list_emails_metadata_only())
            digest = hashlib.sha256(",".join(ids).encode()).digest()
            status = await inbox.get_sync_status()
            check("count", status.email_count, len(all_mails()))
            check("hash", status.emails_hash, to_base64url(digest))


run(walk)
