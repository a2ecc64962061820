"""For the tests: pytest's own fixture for plugins, and what the examples of docstrings do not make themselves."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

import easim

pytest_plugins = ["pytester"]
# The optional part is skipped if its dependencies are not installed.
collect_ignore_glob = [] if importlib.util.find_spec("labgrid") else ["src/easim/labgrid/*"]


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Run pytest without the plugin of labgrid, which can be started once in a process."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:labgrid")
    return pytester


@pytest.fixture
def accessory_address(tmp_path: Path) -> Iterator[str]:
    """Plug an accessory in at a socket."""
    address = f"unix:{tmp_path}/lamp.sock"
    with easim.Server() as server, server.world() as world:
        world.add("echo", on=address).plug()
        yield address
