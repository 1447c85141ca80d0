"""What agents write, as people see it: all of it, as text, and none of it at work."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.web import Web

pytestmark = pytest.mark.thorough

FAMILY = "👩‍👩‍👧‍👦 🇺🇳 👍🏽"
RLO = "\u202e"
LAST_LINE = 'shutil.rmtree("/srv/data/production")'
END = "This is the end of the message."


def long_message(size: int) -> str:
    """P10 of about `size` bytes: mixed directions, code whose end matters, nested backticks."""
    signs = "-+ "
    diff = "\n".join(f"{signs[number % 3]}line {number} of the diff" for number in range(120))
    imports = "\n".join(f"import module_with_a_long_name_{number}" for number in range(10))
    escaped = json.loads(json.dumps(FAMILY))
    before = f"""# Plan of the night

| Step | Command |
|------|---------|
| build \\| test | `make a && make b` & wait |

```diff
{diff}
```

"""
    after = f"""شغّل الأمر `git push --force` ثم انتظر الموافقة قبل المتابعة.

הפעל את הפקודה ואז המתן לאישור לפני שממשיכים.

{FAMILY} and {escaped}

The answer was {RLO}DENIED.

`````markdown
````
```
three inside four inside five
```
````
`````

{END}
"""
    filler = max(0, size - len((before + after + imports + LAST_LINE).encode()))
    body = "".join(f"step_{number:05} = prepare()\n" for number in range(filler // 24))
    return f"{before}```python\n{imports}\n{body}{LAST_LINE}\n```\n\n{after}"


def opened(page: Page, request: dict[str, Any]) -> Locator:
    """The panel of a request, on a page that is signed in."""
    page.goto(f"/requests/{request['id']}")
    panel = page.get_by_role("article")
    expect(panel.get_by_role("heading", level=1)).to_be_visible()
    return panel


@pytest.mark.parametrize("size", [6_000, 60_000])
def test_p10_is_shown_whole(web: Web, size: int) -> None:
    """A long message of mixed directions can be read to its end, and looks as what it is."""
    text = long_message(size)
    assert abs(len(text.encode()) - size) < size / 10
    panel = opened(web.sign_in(), web.ask(message=text))
    expect(panel.get_by_role("button", name="Show the rest")).to_have_count(0)

    expect(panel.get_by_role("heading", name="Plan of the night")).to_be_visible()
    expect(panel.get_by_role("cell", name="build | test")).to_be_visible()
    expect(panel.get_by_role("cell", name="make a && make b & wait")).to_be_visible()
    diff = panel.get_by_role("group", name="Code, diff")
    assert diff.inner_text().rstrip("\n").splitlines() == [f"{'-+ '[n % 3]}line {n} of the diff" for n in range(120)]
    added, kept = (diff.get_by_text(line, exact=True) for line in ("+line 1 of the diff", "line 2 of the diff"))
    assert _background(added) != _background(kept)
    python = panel.get_by_role("group", name="Code, python")
    assert python.inner_text().rstrip("\n").endswith(LAST_LINE)
    assert python.inner_text().count("prepare()") == text.count("prepare()")
    for script in ("شغّل", "הפעל"):
        paragraph = panel.locator("p").filter(has_text=script)
        assert paragraph.evaluate("each => getComputedStyle(each).direction") == "rtl"
        assert paragraph.evaluate("each => getComputedStyle(each).textAlign") in ("start", "right")
    force = panel.get_by_text("git push --force", exact=True)
    assert force.evaluate("each => getComputedStyle(each).direction") == "ltr"
    expect(panel.get_by_text(f"{FAMILY} and {FAMILY}", exact=True)).to_be_visible()
    expect(panel.get_by_text("⟨U+202E⟩DENIED")).to_be_visible()
    assert RLO not in panel.inner_text()
    nested = panel.get_by_role("group", name="Code, markdown").inner_text().strip("\n")
    assert nested == "````\n```\nthree inside four inside five\n```\n````"
    expect(panel.get_by_text(END)).to_be_visible()


def _background(of: Locator) -> str:
    return of.evaluate("each => getComputedStyle(each).backgroundColor")


def test_the_longest_message_can_be_read_to_its_end(web: Web) -> None:
    """Of 500 kB only the beginning is shown at first, with how much more there is; all of it is one click away."""
    paragraphs = [f"Paragraph {number} with *some* words. " + "And more of them. " * 12 for number in range(2_000)]
    panel = opened(web.sign_in(), web.ask(message="\n\n".join([*paragraphs, END])))
    message = panel.get_by_role("region", name="Message").locator("p")
    rest = panel.get_by_role("button", name="Show the rest")
    said = re.fullmatch(r"Show the rest: (\d+) kB, ([\d,]+) lines", rest.inner_text())
    assert said is not None
    hidden = len(paragraphs) + 1 - message.count()
    assert abs(int(said[2].replace(",", "")) - 2 * hidden) < 10
    assert abs(int(said[1]) * 1024 - hidden * len(paragraphs[1_000])) < 20_000
    rest.click()
    expect(message).to_have_count(len(paragraphs) + 1, timeout=60_000)
    expect(message.last).to_have_text(END)


def test_one_block_longer_than_any_part_ends_where_it_ends(web: Web) -> None:
    """A block of code that alone is longer than what is shown at once is not cut without a word."""
    code = "\n".join(f"echo {number}" for number in range(9_000))
    panel = opened(web.sign_in(), web.ask(message=f"Run this?\n\n```bash\n{code}\nrm -rf /srv\n```\n"))
    rest = panel.get_by_role("button", name="Show the rest")
    if rest.count():
        rest.click()
    expect(panel.get_by_role("group", name="Code, bash").last).to_contain_text("rm -rf /srv")


HOSTILE = {
    "script link": "[press here](javascript:alert(document.cookie))",
    "data link": "[or here](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "image": "![a pixel](https://evil.example/pixel.png)",
    "html": "<img src=x onerror=\"alert('html')\"><script>alert(2)</script>",
    "reference": "[there][t]\n\n[t]: javascript:alert(3)",
    "autolink": "<javascript:alert(4)>",
}


def test_c55_nothing_in_a_text_runs_or_loads(web: Web) -> None:
    """Script in message, context, options, note and answer is shown as text: nothing runs, nothing is fetched."""
    hostile = "\n\n".join(HOSTILE.values())
    tag = "<img src=x onerror=alert(9)>"
    web.person("bob")
    asked = web.ask(
        message=hostile, context=hostile, options=[tag, "[no](javascript:alert(5))"], metadata={tag: tag}, run_id=tag
    )
    web.admin.post(f"/api/requests/{asked['id']}/reassign", json={"to": "bob", "note": f"{tag} {hostile}"})
    page = web.context().new_page()
    dialogs: list[str] = []
    elsewhere: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda sent: None if sent.url.startswith(web.url) else elsewhere.append(sent.url))
    panel = opened(page, asked)
    for name in ("Metadata", "Details"):
        panel.get_by_text(name, exact=True).click()
    expect(panel.get_by_text("<script>alert(2)</script>").first).to_be_visible()
    expect(panel.get_by_text("press here (javascript:alert(document.cookie))").first).to_be_visible()
    expect(panel.get_by_role("listitem").filter(has_text="reassigned it to Bob")).to_contain_text(tag)
    panel.get_by_text("press here").first.click()

    web.admin.post(f"/api/requests/{asked['id']}/respond", json={"text": tag})
    answer = panel.get_by_role("region", name="Answer", exact=True)
    expect(answer).to_contain_text(tag)
    page.reload()
    expect(answer).to_contain_text(tag)
    addresses = panel.get_by_role("link").evaluate_all("links => links.map(link => link.href)")
    assert addresses
    assert all(each.startswith(("https://evil.example/", web.url)) for each in addresses)
    assert panel.locator("img, script, iframe").count() == 0
    assert (dialogs, elsewhere) == ([], [])


def test_links_say_where_they_lead(web: Web) -> None:
    """A link whose text is another address shows its real host; all links open apart and tell nothing of here."""
    text = (
        "[https://bank.example/pay](https://evil.example/pay), [the docs](https://docs.example/), https://plain.example"
    )
    panel = opened(web.sign_in(), web.ask(message=text))
    expect(panel.get_by_text("(leads to evil.example)")).to_be_visible()
    expect(panel.get_by_text("leads to")).to_have_count(1)
    link = panel.get_by_role("link", name="the docs")
    expect(link).to_have_attribute("href", "https://docs.example/")
    expect(link).to_have_attribute("target", "_blank")
    expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    expect(panel.get_by_role("link", name="https://plain.example")).to_be_visible()


SEEN = {
    "x\u200by": "x⟨U+200B⟩y",
    "x\u2066y\u2069z": "x⟨U+2066⟩y⟨U+2069⟩z",
    "`x\u202ey`": "x⟨U+202E⟩y",
    "a\u200db": "a⟨U+200D⟩b",
    "x" + "\u200b" * 40 + "y": "x⟨U+200B ×40⟩y",
    "x\x1b[31my": "x⟨U+001B⟩[31my",
    "x\U000e0041\U000e0042y": "x⟨U+E0041 U+E0042⟩y",
    # Where a script or an emoji needs them they stay.
    "نمی\u200cخواهم": "نمی\u200cخواهم",
    "❤️\u200d🔥": "❤️\u200d🔥",
    "🏴\U000e0067\U000e0062\U000e007f": "🏴\U000e0067\U000e0062\U000e007f",
}


def test_hidden_characters_are_seen_where_they_mislead(web: Web) -> None:
    """Characters that are not seen, or turn what is around them, are named, except where a script needs them."""
    panel = opened(web.sign_in(), web.ask(message="\n\n".join(f"Before {written} after." for written in SEEN)))
    paragraphs = panel.get_by_role("region", name="Message").locator("p")
    expect(paragraphs).to_have_text([f"Before {seen} after." for seen in SEEN.values()])


def test_what_no_reader_can_parse_is_shown_as_it_is(web: Web) -> None:
    """Texts made to choke a reader of Markdown are shown all the same, and the request can be answered."""
    page = web.sign_in()
    for text in (
        ">" * 10_000 + " deep",
        "[" * 10_000,
        "- " * 2_000 + "deep",
        "```\n" + "x" * 200_000,
        "**a " * 4_000,
        "\n".join(f"{' ' * depth}- deeper" for depth in range(0, 800, 2)),
    ):
        panel = opened(page, web.ask(message=f"{END}\n\n{text}\n\n{END}"))
        rest = panel.get_by_role("button", name="Show the rest")
        if rest.count():
            rest.click()
        message = panel.get_by_role("region", name="Message")
        expect(message).to_contain_text(re.compile(f"{END}.*{END}", re.DOTALL), timeout=60_000)
        expect(panel.get_by_role("textbox", name="Answer")).to_be_editable()


def test_nothing_is_left_out_that_markdown_would_leave_out(web: Web) -> None:
    """Comments, unused definitions and HTML are part of what the agent wrote: they are shown."""
    text = "Before\n\n<!-- a comment -->\n\n[//]: # (a remark)\n\n[unused]: https://unused.example\n\nAfter <b>bold</b>"
    panel = opened(web.sign_in(), web.ask(message=text))
    for each in ("<!-- a comment -->", "[//]: # (a remark)", "[unused]: https://unused.example", "<b>bold</b>"):
        expect(panel.get_by_text(each)).to_be_visible()


def test_code_is_copied_as_it_was_sent(web: Web) -> None:
    """The button of a block copies its text, hidden characters included."""
    page = web.sign_in(permissions=["clipboard-read", "clipboard-write"])
    panel = opened(page, web.ask(message=f"```bash\necho one\necho {RLO}two\n```"))
    expect(panel.get_by_text("⟨U+202E⟩")).to_be_visible()
    panel.get_by_role("button", name="Copy code").click()
    expect(panel.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == f"echo one\necho {RLO}two"
