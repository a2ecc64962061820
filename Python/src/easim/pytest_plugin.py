"""Fixtures for pytest: ``easim_world``, ``easim_virtual`` and ``easim_host``."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

from . import aio, hosts
from ._plain import Capture, Server, World
from ._program import ServerProcess
from .errors import EasimError, Timeout
from .events import Time

_TEXTS = pytest.StashKey["list[tuple[str, str]]"]()
_WORLDS = pytest.StashKey["list[World]"]()
_PACKETS = pytest.StashKey["list[Capture]"]()
_MOST_PACKETS = 200
_MARK = (
    "easim(profile=..., quirks=[...], faults=[...], behavior=..., on=..., plugged=True, time='virtual', seed=...,"
    " messages=True, packets=True, allow_exec=True): how this test's world starts; the accessory is"
    " easim_world.accessory"
)
_OF_ACCESSORY = {"quirks", "faults", "behavior", "on", "plugged"}
_OF_WORLD = {"profile", "time", "seed", "messages", "packets", "allow_exec"}


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
        help="show the last 200 packets of a failed test (or use the mark easim(packets=True))",
    )
    group.addoption(
        "--easim-traces",
        metavar="FOLDER",
        help="folder for the traces of failed tests, which are HTML pages (default: a folder for temporary files)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line("markers", _MARK)


class _Servers:
    """The server of this process. A dead server is replaced, so that no other tests fail."""

    def __init__(self, program: Optional[str]) -> None:
        self._program = program
        self._servers: dict[bool, Server] = {}

    def get(self, allow_exec: bool = False) -> Server:
        server = self._servers.get(allow_exec)
        if server is not None and not server.is_running:
            server.close()
            server = None
        if server is None:
            server = self._servers[allow_exec] = Server(self._program, allow_exec=allow_exec)
        return server

    def close(self) -> None:
        for server in self._servers.values():
            server.close()
        self._servers.clear()


@pytest.fixture(scope="session")
def _easim_servers(request: pytest.FixtureRequest) -> Iterator[_Servers]:
    servers = _Servers(request.config.getoption("--easim-program"))
    yield servers
    servers.close()


@pytest.fixture(scope="session")
def easim_server(_easim_servers: _Servers) -> Server:
    """Return the server of this process, or of this worker of xdist, for fixtures of any scope.

    The other fixtures' worlds are on the same server unless it has died; then they are on a new one.
    """
    return _easim_servers.get()


class TestWorld(World):
    """A test's world, which keeps its trace when the test fails."""

    __test__ = False
    title = ""
    trace: Optional[tuple[BaseException, str]] = None
    """The trace before a failing test cleaned up."""

    def note_failure(self, error: BaseException) -> None:
        """Keep the timeline and the trace as they are before a failing test cleans up."""
        super().note_failure(error)
        if self.trace is None or self.trace[0] is not error:
            try:
                self.trace = (error, _trace(self, self.title, error))
            except EasimError:
                pass


def _wanted(request: pytest.FixtureRequest) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("easim"))):
        if mark.args:
            pytest.fail(f"@pytest.mark.easim takes only named arguments: {_MARK}", pytrace=False)
        wanted.update(mark.kwargs)
    unknown = set(wanted) - _OF_ACCESSORY - _OF_WORLD
    if unknown:
        pytest.fail(f"@pytest.mark.easim has no '{sorted(unknown)[0]}': {_MARK}", pytrace=False)
    lonely = set(wanted) & _OF_ACCESSORY
    if lonely and "profile" not in wanted:
        pytest.fail(f"@pytest.mark.easim has '{sorted(lonely)[0]}' but no profile: {_MARK}", pytrace=False)
    wanted["messages"] = bool(wanted.get("messages") or request.config.getoption("--easim-messages"))
    return wanted


def _world(request: pytest.FixtureRequest, servers: _Servers, time: Optional[Time] = None) -> TestWorld:
    wanted = _wanted(request)
    server = servers.get(bool(wanted.get("allow_exec")))
    kind: Time = wanted.get("time", time or "real")
    if kind not in ("real", "virtual") or (time is not None and kind != time):
        pytest.fail(
            f"@pytest.mark.easim(time={kind!r}): the time of easim_virtual is virtual, that of"
            " easim_world 'real' or 'virtual'",
            pytrace=False,
        )
    made = server.world(time=kind, seed=wanted.get("seed"), messages=wanted["messages"])
    world = _kept(request, made, packets=bool(wanted.get("packets")))
    if "profile" in wanted:
        choices = {key: wanted[key] for key in ("quirks", "faults", "behavior", "on") if key in wanted}
        world.accessory = world.add(wanted["profile"], **choices)
        if wanted.get("plugged", False):
            world.accessory.plug()
    return world


def _kept(request: pytest.FixtureRequest, made: World, packets: bool = False) -> TestWorld:
    """Keep a world until the test's report has been written, even if a fixture fails."""
    world = TestWorld(made.server, made.aio)
    world.title = request.node.name
    request.node.stash.setdefault(_WORLDS, []).append(world)
    request.addfinalizer(lambda: world.__exit__(None, None, None))
    world.call("packet.record")
    if packets or request.config.getoption("--easim-packets"):
        request.node.stash.setdefault(_PACKETS, []).append(world.capture(form="transcript"))
    return world


@pytest.fixture
def easim_world(request: pytest.FixtureRequest, _easim_servers: _Servers) -> TestWorld:
    """Make a fresh world, in real time unless the mark says otherwise."""
    return _world(request, _easim_servers)


@pytest.fixture
def easim_virtual(request: pytest.FixtureRequest, _easim_servers: _Servers) -> TestWorld:
    """Make a fresh world in virtual time: ``easim_virtual.advance(seconds=10)`` takes no time."""
    return _world(request, _easim_servers, "virtual")


@pytest.fixture
def easim_aio(request: pytest.FixtureRequest, _easim_servers: _Servers) -> Any:
    """Return a function that creates an asynchronous test's world according to its mark, whatever plugin runs the test.

    ``async with easim_aio() as world: …``; the accessory of the mark is ``world.accessory``.
    """
    wanted = _wanted(request)
    program = _easim_servers.get(bool(wanted.get("allow_exec"))).aio.link.process
    assert isinstance(program, ServerProcess)

    @contextlib.asynccontextmanager
    async def make(**choices: Any) -> AsyncIterator[aio.World]:
        chosen = {key: wanted[key] for key in ("time", "seed", "messages") if key in wanted}
        server = aio.Server(remote=f"unix:{program.control}")
        async with server, await server.world(**{**chosen, **choices}) as world:
            await world.call("packet.record")
            if "profile" in wanted:
                given = {key: wanted[key] for key in ("quirks", "faults", "behavior", "on") if key in wanted}
                world.accessory = await world.add(wanted["profile"], **given)
                if wanted.get("plugged", False):
                    await world.accessory.plug()
            try:
                yield world
            except BaseException as error:
                texts = request.node.stash.setdefault(_TEXTS, [])
                texts.append(("easim timeline", await world.timeline_of(error)))
                page = (await world.call("trace.get", **_verdict(request.node.name, error)))["html"]
                texts.append(("easim trace", _write(request.node, page)))
                raise

    return make


@pytest.fixture
def easim_host(request: pytest.FixtureRequest, _easim_servers: _Servers) -> hosts.HostConnection:
    """Connect to the accessory at ``--easim-at``. Without this option, skip the test."""
    address = request.config.getoption("--easim-at")
    if not address:
        pytest.skip("needs an accessory: pytest --easim-at usb:")
    host = hosts.HostConnection(address, _kept(request, _easim_servers.get().world()), None)
    try:
        host.wait(timeout=request.config.getoption("--easim-timeout"))
    except Timeout as error:
        # The address was given explicitly, so an accessory should be there.
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    return host


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Add the worlds' timelines to a failed test's report."""
    outcome = yield
    report: pytest.TestReport = outcome.get_result()
    if not report.failed or report.when == "teardown":
        return
    texts: list[tuple[str, str]] = item.stash.get(_TEXTS, [])
    for title, text in texts:
        _attach(item, report, title, text)
    worlds: list[World] = item.stash.get(_WORLDS, [])
    for number, world in enumerate(worlds, 1):
        try:
            text = world.timeline_of(call.excinfo.value if call.excinfo else None)
        except EasimError as error:
            text = f"not available: {error}"
        _attach(item, report, "easim timeline" if number == 1 else f"easim timeline {number}", text)
    for number, world in enumerate(worlds, 1):
        title = "easim trace" if number == 1 else f"easim trace {number}"
        _attach(item, report, title, _write_trace(item, call, world, number))
    captures: list[Capture] = item.stash.setdefault(_PACKETS, [])
    for number, packets in enumerate(captures, 1):
        title = "easim packets" if number == 1 else f"easim packets {number}"
        _attach(item, report, title, _last_lines(packets))


def _attach(item: pytest.Item, report: pytest.TestReport, title: str, text: str) -> None:
    """Add text to the failure, and to the JUnit report as a property of the test."""
    report.sections.append((title, text))
    item.user_properties.append((title, text))


def _write_trace(item: pytest.Item, call: pytest.CallInfo[None], world: World, number: int) -> str:
    """Write the events of a world as one HTML page, and return its path."""
    error = call.excinfo.value if call.excinfo else None
    kept = world.trace if isinstance(world, TestWorld) else None
    try:
        page = kept[1] if kept is not None and kept[0] is error else _trace(world, item.name, error)
    except EasimError as error:
        return f"not available: {error}"
    return _write(item, page, number)


def _write(item: pytest.Item, page: str, number: int = 1) -> str:
    folder = Path(item.config.getoption("--easim-traces") or Path(tempfile.gettempdir()) / "easim-traces")
    name = re.sub(r"[^A-Za-z0-9.]+", "-", item.nodeid).strip("-")[-120:]
    path = folder / f"{name}{'' if number == 1 else f'-{number}'}.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        return f"not available: {error}"
    return str(path.absolute())


def _trace(world: World, title: str, error: Optional[BaseException]) -> str:
    return str(world.call("trace.get", **_verdict(title, error))["html"])


def _verdict(title: str, error: Optional[BaseException]) -> dict[str, str]:
    reason = str(error).splitlines()[0] if error is not None and str(error) else "the test failed"
    return {"verdict": "failed", "text": f"{title}: {reason}"}


def _last_lines(packets: Capture) -> str:
    try:
        lines = packets.read().decode("utf-8", "replace").splitlines()
    except EasimError as error:
        return f"not available: {error}"
    before = [f"... {len(lines) - _MOST_PACKETS} earlier lines"] if len(lines) > _MOST_PACKETS else []
    return "\n".join(before + lines[-_MOST_PACKETS:]) or "no packets"
