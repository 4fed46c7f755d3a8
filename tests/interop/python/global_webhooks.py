"""What the SDK has no call for, over plain HTTP: global webhooks, templates, metrics, the log of deliveries."""

import json

import httpx
from vaultsandbox import CreateInboxOptions, Inbox

from harness.mail import SENDER, send, text_mail
from harness.receiver import Receiver, receiving
from harness.server import Server
from harness.step import check, eventually, run, step

TEMPLATES = ["default", "slack", "discord", "teams", "simple", "notification", "zapier"]
RECEIVED = "email.received"


class Api:
    """The API as any HTTP client sees it."""

    def __init__(self, server: Server) -> None:
        self._client = httpx.AsyncClient(base_url=server.url, headers={"X-API-Key": server.api_key})

    async def ask(self, status: int, method: str, path: str, body: object = None) -> object:
        answer = await self._client.request(method, f"/api/webhooks{path}", json=body)
        check(f"{method} {path}: status of {answer.text}", answer.status_code, status)
        return answer.json() if answer.content else None

    async def close(self) -> None:
        await self._client.aclose()


async def keep(server: Server, api: Api, inboxes: list[Inbox], receiver: Receiver) -> None:
    path = "/global"
    wanted = {"url": receiver.url(path), "events": [RECEIVED], "description": "every inbox"}
    with step("global: create, list, get"):
        created = await api.ask(201, "POST", "", wanted)
        check("as asked for", {name: created[name] for name in wanted}, wanted)
        check("scope", (created["scope"], created["enabled"]), ("global", True))
        check("id and secret", (created["id"][:4], created["secret"][:6], len(created["secret"])), ("whk_", "whsec_", 50))
        listed = await api.ask(200, "GET", "")
        check("total", listed["total"], 1)
        check("listed", [one["id"] for one in listed["webhooks"]], [created["id"]])
        check("neither secret nor statistics", {"secret", "stats"} & listed["webhooks"][0].keys(), set())
        shown = await api.ask(200, "GET", f"/{created['id']}")
        check("shown", (shown["secret"], shown["stats"]["totalDeliveries"]), (created["secret"], 0))
    with step("global: mail to any inbox is delivered"):
        for inbox in inboxes:
            await send(server, text_mail(), inbox)
            event = (await receiver.next(path)).event(created["secret"])
            check("inbox", event["data"]["inboxEmail"], inbox.email_address)
    await log(api, created, receiver, path, len(inboxes))
    await count(api, created, len(inboxes))
    with step("global: update, rotate, delete"):
        changed = await api.ask(200, "PATCH", f"/{created['id']}", {"description": None, "enabled": False})
        check("description", "description" in changed, False)
        check("enabled", (changed["enabled"], changed["disabledReason"]), (False, "manual"))
        rotated = await api.ask(200, "POST", f"/{created['id']}/rotate-secret")
        check("rotated", rotated.keys(), {"id", "secret", "previousSecretValidUntil"})
        await api.ask(204, "DELETE", f"/{created['id']}")
        missing = await api.ask(404, "GET", f"/{created['id']}")
        check("message", missing["message"], f"Webhook not found: {created['id']}")


async def log(api: Api, webhook: dict, receiver: Receiver, path: str, deliveries: int) -> None:
    of_it = f"/{webhook['id']}/deliveries"
    with step("global: the log of deliveries, newest first, page by page"):

        async def outcomes() -> list[tuple]:
            logged = (await api.ask(200, "GET", of_it))["deliveries"]
            return [(one["status"], one.get("statusCode"), one["attempt"]) for one in logged]

        await eventually("outcomes", outcomes, [("success", 200, 1)] * deliveries)
        whole = (await api.ask(200, "GET", of_it))["deliveries"]
        first = await api.ask(200, "GET", f"{of_it}?limit=1")
        second = await api.ask(200, "GET", f"{of_it}?limit=1&before={first['next']}")
        check("pages", first["deliveries"] + second["deliveries"], whole[:2])
    with step("global: deliver again"):
        await api.ask(202, "POST", f"{of_it}/{whole[0]['id']}/redeliver")
        again = await receiver.next(path)
        check("event", again.event(webhook["secret"])["id"], whole[0]["eventId"])
        check("delivery", again.headers["X-Vault-Delivery"], whole[0]["id"])
        check("attempt", again.headers["X-Vault-Attempt"], "2")


async def count(api: Api, webhook: dict, deliveries: int) -> None:
    with step("metrics: webhooks and their deliveries"):

        async def attempts() -> dict:
            return (await api.ask(200, "GET", "/metrics"))["deliveries"]

        # One was delivered again.
        expected = {"total": deliveries + 1, "successful": deliveries + 1, "failed": 0}
        await eventually("deliveries", attempts, expected)
        webhooks = (await api.ask(200, "GET", "/metrics"))["webhooks"]
        check("webhooks", webhooks, {"global": 1, "inbox": 0, "enabled": 1, "total": 1})
        shown = await api.ask(200, "GET", f"/{webhook['id']}")
        check("attempts of the webhook", shown["stats"]["totalDeliveries"], deliveries + 1)


async def render(server: Server, api: Api, inbox: Inbox, receiver: Receiver) -> None:
    with step("templates: their list"):
        templates = (await api.ask(200, "GET", "/templates"))["templates"]
        check("values", [one["value"] for one in templates], TEMPLATES)
        check("each has a label", all(one["label"] for one in templates), True)
    with step("templates: each makes JSON of an event, and is signed"):
        webhooks = []
        for name in TEMPLATES:
            wanted = {"url": receiver.url(f"/{name}"), "events": [RECEIVED], "template": {"type": name}}
            webhooks.append(await api.ask(201, "POST", "", wanted))
            check("shown by its name", webhooks[-1]["template"], name)
        await send(server, text_mail(), inbox)
        for name, webhook in zip(TEMPLATES, webhooks, strict=True):
            delivery = await receiver.next(f"/{name}")
            delivery.verify(webhook["secret"])
            check(f"{name} names the sender", SENDER in json.dumps(json.loads(delivery.body)), True)
            await api.ask(204, "DELETE", f"/{webhook['id']}")


async def walk(server: Server) -> None:
    api = Api(server)
    with receiving() as receiver:
        async with server.client() as client:
            inboxes = [await client.create_inbox(CreateInboxOptions(encryption=mode)) for mode in ("plain", "encrypted")]
            await keep(server, api, inboxes, receiver)
            await render(server, api, inboxes[0], receiver)
            for inbox in inboxes:
                await inbox.delete()
    await api.close()


run(walk)
