"""Webhooks of an inbox through the SDK: what it shows of them, and what they deliver."""

import json

from vaultsandbox import (
    ApiError,
    CreateInboxOptions,
    CustomTemplate,
    FilterConfig,
    FilterRule,
    Inbox,
    InboxNotFoundError,
    VaultSandboxClient,
    Webhook,
    WebhookLimitReachedError,
    WebhookNotFoundError,
)
from vaultsandbox.errors import WebhookSignatureVerificationError

from harness.mail import SENDER, Mail, attachment_mail, message, send, text_mail, unicode_mail
from harness.receiver import Receiver, receiving
from harness.refusal import refused
from harness.server import Server
from harness.step import check, eventually, run, step

RECEIVED, STORED, DELETED = ("email.received", "email.stored", "email.deleted")
WEBHOOKS_OF_AN_INBOX = 50


async def create(inbox: Inbox, url: str, *events: str, **options: object) -> Webhook:
    return await inbox.create_webhook(url, list(events), allow_http=True, **options)


def named(subject: str) -> Mail:
    made = message(subject)
    made.set_content("Hello\n")
    return Mail(subject, made, text="Hello\n")


async def deliver(server: Server, client: VaultSandboxClient, receiver: Receiver, mode: str) -> None:
    """All three events of an email, from either kind of inbox."""
    inbox = await client.create_inbox(CreateInboxOptions(encryption=mode))
    path = f"/{mode}"
    with step(f"{mode}: create a webhook"):
        webhook = await create(inbox, receiver.url(path), RECEIVED, STORED, DELETED, description="all of it")
        check("scope", (webhook.scope, webhook.inbox_email), ("inbox", inbox.email_address))
        check("hash", webhook.inbox_hash, inbox.inbox_hash)
        check("as asked for", (webhook.url, webhook.description), (receiver.url(path), "all of it"))
        check("enabled", webhook.enabled, True)
        check("nothing was sent yet", (webhook.last_delivery_at, webhook.last_delivery_status), (None, None))
    for mail in (text_mail(), attachment_mail(), unicode_mail()):
        with step(f"{mode}: {mail.name} mail is delivered"):
            await send(server, mail, inbox)
            came = [(await receiver.next(path)).event(webhook.secret) for _ in range(2)]
            events = {event["type"]: event["data"] for event in came}
            email = (await inbox.list_emails_metadata_only())[0]
            check_received(events[RECEIVED], inbox, mail, email.id)
            stored = events[STORED]
            check("stored", (stored["id"], stored["inboxId"]), (email.id, inbox.inbox_hash))
    with step(f"{mode}: a deleted email is told"):
        await inbox.delete_email(email.id)
        deleted = (await receiver.next(path)).event(webhook.secret)
        check("type", deleted["type"], DELETED)
        check("which, and why", (deleted["data"]["id"], deleted["data"]["reason"]), (email.id, "manual"))
    with step(f"{mode}: a deleted inbox tells of each of its emails, and its webhooks are gone"):
        left = {email.id for email in await inbox.list_emails_metadata_only()}
        await inbox.delete()
        told = [(await receiver.next(path)).event(webhook.secret)["data"] for _ in left]
        check("which", {data["id"] for data in told}, left)
        check("why", {data["reason"] for data in told}, {"manual"})
        await refused((WebhookNotFoundError, InboxNotFoundError), webhook.refresh())
        check("nothing else came", receiver.has_more(path), False)


def check_received(data: dict, inbox: Inbox, mail: Mail, email_id: str) -> None:
    check("ids", (data["id"], data["inboxId"]), (email_id, inbox.inbox_hash))
    check("inbox", data["inboxEmail"], inbox.email_address)
    check("from", data["from"], {"address": mail.sender, "name": "Jürgen Müller"})
    check("to", data["to"], [{"address": "someone@example.org"}])
    check("subject", data["subject"], mail.subject)
    check("snippet", data["snippet"], (mail.text or "")[:200])
    check("text", data["textBody"], mail.text)
    check("header", data["headers"]["x-interop"], "yes")
    content = mail.attachment
    attachment = {"filename": "all bytes.bin", "contentType": "application/octet-stream"}
    expected = [] if content is None else [attachment | {"size": len(content)}]
    check("attachments", data["attachments"], expected)


async def show(server: Server, inbox: Inbox, receiver: Receiver) -> None:
    path = "/shown"
    with step("get: secret and statistics; list: neither"):
        webhook = await create(inbox, receiver.url(path), RECEIVED)
        await send(server, text_mail(), inbox)
        (await receiver.next(path)).event(webhook.secret)

        async def statistics() -> tuple:
            stats = (await inbox.get_webhook(webhook.id)).stats
            return stats.total_deliveries, stats.successful_deliveries, stats.failed_deliveries

        await eventually("statistics", statistics, (1, 1, 0))
        await webhook.refresh()
        check("last delivery", webhook.last_delivery_status, "success")
        check("when", webhook.last_delivery_at > webhook.created_at, True)
        check("secret", (await inbox.get_webhook(webhook.id)).secret, webhook.secret)
        listed = await inbox.list_webhooks()
        check("listed", [(one.id, one.secret, one.stats) for one in listed], [(webhook.id, None, None)])
    with step("test: what the target answers"):
        result = await webhook.test()
        check("outcome", (result.success, result.status_code, result.error), (True, 200, None))
        check("answer", result.response_body.startswith("got "), True)
        check("time", result.response_time > 0, True)
        tested = (await receiver.next(path)).event(webhook.secret)
        check("sent", tested, result.payload_sent)
        check("subject", tested["data"]["subject"], "Test webhook delivery")
    with step("test: a target that fails"):
        await webhook.update(url=receiver.url("/status/503"), allow_http=True)
        result = await webhook.test()
        check("outcome", (result.success, result.status_code), (False, 503))
        check("error", bool(result.error), True)
        await webhook.refresh()
        check("not counted", (await statistics()), (1, 1, 0))
    with step("delete, and delete again"):
        await webhook.delete()
        await refused(WebhookNotFoundError, webhook.delete())
        await refused(WebhookNotFoundError, inbox.get_webhook(webhook.id))
        check("listed", await inbox.list_webhooks(), [])


async def rotate(server: Server, inbox: Inbox, receiver: Receiver) -> None:
    path = "/rotated"
    with step("rotate: old and new secret both verify"):
        webhook = await create(inbox, receiver.url(path), RECEIVED)
        old = webhook.secret
        rotated = await webhook.rotate_secret()
        check("new", rotated.secret != old, True)
        check("shown", (await inbox.get_webhook(webhook.id)).secret, rotated.secret)
        await send(server, text_mail(), inbox)
        delivery = await receiver.next(path)
        delivery.event(rotated.secret)
        # A library of Standard Webhooks takes either secret; who reads X-Vault-Signature has one header for each.
        delivery.verify_with_sdk(old, "X-Vault-Signature-Previous")
        delivery.verify_standard(old)
    with step("rotate: any other secret does not"):
        other = "whsec_" + "A" * 44
        try:
            delivery.verify(other)
        except WebhookSignatureVerificationError:
            pass
        else:
            check("verifies", True, False)
    await webhook.delete()


async def change(server: Server, inbox: Inbox, receiver: Receiver) -> None:
    path = "/changed"
    webhook = await create(inbox, receiver.url(path), RECEIVED, template=CustomTemplate(TEMPLATE))
    with step("template: a custom one"):
        check("shown", (await inbox.get_webhook(webhook.id)).template, CustomTemplate(TEMPLATE))
        quoted = named('She said "hello" \\ 你好')
        await send(server, quoted, inbox)
        delivery = await receiver.next(path)
        delivery.verify(webhook.secret)
        check("body", json.loads(delivery.body), {"who": SENDER, "what": quoted.subject})
    with step("template: a built-in one instead, then none"):
        await webhook.update(template="slack")
        check("shown", webhook.template, "slack")
        await send(server, text_mail(), inbox)
        delivery = await receiver.next(path)
        delivery.verify(webhook.secret)
        check("text", json.loads(delivery.body)["text"], f"New email from {SENDER}")
        await webhook.update(remove_template=True)
        check("shown", webhook.template, None)
        await send(server, text_mail(), inbox)
        check("type", (await receiver.next(path)).event(webhook.secret)["type"], RECEIVED)
    with step("disabled: nothing is sent"):
        await webhook.disable()
        check("shown", webhook.enabled, False)
        await send(server, named("While it was disabled"), inbox)
        await webhook.enable()
        await send(server, named("Enabled again"), inbox)
        check("what came", (await receiver.next(path)).event(webhook.secret)["data"]["subject"], "Enabled again")
        check("nothing else came", receiver.has_more(path), False)
    await webhook.delete()


TEMPLATE = '{"who": "{{data.from.address}}", "what": "{{data.subject}}"}'


async def select(server: Server, inbox: Inbox, receiver: Receiver) -> None:
    path = "/filtered"
    rules = [
        FilterRule("subject", "regex", "^order [0-9]+$"),
        FilterRule("from.address", "domain", "example.org"),
        FilterRule("header.X-Interop", "equals", "YES"),
    ]
    webhook = await create(inbox, receiver.url(path), RECEIVED, filter=FilterConfig(rules, "all"))
    with step("filter: only what matches"):
        check("shown", (await inbox.get_webhook(webhook.id)).filter, FilterConfig(rules, "all"))
        for subject in ("Order of the day", "Order 66"):
            await send(server, named(subject), inbox)
        check("what came", (await receiver.next(path)).event(webhook.secret)["data"]["subject"], "Order 66")
        check("nothing else came", receiver.has_more(path), False)
    with step("filter: taken away, everything matches"):
        await webhook.update(remove_filter=True)
        check("shown", webhook.filter, None)
        await send(server, named("Anything"), inbox)
        check("what came", (await receiver.next(path)).event(webhook.secret)["data"]["subject"], "Anything")
    await webhook.delete()


async def refuse(inbox: Inbox, receiver: Receiver) -> None:
    url = receiver.url("/never")
    with step("refused: what is wrong is named"):
        pattern = FilterConfig([FilterRule("subject", "regex", "(")], "any")
        error = await refused(ApiError, create(inbox, url, RECEIVED, filter=pattern))
        check("regex", (error.status_code, "filter.rules[0]" in error.message), (422, True))
        error = await refused(ApiError, create(inbox, url, RECEIVED, template="telegram"))
        check("template", (error.status_code, "slack" in error.message), (422, True))
        error = await refused(ApiError, create(inbox, url, RECEIVED, template=CustomTemplate("{")))
        check("custom template", error.status_code, 422)
        error = await refused(ApiError, create(inbox, "http://someone@127.0.0.1/", RECEIVED))
        check("user info", error.status_code, 400)
        error = await refused(ApiError, create(inbox, url, "email.sent"))
        check("event", error.status_code, 400)
    with step("refused: one more than an inbox may have"):
        for _ in range(WEBHOOKS_OF_AN_INBOX):
            await create(inbox, url, DELETED)
        await refused(WebhookLimitReachedError, create(inbox, url, DELETED))
        check("how many", len(await inbox.list_webhooks()), WEBHOOKS_OF_AN_INBOX)


async def walk(server: Server) -> None:
    with receiving() as receiver:
        async with server.client() as client:
            for mode in ("plain", "encrypted"):
                await deliver(server, client, receiver, mode)
            inbox = await client.create_inbox(CreateInboxOptions(encryption="plain"))
            await show(server, inbox, receiver)
            await rotate(server, inbox, receiver)
            await change(server, inbox, receiver)
            await select(server, inbox, receiver)
            await refuse(inbox, receiver)
            await inbox.delete()
            with step("a webhook of an inbox that is not there"):
                await refused(InboxNotFoundError, create(inbox, receiver.url("/never"), RECEIVED))


run(walk)
