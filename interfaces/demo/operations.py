"""The operations bot: releases, full disks, certificates."""

from __future__ import annotations

from dataclasses import dataclass

from handraise import Confirmation

from interfaces.demo.agent import FOR_YOU, Agent, quoted

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Release:
    """A build that wants to go to production; `plan_b` is what the agent proposes when it is held back."""

    service: str
    build: int
    what: str
    checks: str
    diff: str
    plan_b: str


RELEASES = (
    Release(
        "checkout",
        2041,
        "* A card is charged once per order, also when somebody clicks twice\n* 14 commits, no migration",
        """| check | result |
|---|---|
| tests | 1,482 passed |
| canary, 30 minutes | 0.02 % errors (before: 0.03 %) |
| p95 of a payment | 212 ms (before: 208 ms) |
| rollback | tried, takes 40 s |""",
        """```diff
--- a/checkout/payment.py
+++ b/checkout/payment.py
@@ -41,5 +41,6 @@ def pay(order: Order, card: Card) -> Receipt:
     if order.paid:
         raise AlreadyPaid(order.id)
-    receipt = bank.charge(card, order.total)
+    once = f"order-{order.id}"
+    receipt = bank.charge(card, order.total, idempotency_key=once)
     ledger.append(receipt)
     return receipt
```""",
        "5 % of the traffic for two hours first, and back by itself above 0.1 % errors.",
    ),
    Release(
        "search",
        318,
        "* Forgives one typing mistake per word\n* The index is rebuilt, which takes 18 minutes; reads go on",
        """| check | result |
|---|---|
| tests | 964 passed |
| searches without a hit | 3.1 % (before: 7.8 %) |
| p95 of a search | 96 ms (before: 71 ms) |
| memory of a node | 5.2 GB of 8 GB |""",
        """```diff
--- a/search/settings.yaml
+++ b/search/settings.yaml
@@ -7,5 +7,5 @@ index: articles
   language: en
-  fuzziness: 0
+  fuzziness: 1
   boost: {title: 3, tags: 2}
 cluster:
-  replicas: 4
+  replicas: 6
```""",
        "The new index beside the old one, fed with a copy of the traffic for a day. No customer sees it before that.",
    ),
    Release(
        "billing",
        77,
        "* Invoices show the tax of each line\n* One migration: a new column, filled afterwards",
        """| check | result |
|---|---|
| tests | 2,310 passed |
| 500 old invoices made again | all the same to the cent |
| migration on a copy | 4 s, no lock longer than 20 ms |
| rollback | the column stays, unused |""",
        """```diff
--- /dev/null
+++ b/billing/migrations/0077_tax.sql
@@ -0,0 +1,3 @@
+ALTER TABLE invoice_lines ADD COLUMN tax_cents bigint;
+-- Filled in batches by the worker, newest first.
+INSERT INTO jobs (name, batch) VALUES ('fill_tax_cents', 1000);
```""",
        "The migration alone at 02:00, when no invoices are made; the new code a day later.",
    ),
)


async def release(agent: Agent, number: int) -> None:
    """A deployment to approve; then how far it goes, or a changed plan."""
    found = RELEASES[number % len(RELEASES)]
    build = found.build + number // len(RELEASES) * 7
    run = f"release-{found.service}-{build}"
    agreed = await agent.client.confirm(
        f"Deploy **build {build}** of *{found.service}* to production?\n\n{found.what}",
        yes="Deploy",
        no="Hold back",
        context=f"{found.checks}\n\n{found.diff}",
        unique_id=run,
        run_id=run,
        priority=15,
        expires_in_seconds=_DAY,
        wait_seconds=None,
    )
    if not agreed:
        agent.say(f"{agreed.by} held back build {build} of {found.service}; I work out another plan")
        await agent.work()
        agreed = await agent.client.confirm(
            f"Another plan for **build {build}** of *{found.service}*: go ahead like this?",
            yes="Go ahead",
            no="Drop the build",
            context=f"{_because(agreed)}New plan: {found.plan_b}\n\n{found.checks}",
            unique_id=f"{run}-plan-b",
            run_id=run,
            priority=30,
            expires_in_seconds=_DAY,
            wait_seconds=None,
        )
        if not agreed:
            agent.say(f"{agreed.by} dropped build {build} of {found.service}; it stays where it is")
            return
    agent.say(f"{agreed.by} agreed to build {build} of {found.service}; it goes to the canary")
    await agent.work()
    await _roll_out(agent, found, build, run, agreed)


async def _roll_out(agent: Agent, found: Release, build: int, run: str, agreed: Confirmation) -> None:
    back = "Roll it back"
    how = await agent.client.choose(
        f"Build {build} of *{found.service}* is on the canary and looks healthy. How shall it go on?",
        ["Everywhere at once", "In steps: 10 %, 50 %, 100 %", back],
        context=f"{_because(agreed)}{found.checks}",
        unique_id=f"{run}-rollout",
        run_id=run,
        priority=25,
        expires_in_seconds=_DAY,
        wait_seconds=None,
    )
    if how.text != back:
        agent.say(f"build {build} of {found.service} is live ({how.text.lower()}, says {how.by})")
        return
    agent.say(f"{how.by} had build {build} of {found.service} rolled back")
    await agent.work()
    hint = await agent.client.ask(
        f"Build {build} of *{found.service}* is rolled back. What shall I look at before I try again?",
        context="No order was lost: the canary was drained first.",
        unique_id=f"{run}-why",
        run_id=run,
        expires_in_seconds=_DAY,
        wait_seconds=None,
    )
    agent.say(f"I look into what {hint.by} wrote about build {build} of {found.service}")


def _because(agreed: Confirmation) -> str:
    """What somebody wrote with their decision, if anything."""
    return "" if agreed.note is None else f"You wrote:\n\n{quoted(agreed.note)}\n\n"


HOSTS = ("db-3", "files-1", "search-2")


async def disk(agent: Agent, number: int) -> None:
    """A disk that fills up, for whoever is on call: after some minutes one of the sample people takes it."""
    host = HOSTS[number % len(HOSTS)]
    closed = await agent.ask_colleagues(
        f"The disk of *{host}* is at 91 %. May I remove the snapshots that are older than 30 days?",
        (
            {"data": {"approved": True, "note": "The monthly ones are in the archive, go on."}},
            {"data": {"approved": False, "note": "Not before the backup tonight."}},
        ),
        (180, 300),
        taker=agent.pace.chance.choice(("alice", "bob")),
        request_type="approval",
        labels={"approve": "Remove them", "reject": "Leave them"},
        context=f"""At this rate it is full in 9 hours.

| snapshot | age | size |
|---|---:|---:|
| `{host}-monthly-2` | 61 days | 118 GB |
| `{host}-monthly-1` | 33 days | 96 GB |
| `{host}-weekly-4` | 28 days | 87 GB |

```sh
snapshots remove --host {host} --older-than 30d
```""",
        unique_id=f"disk-{host}-{number}",
        priority=20,
        expires_in_seconds=7200.0,
        assignment_strategy={"type": "SharedInbox", "listID": "oncall"},
    )
    response = closed["response"]
    if response is not None:
        freed = "removed the old snapshots: 214 GB are free" if response["outcome"] == "approved" else "left as it is"
        agent.say(f"disk of {host}: {freed}, as {response['by']} said")


async def certificate(agent: Agent, number: int) -> None:
    """Alice is asked and does not react: the ladder takes it to the newcomer."""
    name = ("api.example.com", "shop.example.com", "mail.example.com")[number % 3]
    renewed = await agent.client.confirm(
        f"The certificate of `{name}` ends in 6 days. Renew it now?",
        yes="Renew",
        no="Not now",
        context="The connection is kept: servers load the new one without a restart. Alice is asked first; "
        "what she does not see in time comes to you.",
        unique_id=f"certificate-{name}-{number}",
        priority=40,
        expires_in_seconds=_DAY,
        wait_seconds=None,
        assignment_strategy={
            "type": "SpecificUser",
            "userID": "alice",
            "escalation": [{"afterMinutes": agent.pace.seconds(40) / 60, "to": FOR_YOU}],
        },
    )
    agent.say(f"certificate of {name}: {'renewed for 90 days' if renewed else 'not renewed'}, as {renewed.by} said")
