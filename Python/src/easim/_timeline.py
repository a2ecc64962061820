"""Notices as readable text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def text(
    notices: list[dict[str, Any]],
    last: int = 200,
    dropped: int = 0,
    began: float = 0.0,
    passed: Iterable[tuple[float, str, str, int, bytes]] = (),
) -> str:
    """Format the last notices, one line each, oldest first. ``dropped`` earlier ones are no longer kept.

    Time 0 is ``began``. Notices about readable bytes are omitted; ``passed`` contains the bytes that apps sent
    and received. The fixtures' own request to record packets is omitted, too.
    """
    shown = [
        (round(_time(notice) - began, 3), line(notice, began))
        for notice in notices
        if notice["params"].get("event") != "readable" and notice["params"].get("request") != "packet.record"
    ]
    shown += [(round(at, 3), _passed(at, *each)) for at, *each in passed]  # type: ignore[arg-type]
    shown.sort(key=lambda entry: entry[0])
    lines = [text for _, text in shown[-last:]]
    if len(shown) + dropped > last:
        kept = f", of which {dropped} are no longer kept" if dropped else ""
        lines.insert(0, f"… {len(shown) + dropped - len(lines)} earlier lines{kept}")
    return "\n".join(lines)


def _time(notice: dict[str, Any]) -> float:
    params = notice["params"]
    return float((params["event"] if notice["method"] == "event" else params).get("t", 0))


def _passed(at: float, session: str, arrow: str, count: int, first: bytes) -> str:
    rest = f" and {count - len(first)} more bytes" if count > len(first) else ""
    return f"{at:8.3f}  {session:9}  {arrow} {first!r}{rest}"


def line(notice: dict[str, Any], began: float = 0.0) -> str:
    """Format one notice, in the same words as the command line if possible.

    >>> line({"method": "app", "params": {"world": "w1", "number": 7, "t": 0.25, "app": "p1", "event": "connect",
    ...       "accessory": {"name": "Lamp", "protocols": []}}})
    '   0.250  p1         ● connect     Lamp  [no protocols]'
    >>> line({"method": "event", "params": {"world": "w1", "number": 8, "event":
    ...       {"v": 1, "t": 0.5, "event": "detach", "side": "accessory", "reason": "unplugged"}}})
    '   0.500  accessory  - unplugged'
    >>> line({"method": "change", "params": {"world": "w1", "number": 9, "t": 0.5, "request": "fault.add",
    ...       "params": {"accessory": "a1", "fault": "loss"}, "result": {"faults": ["f1"]}}})
    '   0.500  request    fault.add accessory=a1 fault=loss faults=f1'
    """
    params = notice["params"]
    t = f"{_time(notice) - began:8.3f}"
    if notice["method"] == "change":
        told = {**params.get("params", {}), **params.get("result", {})}
        settings = (f"{key}={_setting(value)}" for key, value in told.items() if key != "world" and value != [])
        shown = " ".join([params["request"], *settings])
        return f"{t}  {'request':9}  {shown}"
    inner = params["event"] if notice["method"] == "event" else params
    who = inner.get("side") or inner.get("app") or inner.get("accessory") or inner.get("session") or ""
    mark, shown = _words(inner)
    return f"{t}  {who if isinstance(who, str) else '':9}  {mark} {shown}"


_PLAIN = {
    "attach": ("+", "plugged in at {on}, offering {offer}"),
    "session.open": (" ", "session {session} open on {protocol}"),
    "session.close": (" ", "session {session} ended: {reason} ({bytesRead} bytes read, {bytesWritten} written)"),
    "identification": (" ", "identification: {text}"),
    "authentication": (" ", "authentication: {text}"),
    "alert": ("!", "alert: {text}"),
    "fault": ("!", "fault: {text}"),
    "warning": ("!", "{text}"),
    "refused": ("✗", "refused: {text}"),
    "note": (" ", "{text}"),
}


def _words(event: dict[str, Any]) -> tuple[str, str]:
    name = str(event.get("event", ""))
    subject = event.get("accessory")
    lamp: dict[str, Any] = subject if isinstance(subject, dict) else {}
    offer = ", ".join(lamp.get("protocols", [])) or "no protocols"
    if name in ("connect", "disconnect") and lamp:
        number = f"  connectionID {lamp['connectionID']}" if "connectionID" in lamp else ""
        return "●" if name == "connect" else "○", f"{name:12}{lamp.get('name', '')}  [{offer}]{number}"
    if name == "attach" and event.get("side") != "accessory":
        return "+", f"cable at {event.get('on')}"
    if name == "detach":
        reason = event.get("reason", "")
        return "-", reason if reason == "unplugged" else f"unplugged: {reason}"
    if name == "link":
        state = "link up" if event.get("up") else "link down"
        return " ", state if event.get("text") == "up" else f"{state}: {event.get('text')}"
    if name == "message":
        arrow = "→" if event.get("direction") == "sent" else "←"
        return arrow, _shortened(" ".join([str(event.get("id")), str(event.get("name", "")), *_parameters(event)]))
    if name == "result":
        return "✓" if event.get("passed") else "✗", str(event.get("text", ""))
    if name in _PLAIN:
        mark, words = _PLAIN[name]
        try:
            return mark, words.format(offer=offer, **event)
        except KeyError:
            pass  # The notice about the end of a session has other keys.
    hidden = {"v", "t", "event", "side", "accessory", "world", "number", "app"}
    return " ", " ".join([name, *(f"{key}={value}" for key, value in event.items() if key not in hidden)])


def _setting(value: Any) -> str:
    return ",".join(str(each) for each in value) if isinstance(value, list) else str(value)


def _parameters(message: dict[str, Any]) -> list[str]:
    return [f"{str(each.get('name') or each.get('id')).replace(' ', '-')}={_value(each)}" for each in _all(message)]


def _all(message: dict[str, Any]) -> list[dict[str, Any]]:
    return list(message.get("parameters", []))


def _value(parameter: dict[str, Any]) -> str:
    if "parameters" in parameter:
        return "{" + " ".join(_parameters(parameter)) + "}"
    value = parameter.get("value", parameter.get("hex", ""))
    if value is True:
        return "yes"
    if isinstance(value, list):
        return f"[{' '.join(str(each) for each in value)}]"
    return f'"{value}"' if isinstance(value, str) and "value" in parameter else str(value)


def _shortened(text: str, limit: int = 100) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
