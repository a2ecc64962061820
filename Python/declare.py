"""Write the parts of the package that the control protocol defines, from ``rpc.discover``: ``python declare.py``.

A test compares them with the committed files.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent / "src" / "easim"
STATES = (
    "AccessoryCounters",
    "AccessoryState",
    "AppState",
    "CaptureState",
    "ConnectedAccessory",
    "FaultState",
    "HostState",
    "ProxyState",
    "SessionState",
)
HEAD = '"""{summary}\n\nWritten by declare.py from rpc.discover.\n"""\n\nfrom __future__ import annotations\n\n'


def snake(name: str) -> str:
    """Convert a name in the protocol to a Python name: ``connectionID`` becomes ``connection_id``."""
    return re.sub(r"(?<=[a-z])([A-Z]+)", lambda match: "_" + match.group(1).lower(), name)


def type_of(schema: dict[str, Any]) -> str:
    """Return the Python type of a value."""
    if "enum" in schema:
        return f"Literal[{', '.join(_quoted(word) for word in schema['enum'])}]"
    name = schema.get("$ref", "").rpartition("/")[2]
    if name in ("Duration", "Chance"):
        return name
    if name:
        return "Union[str, dict[str, Any]]"
    if schema["type"] == "array":
        return f"list[{type_of(schema['items'])}]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict[str, Any]"}[
        schema["type"]
    ]


def _quoted(word: str) -> str:
    return f'"{word}"'


def _sentence(text: str) -> str:
    text = text[0].upper() + text[1:]
    return text if text.endswith(".") else text + "."


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(text, 116, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def states(schemas: dict[str, Any]) -> str:
    """Declare the states of objects, as data classes."""
    classes = "\n\n\n".join("\n".join(_state(name, schemas[name])) for name in STATES)
    head = HEAD.format(summary="The states of objects.")
    return f"{head}from dataclasses import dataclass\nfrom typing import Any, Literal, Optional, Union\n\n\n{classes}\n"


def _state(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield "@dataclass(frozen=True)"
    yield f"class {name}:"
    yield f'    """{_sentence(schema["description"])}"""\n'
    required = set(schema["required"])
    for key, value in sorted(schema["properties"].items(), key=lambda pair: pair[0] not in required):
        kind = type_of(value)
        yield f"    {snake(key)}: {kind if key in required else f'Optional[{kind}] = None'}"
        yield _wrapped(f'"""{_sentence(value["description"])}"""', "    ")


def choices(schemas: dict[str, Any], kind: str, summary: str) -> str:
    """Declare a function for each kind of quirk or fault."""
    prefix = kind.capitalize()
    names = [form["$ref"].rpartition("/")[2] for form in schemas[prefix]["anyOf"] if "$ref" in form]
    functions = "\n\n\n".join("\n".join(_function(kind, schemas[name])) for name in names)
    types = [word for word in ("Chance", "Duration") if re.search(rf"\b{word}\b", functions)]
    head = HEAD.format(summary=summary)
    names_ = ", ".join([*types, "described", "duration"])
    imports = f"from typing import Literal, Optional\n\nfrom ._wire import {names_}\n\n\n"
    return f"{head}{imports}{functions}\n"


def _function(kind: str, schema: dict[str, Any]) -> Iterator[str]:
    properties = dict(schema["properties"])
    name = properties.pop("name")["const"]
    required = set(schema["required"])
    parameters = [
        (key, key + "_" if key == "for" else key, type_of(value), key in required) for key, value in properties.items()
    ]
    parameters.sort(key=lambda parameter: not parameter[3])
    function = name.replace("-", "_")
    if parameters:
        yield f"def {function}("
        yield "    *,"
        for _, parameter, type_, is_required in parameters:
            yield f"    {parameter}: {type_}," if is_required else f"    {parameter}: Optional[{type_}] = None,"
        yield ") -> str:"
    else:
        yield f"def {function}() -> str:"
    about = f'"""Return the {kind} that {schema["description"]}.'
    if not parameters:
        yield _wrapped(f'{about}"""', "    ")
    else:
        yield _wrapped(about, "    ") + "\n"
        for key, parameter, _, _ in parameters:
            value = properties[key]
            standard = f" (default: {value['default']})" if value.get("default") not in (None, "") else ""
            yield _wrapped(f"- ``{parameter}``: {value['description']}{standard}", "    ")
        yield '    """'
    given = "".join(
        f", {parameter}={f'duration({parameter})' if type_ == 'Duration' else parameter}"
        for _, parameter, type_, _ in parameters
    )
    yield from _call(name, given)


def _call(name: str, given: str) -> Iterator[str]:
    line = f'    return described("{name}"{given})'
    if len(line) <= 120:
        yield line
        return
    inner = f'        "{name}"{given}'
    if len(inner) <= 120:
        yield "    return described("
        yield inner
        yield "    )"
        return
    yield "    return described("
    for part in [f'"{name}"', *given.lstrip(", ").split(", ")]:
        yield f"        {part},"
    yield "    )"


def files() -> dict[Path, str]:
    """Return the text of every generated file."""
    request = '{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}\n'
    program = [os.environ.get("EASIM", "easim"), "serve", "--stdio"]
    answer = subprocess.run(program, input=request, capture_output=True, text=True, timeout=60, check=True).stdout
    schemas = json.loads(answer)["result"]["components"]["schemas"]
    return {
        PACKAGE / "states.py": states(schemas),
        PACKAGE / "quirks.py": choices(schemas, "quirk", "Quirks, for ``world.add(quirks=[…])`` and ``add_quirk``."),
        PACKAGE / "faults.py": choices(schemas, "fault", "Faults, for ``world.add(faults=[…])`` and ``add_fault``."),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
