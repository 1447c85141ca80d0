"""What Slack takes as blocks, and what it refuses: lengths, counts, places, names. As strict as the real one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

MESSAGE_BLOCKS, MODAL_BLOCKS = 50, 100
MESSAGE_CHARACTERS = 13_000
"""Of all texts in the blocks of one message together."""

_MENTION = re.compile(r"<(!(?:channel|here|everyone)|!subteam\^[A-Z0-9]+|@[UW][A-Z0-9]+)(?:\|[^>]*)?>")
_SELECTS = ("static_select", "multi_static_select")
_USER_SELECTS = ("users_select", "conversations_select", "channels_select", "multi_users_select")
_IN_ACTIONS = (
    *("button", "overflow", "datepicker", "timepicker", "datetimepicker", "radio_buttons", "checkboxes"),
    *("static_select", "users_select", "conversations_select", "channels_select"),
)
_IN_SECTION = (*_IN_ACTIONS[:5], "radio_buttons", "checkboxes", *_SELECTS, *_USER_SELECTS, "image")
_IN_INPUT = (
    *("plain_text_input", "number_input", "email_text_input", "url_text_input", "datepicker", "timepicker"),
    *("datetimepicker", "radio_buttons", "checkboxes", *_SELECTS, *_USER_SELECTS),
)
_FIELDS: dict[str, set[str]] = {
    "section": {"text", "fields", "accessory", "expand"},
    "header": {"text", "level"},
    "divider": set(),
    "context": {"elements"},
    "actions": {"elements"},
    "input": {"label", "element", "dispatch_action", "hint", "optional"},
    "image": {"image_url", "alt_text", "title", "slack_file"},
}
_OF_ELEMENT: dict[str, set[str]] = {
    "button": {"text", "url", "value", "style", "confirm", "accessibility_label"},
    "overflow": {"options", "confirm"},
    "datepicker": {"initial_date", "confirm", "focus_on_load", "placeholder"},
    "timepicker": {"initial_time", "confirm", "focus_on_load", "placeholder", "timezone"},
    "datetimepicker": {"initial_date_time", "confirm", "focus_on_load"},
    "radio_buttons": {"options", "initial_option", "confirm", "focus_on_load"},
    "checkboxes": {"options", "initial_options", "confirm", "focus_on_load"},
    "static_select": {"options", "option_groups", "initial_option", "confirm", "focus_on_load", "placeholder"},
    "multi_static_select": {
        *("options", "option_groups", "initial_options", "confirm", "max_selected_items", "focus_on_load"),
        "placeholder",
    },
    "plain_text_input": {
        *("initial_value", "multiline", "min_length", "max_length", "dispatch_action_config", "focus_on_load"),
        "placeholder",
    },
    "number_input": {
        *("is_decimal_allowed", "initial_value", "min_value", "max_value", "dispatch_action_config", "focus_on_load"),
        "placeholder",
    },
    "email_text_input": {"initial_value", "dispatch_action_config", "focus_on_load", "placeholder"},
    "url_text_input": {"initial_value", "dispatch_action_config", "focus_on_load", "placeholder"},
}


class Unacceptable(Exception):
    """Something in the blocks is not as Slack wants it; `str` says where."""


def mentions(text: str) -> list[str]:
    """Whoever Slack would tell, were this text shown: `@U123`, `!channel`."""
    return [found[1] for found in _MENTION.finditer(text)]


def mentions_in(blocks: Any) -> list[str]:
    """The same of all texts in blocks that can mention somebody."""
    found = []
    for text in texts(blocks):
        if text.get("type") == "mrkdwn":
            found += mentions(text["text"])
    return found


def texts(value: Any) -> Iterator[dict[str, Any]]:
    """Every text object."""
    if isinstance(value, dict):
        if value.get("type") in ("plain_text", "mrkdwn") and isinstance(value.get("text"), str):
            yield value
        for child in value.values():
            yield from texts(child)
    elif isinstance(value, list):
        for child in value:
            yield from texts(child)


def elements(blocks: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(block_id, element) of everything that somebody can use."""
    for block in blocks:
        for element in (*block.get("elements", []), block.get("accessory"), block.get("element")):
            if isinstance(element, dict) and "action_id" in element:
                yield block["block_id"], element


def check(blocks: Any, *, modal: bool = False) -> None:
    """Raises `Unacceptable`."""
    most = MODAL_BLOCKS if modal else MESSAGE_BLOCKS
    if not isinstance(blocks, list):
        raise Unacceptable("must be an array")
    if len(blocks) > most:
        raise Unacceptable(f"no more than {most} items allowed")
    used: set[str] = set()
    for number, block in enumerate(blocks):
        at = f"/{number}"
        if not isinstance(block, dict) or block.get("type") not in _FIELDS:
            raise Unacceptable(f"unsupported type [json-pointer:{at}/type]")
        _only(block, _FIELDS[block["type"]] | {"type", "block_id"}, at)
        if "block_id" in block:
            _text(block["block_id"], 255, f"{at}/block_id")
            if block["block_id"] in used:
                raise Unacceptable(f"block_id already exists [json-pointer:{at}/block_id]")
            used.add(block["block_id"])
        _CHECKS[block["type"]](block, at)
        ids = [element["action_id"] for _, element in elements([{**block, "block_id": ""}])]
        if len(ids) != len(set(ids)):
            raise Unacceptable(f"action_id is there twice [json-pointer:{at}]")


def characters(blocks: Any) -> int:
    """How long all texts are together."""
    return sum(len(text["text"]) for text in texts(blocks))


def _only(value: dict[str, Any], known: set[str], at: str) -> None:
    if unknown := value.keys() - known:
        raise Unacceptable(f"invalid additional property: {sorted(unknown)[0]} [json-pointer:{at}]")


def _text(value: Any, most: int, at: str) -> None:
    if not isinstance(value, str) or not value:
        raise Unacceptable(f"must be more than 0 characters [json-pointer:{at}]")
    if len(value) > most:
        raise Unacceptable(f"must be less than {most + 1} characters [json-pointer:{at}]")


def text_object(value: Any, most: int, at: str, *, plain: bool = True) -> None:
    """Raises `Unacceptable` for what is no text object of at most so many characters."""
    if not isinstance(value, dict):
        raise Unacceptable(f"must provide an object [json-pointer:{at}]")
    if value.get("type") not in (("plain_text",) if plain else ("plain_text", "mrkdwn")):
        raise Unacceptable(f"must be of type plain_text [json-pointer:{at}/type]")
    _only(value, {"type", "text", "emoji" if value["type"] == "plain_text" else "verbatim"}, at)
    _text(value.get("text"), most, f"{at}/text")


def _section(block: dict[str, Any], at: str) -> None:
    if "text" not in block and "fields" not in block:
        raise Unacceptable(f"missing required field: text or fields [json-pointer:{at}]")
    if "text" in block:
        text_object(block["text"], 3000, f"{at}/text", plain=False)
    if "fields" in block:
        _count(block["fields"], 1, 10, f"{at}/fields")
        for number, field in enumerate(block["fields"]):
            text_object(field, 2000, f"{at}/fields/{number}", plain=False)
    if "accessory" in block:
        _element(block["accessory"], _IN_SECTION, f"{at}/accessory")


def _header(block: dict[str, Any], at: str) -> None:
    text_object(block.get("text"), 150, f"{at}/text")


def _context(block: dict[str, Any], at: str) -> None:
    _count(block.get("elements"), 1, 10, f"{at}/elements")
    for number, element in enumerate(block["elements"]):
        where = f"{at}/elements/{number}"
        if isinstance(element, dict) and element.get("type") == "image":
            _image(element, where)
        else:
            text_object(element, 3000, where, plain=False)


def _actions(block: dict[str, Any], at: str) -> None:
    _count(block.get("elements"), 1, 25, f"{at}/elements")
    for number, element in enumerate(block["elements"]):
        _element(element, _IN_ACTIONS, f"{at}/elements/{number}")


def _input(block: dict[str, Any], at: str) -> None:
    text_object(block.get("label"), 2000, f"{at}/label")
    if "hint" in block:
        text_object(block["hint"], 2000, f"{at}/hint")
    _element(block.get("element"), _IN_INPUT, f"{at}/element")


def _image(block: dict[str, Any], at: str) -> None:
    _text(block.get("image_url"), 3000, f"{at}/image_url")
    _text(block.get("alt_text"), 2000, f"{at}/alt_text")


def _divider(block: dict[str, Any], at: str) -> None:
    """There is nothing in it."""


_CHECKS = {
    "section": _section,
    "header": _header,
    "context": _context,
    "actions": _actions,
    "input": _input,
    "image": _image,
    "divider": _divider,
}


def _count(value: Any, least: int, most: int, at: str) -> None:
    if not isinstance(value, list) or len(value) < least:
        raise Unacceptable(f"must have at least {least} items [json-pointer:{at}]")
    if len(value) > most:
        raise Unacceptable(f"no more than {most} items allowed [json-pointer:{at}]")


def _element(element: Any, allowed: tuple[str, ...], at: str) -> None:
    kind = element.get("type") if isinstance(element, dict) else None
    if kind not in allowed:
        raise Unacceptable(f"unsupported type: {kind} [json-pointer:{at}/type]")
    if kind == "image":
        _image(element, at)
        return
    known = _OF_ELEMENT.get(kind)
    if known is not None:
        _only(element, known | {"type", "action_id"}, at)
    if "action_id" in element:
        _text(element["action_id"], 255, f"{at}/action_id")
    else:
        raise Unacceptable(f"the fake wants every action_id to be given [json-pointer:{at}/action_id]")
    if "placeholder" in element:
        text_object(element["placeholder"], 150, f"{at}/placeholder")
    if kind == "button":
        _button(element, at)
    if "options" in element or kind in (*_SELECTS, "radio_buttons", "checkboxes", "overflow"):
        _options(element, kind, at)
    if kind == "plain_text_input":
        for name, least in (("min_length", 0), ("max_length", 1)):
            if name in element and not (type(element[name]) is int and least <= element[name] <= 3000):
                raise Unacceptable(f"must be a whole number up to 3000 [json-pointer:{at}/{name}]")
    if kind == "number_input":
        if not isinstance(element.get("is_decimal_allowed"), bool):
            raise Unacceptable(f"missing required field: is_decimal_allowed [json-pointer:{at}]")
        for name in ("initial_value", "min_value", "max_value"):
            if name in element and not isinstance(element[name], str):
                raise Unacceptable(f"must be a string [json-pointer:{at}/{name}]")
    if "initial_date" in element and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", str(element["initial_date"])):
        raise Unacceptable(f"must be YYYY-MM-DD [json-pointer:{at}/initial_date]")
    if "initial_date_time" in element and not (
        type(element["initial_date_time"]) is int and len(str(element["initial_date_time"])) == 10
    ):
        raise Unacceptable(f"must be 10 digits [json-pointer:{at}/initial_date_time]")


def _button(element: dict[str, Any], at: str) -> None:
    text_object(element.get("text"), 75, f"{at}/text")
    if "value" in element:
        _text(element["value"], 2000, f"{at}/value")
    if "url" in element:
        _text(element["url"], 3000, f"{at}/url")
    if "style" in element and element["style"] not in ("primary", "danger"):
        raise Unacceptable(f"must be primary or danger [json-pointer:{at}/style]")
    if "confirm" in element:
        confirm = element["confirm"]
        text_object(confirm.get("title"), 100, f"{at}/confirm/title")
        text_object(confirm.get("text"), 300, f"{at}/confirm/text")
        text_object(confirm.get("confirm"), 30, f"{at}/confirm/confirm")
        text_object(confirm.get("deny"), 30, f"{at}/confirm/deny")


def _options(element: dict[str, Any], kind: str, at: str) -> None:
    if "option_groups" in element:
        groups = element["option_groups"]
        _count(groups, 1, 100, f"{at}/option_groups")
        options = [option for group in groups for option in group["options"]]
        for group in groups:
            text_object(group.get("label"), 75, f"{at}/option_groups/label")
    else:
        most = 10 if kind in ("radio_buttons", "checkboxes") else 5 if kind == "overflow" else 100
        options = element.get("options")
        _count(options, 1, most, f"{at}/options")
    assert isinstance(options, list)
    rich = kind in ("radio_buttons", "checkboxes")
    for number, option in enumerate(options):
        where = f"{at}/options/{number}"
        if not isinstance(option, dict):
            raise Unacceptable(f"must provide an object [json-pointer:{where}]")
        _only(option, {"text", "value", "description", "url"}, where)
        text_object(option.get("text"), 75, f"{where}/text", plain=not rich)
        _text(option.get("value"), 150, f"{where}/value")
        if "description" in option:
            text_object(option["description"], 75, f"{where}/description", plain=not rich)
    initial = element.get("initial_options", [element["initial_option"]] if "initial_option" in element else [])
    if any(option not in options for option in initial):
        raise Unacceptable(f"must be one of the options [json-pointer:{at}/initial_option]")
