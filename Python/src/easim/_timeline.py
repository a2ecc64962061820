"""Notices as readable text."""

from __future__ import annotations

from typing import Any


def text(notices: list[dict[str, Any]], last: int = 200) -> str:
    """Format the last notices, one line each, oldest first."""
    lines = [line(notice) for notice in notices[-last:]]
    if len(notices) > last:
        lines.insert(0, f"… {len(notices) - last} earlier lines")
    return "\n".join(lines)


def line(notice: dict[str, Any]) -> str:
    """Write one notice.

    >>> line({"method": "app", "params": {"world": "w1", "number": 7, "t": 0.25, "app": "p1", "event": "connect",
    ...       "accessory": {"name": "Lamp", "protocols": []}}})
    '   0.250  p1         connect Lamp []'
    >>> line({"method": "event", "params": {"world": "w1", "number": 8, "event":
    ...       {"v": 1, "t": 0.5, "event": "detach", "side": "accessory", "reason": "unplugged"}}})
    '   0.500  accessory  detach reason=unplugged'
    >>> line({"method": "change", "params": {"world": "w1", "number": 9, "t": 0.5, "request": "fault.add",
    ...       "params": {"accessory": "a1", "fault": "loss"}, "result": {"faults": ["f1"]}}})
    "   0.500  request    fault.add accessory=a1 fault=loss faults=['f1']"
    """
    params = notice["params"]
    if notice["method"] == "change":
        told = {**params.get("params", {}), **params.get("result", {})}
        shown = " ".join([params["request"], *(f"{key}={value}" for key, value in told.items() if key != "world")])
        return f"{float(params['t']):8.3f}  {'request':9}  {shown}"
    inner = params["event"] if notice["method"] == "event" else params
    who = inner.get("side") or inner.get("app") or inner.get("accessory") or inner.get("session") or ""
    words = [str(inner.get("event", ""))]
    accessory = inner.get("accessory")
    if isinstance(accessory, dict):
        words += [str(accessory.get("name", "")), f"[{', '.join(accessory.get('protocols', []))}]"]
    hidden = {"v", "t", "event", "side", "accessory", "world", "number", "app"}
    words += [f"{key}={value}" for key, value in inner.items() if key not in hidden]
    shown = " ".join(words)
    return f"{float(inner.get('t', 0)):8.3f}  {who if isinstance(who, str) else '':9}  {shown}"
