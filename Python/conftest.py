"""Fixtures for the tests: pytest's fixture for plugins, and objects that docstring examples use but do not create."""

from __future__ import annotations

import collections
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

try:
    import easim
    from easim._link import Link
except ModuleNotFoundError:
    pytest.exit("the package easim is not installed here: run Scripts/python test, or pip install ./Python", 4)

pytest_plugins = ["pytester"]
# The optional labgrid module is skipped if its dependencies are not installed.
collect_ignore_glob = [] if importlib.util.find_spec("labgrid") else ["src/easim/labgrid/*"]


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Run pytest without labgrid's plugin, which can be started only once in a process."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:labgrid")
    return pytester


@pytest.fixture
def accessory_address(tmp_path: Path) -> Iterator[str]:
    """Plug in an accessory at a socket."""
    address = f"unix:{tmp_path}/lamp.sock"
    with easim.Server() as server, server.world() as world:
        world.add("echo", on=address).plug()
        yield address


@pytest.fixture(scope="session", autouse=True)
def every_answer_follows_its_description() -> Iterator[None]:
    """Check the answers in all tests, up to a hundred for each method, against what ``rpc.discover`` describes."""
    try:
        import jsonschema
    except ImportError:
        yield
        return
    with easim.Server() as server:
        document = server.call("rpc.discover")
    validators = {
        method["name"]: jsonschema.Draft202012Validator(
            {**method["result"]["schema"], "components": document["components"]}
        )
        for method in document["methods"]
    }
    checked: collections.Counter[str] = collections.Counter()
    original = Link.call

    async def call(self: Link, method: str, **params: Any) -> dict[str, Any]:
        answer = await original(self, method, **params)
        checked[method] += 1
        # Some tests imitate a different version of the program, which answers differently.
        is_described = answer.get("protocol", 1) == 1
        if is_described and method in validators and checked[method] <= 100:
            validators[method].validate(answer)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Link, "call", call)
        yield
