"""Plain and encrypted inboxes, watched over the live stream."""

from vaultsandbox import CreateInboxOptions, Email, Inbox, VaultSandboxClient, WaitForEmailOptions

from harness.arrivals import Arrivals, watching
from harness.mail import Mail, all_mails, check_received, message, send, text_mail
from harness.server import Server
from harness.step import check, run, step

MODES = ("plain", "encrypted")


async def receive(server: Server, client: VaultSandboxClient, mode: str) -> None:
    with step(f"{mode}: create an inbox"):
        inbox = await client.create_inbox(CreateInboxOptions(encryption=mode))
        check("encrypted", inbox.encrypted, mode == "encrypted")
        check("server key", inbox.server_sig_pk is not None, inbox.encrypted)
    async with watching(inbox) as arrivals:
        for mail in all_mails():
            with step(f"{mode}: {mail.name} mail comes over the stream"):
                await send(server, mail, inbox)
                await check_received(inbox, await arrivals.next(), mail)
    with step(f"{mode}: list everything, wait for what is there"):
        listed = await inbox.list_emails()
        subjects = [mail.subject for mail in all_mails()]
        check("subjects, newest first", [email.subject for email in listed], subjects[::-1])
        metadata = await inbox.list_emails_metadata_only()
        check("metadata, newest first", [email.subject for email in metadata], subjects[::-1])
        found = await inbox.wait_for_email(WaitForEmailOptions(subject=text_mail().subject, timeout=5000))
        check("found", found.id, listed[-1].id)


async def receive_together(server: Server, client: VaultSandboxClient) -> None:
    """One transaction to a plain and two encrypted inboxes, all watched over one stream."""
    with step("several recipients: each inbox gets its own email"):
        inboxes = [await client.create_inbox(CreateInboxOptions(encryption=mode)) for mode in (*MODES, "encrypted")]
        heard = {inbox.email_address: Arrivals() for inbox in inboxes}

        def hear(inbox: Inbox, email: Email) -> None:
            heard[inbox.email_address].heard(email)

        monitor = await client.monitor_inboxes(inboxes).on_email(hear).start()
        made = message("For all of you")
        made.set_content("Hello all\n")
        mail = Mail("several recipients", made, text="Hello all\n")
        await send(server, mail, *inboxes)
        for inbox in inboxes:
            await check_received(inbox, await heard[inbox.email_address].next(), mail)
        await monitor.unsubscribe()


async def walk(server: Server) -> None:
    async with server.client() as client:
        for mode in MODES:
            await receive(server, client, mode)
        await receive_together(server, client)


run(walk)
