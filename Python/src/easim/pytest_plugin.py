"""Fixtures for pytest: ``easim``, ``easim_virtual`` and ``easim_host``."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, Optional

import pytest

from . import hosts
from ._plain import Accessory, Capture, Simulator, World
from .errors import EasimError, Timeout

_WORLDS = pytest.StashKey["list[World]"]()
_PACKETS = pytest.StashKey["list[Capture]"]()
_MOST_PACKETS = 200
_MARK = (
    "easim(profile=..., quirks=[...], faults=[...], behavior=..., plugged=True, seed=..., messages=True,"
    " packets=True): how this test's world starts; the accessory is easim.accessory"
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


class _Server:
    """The server of this process. A dead server is replaced, so that no further test fails."""

    def __init__(self, program: Optional[str]) -> None:
        self._program = program
        self._simulator: Optional[Simulator] = None

    def get(self) -> Simulator:
        if self._simulator is not None and not self._simulator.is_running:
            self.close()
        if self._simulator is None:
            self._simulator = Simulator(self._program)
        return self._simulator

    def close(self) -> None:
        simulator, self._simulator = self._simulator, None
        if simulator is not None:
            simulator.close()


@pytest.fixture(scope="session")
def _easim_server(request: pytest.FixtureRequest) -> Iterator[_Server]:
    server = _Server(request.config.getoption("--easim-program"))
    yield server
    server.close()


@pytest.fixture
def easim_simulator(_easim_server: _Server) -> Simulator:
    """Return the server of this process, or of this worker of xdist."""
    return _easim_server.get()


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


def _world(request: pytest.FixtureRequest, simulator: Simulator, time: str) -> Iterator[TestWorld]:
    wanted: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("easim"))):
        if mark.args:
            raise pytest.UsageError(f"@pytest.mark.easim takes names only: {_MARK}")
        wanted.update(mark.kwargs)
    unknown = set(wanted) - {"profile", "quirks", "faults", "behavior", "plugged", "seed", "messages", "packets"}
    if unknown:
        raise pytest.UsageError(f"@pytest.mark.easim has no '{sorted(unknown)[0]}': {_MARK}")
    messages = bool(wanted.get("messages") or request.config.getoption("--easim-messages"))
    made = simulator.world(time=time, seed=wanted.get("seed"), messages=messages)
    world = TestWorld(simulator, made.aio)
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
def easim(request: pytest.FixtureRequest, easim_simulator: Simulator) -> Iterator[TestWorld]:
    """Make a fresh world in real time."""
    yield from _world(request, easim_simulator, "real")


@pytest.fixture
def easim_virtual(request: pytest.FixtureRequest, easim_simulator: Simulator) -> Iterator[TestWorld]:
    """Make a fresh world in virtual time: ``easim_virtual.advance(seconds=10)`` takes no time."""
    yield from _world(request, easim_simulator, "virtual")


@pytest.fixture
def easim_host(request: pytest.FixtureRequest, easim_simulator: Simulator) -> Iterator[hosts.HostConnection]:
    """Connect to the accessory at ``--easim-at``; without one, the test is skipped."""
    address = request.config.getoption("--easim-at")
    if not address:
        pytest.skip("needs an accessory: pytest --easim-at usb:")
    with hosts.open(address, simulator=easim_simulator) as host:
        request.node.stash.setdefault(_WORLDS, []).append(host.world)
        if request.config.getoption("--easim-packets"):
            request.node.stash.setdefault(_PACKETS, []).append(host.world.capture(form="transcript"))
        try:
            host.wait(timeout=request.config.getoption("--easim-timeout"))
        except Timeout as error:
            pytest.skip(str(error))
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
