"""Fixtures for pytest: ``easim_world``, ``easim_virtual`` and ``easim_host``."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, Optional

import pytest

from . import hosts
from ._plain import Accessory, Capture, Server, World
from .errors import EasimError, Timeout

_WORLDS = pytest.StashKey["list[World]"]()
_PACKETS = pytest.StashKey["list[Capture]"]()
_MOST_PACKETS = 200
_MARK = (
    "easim(profile=..., quirks=[...], faults=[...], behavior=..., plugged=True, seed=..., messages=True,"
    " packets=True): how this test's world starts; the accessory is easim_world.accessory"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("easim")
    group.addoption("--easim-program", metavar="PATH", help="the program easim (default: EASIM, or on the PATH)")
    group.addoption(
        "--easim-at",
        metavar="ADDR",
        help="where the fixture easim_host finds a real accessory: usb:, bt:, serial:PATH, unix:PATH, ...",
    )
    group.addoption(
        "--easim-timeout",
        metavar="SECONDS",
        type=float,
        default=10.0,
        help="how long easim_host waits for the accessory (default 10)",
    )
    group.addoption(
        "--easim-messages",
        action="store_true",
        help="show iAP2 control messages in a failed test's timeline",
    )
    group.addoption(
        "--easim-packets",
        action="store_true",
        help="show the last 200 packets of a failed test (also with the mark easim(packets=True))",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line("markers", _MARK)


class _Servers:
    """The server of this process. A dead server is replaced, so that no further test fails."""

    def __init__(self, program: Optional[str]) -> None:
        self._program = program
        self._server: Optional[Server] = None

    def get(self) -> Server:
        if self._server is not None and not self._server.is_running:
            self.close()
        if self._server is None:
            self._server = Server(self._program)
        return self._server

    def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()


@pytest.fixture(scope="session")
def _easim_servers(request: pytest.FixtureRequest) -> Iterator[_Servers]:
    servers = _Servers(request.config.getoption("--easim-program"))
    yield servers
    servers.close()


@pytest.fixture
def easim_server(_easim_servers: _Servers) -> Server:
    """Return the server of this process, or of this worker of xdist."""
    return _easim_servers.get()


class TestWorld(World):
    """A test's world, with the accessory from its mark."""

    __test__ = False
    _accessory: Any = None

    @property
    def accessory(self) -> Accessory:
        """The accessory from the mark ``easim``."""
        if self._accessory is None:
            raise EasimError(
                "this test has no accessory",
                kind="state",
                advice='mark it: @pytest.mark.easim(profile="lawk-view")',
            )
        made: Accessory = self._accessory
        return made


def _world(request: pytest.FixtureRequest, server: Server, time: str) -> Iterator[TestWorld]:
    wanted: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("easim"))):
        if mark.args:
            raise pytest.UsageError(f"@pytest.mark.easim takes names only: {_MARK}")
        wanted.update(mark.kwargs)
    unknown = set(wanted) - {"profile", "quirks", "faults", "behavior", "plugged", "seed", "messages", "packets"}
    if unknown:
        raise pytest.UsageError(f"@pytest.mark.easim has no '{sorted(unknown)[0]}': {_MARK}")
    messages = bool(wanted.get("messages") or request.config.getoption("--easim-messages"))
    made = server.world(time=time, seed=wanted.get("seed"), messages=messages)
    world = TestWorld(server, made.aio)
    request.node.stash.setdefault(_WORLDS, []).append(world)
    with world:
        if wanted.get("packets") or request.config.getoption("--easim-packets"):
            request.node.stash.setdefault(_PACKETS, []).append(world.capture(form="transcript"))
        if "profile" in wanted:
            choices = {key: wanted[key] for key in ("quirks", "faults", "behavior") if key in wanted}
            world._accessory = world.add(wanted["profile"], **choices)
            if wanted.get("plugged", False):
                world._accessory.plug()
        yield world


@pytest.fixture
def easim_world(request: pytest.FixtureRequest, easim_server: Server) -> Iterator[TestWorld]:
    """Make a fresh world in real time."""
    yield from _world(request, easim_server, "real")


@pytest.fixture
def easim_virtual(request: pytest.FixtureRequest, easim_server: Server) -> Iterator[TestWorld]:
    """Make a fresh world in virtual time: ``easim_virtual.advance(seconds=10)`` takes no time."""
    yield from _world(request, easim_server, "virtual")


@pytest.fixture
def easim_host(request: pytest.FixtureRequest, easim_server: Server) -> Iterator[hosts.HostConnection]:
    """Connect to the accessory at ``--easim-at``; without one, the test is skipped."""
    address = request.config.getoption("--easim-at")
    if not address:
        pytest.skip("needs an accessory: pytest --easim-at usb:")
    with hosts.open(address, server=easim_server) as host:
        request.node.stash.setdefault(_WORLDS, []).append(host.world)
        if request.config.getoption("--easim-packets"):
            request.node.stash.setdefault(_PACKETS, []).append(host.world.capture(form="transcript"))
        try:
            host.wait(timeout=request.config.getoption("--easim-timeout"))
        except Timeout as error:
            # The address was given, so an accessory should be there.
            pytest.fail(str(error), pytrace=False)
        yield host


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Add the worlds' timelines to a failed test's report."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    if not report.failed or report.when == "teardown" or _WORLDS not in item.stash:
        return
    worlds: list[World] = item.stash[_WORLDS]
    for number, world in enumerate(worlds, 1):
        try:
            text = world.timeline() or "nothing happened"
        except EasimError as error:
            text = f"not available: {error}"
        title = "easim timeline" if number == 1 else f"easim timeline {number}"
        report.sections.append((title, text))
    captures: list[Capture] = item.stash.setdefault(_PACKETS, [])
    for number, packets in enumerate(captures, 1):
        title = "easim packets" if number == 1 else f"easim packets {number}"
        report.sections.append((title, _last_lines(packets)))


def _last_lines(packets: Capture) -> str:
    try:
        lines = packets.read().decode("utf-8", "replace").splitlines()
    except EasimError as error:
        return f"not available: {error}"
    before = [f"... {len(lines) - _MOST_PACKETS} lines before"] if len(lines) > _MOST_PACKETS else []
    return "\n".join(before + lines[-_MOST_PACKETS:]) or "no packets"
