from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Optional

import pytest

import easim

FAILS = """
import pytest

@pytest.mark.easim(profile="echo")
def test_fails(easim_world):
    app = easim_world.app()
    easim_world.accessory.plug()
    app.wait_for("connect")
    assert app.events == []
"""


def test_a_failed_test_shows_the_timeline(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILS)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*easim timeline*", "*accessory*plugged in at*", "*device*connect*"])
    result.stdout.no_fnmatch_line("*StartIdentification*")


def test_a_failed_test_leaves_a_trace(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILS)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--easim-traces", "traces")
    result.stdout.fnmatch_lines(["*easim trace*", "*traces*test-fails.html"])
    (trace,) = (pytester.path / "traces").iterdir()
    page = trace.read_text(encoding="utf-8")
    assert "test_fails" in page and "StartIdentification" in page and "</html>" in page


def test_with_messages_the_timeline_has_them(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILS)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--easim-messages")
    result.stdout.fnmatch_lines(["*StartIdentification*"])


def test_fixtures_do_not_hide_the_module(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import easim

        def test_the_module(easim_world):
            assert easim.hosts.open and isinstance(easim_world, easim.World)
        """
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_a_server_that_dies_fails_one_test_only(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os, signal

        def test_kills(easim_world):
            os.kill(easim_world.server.pid, signal.SIGKILL)
            easim_world.run_until("alert")

        def test_lives(easim_world):
            assert easim_world.events() == []
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*ended with exit code -9*"])


def test_marks_choose_what_the_world_begins_with(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.easim(profile="echo", quirks=["flicker"])

        def test_of_the_module(easim_virtual):
            assert easim_virtual.accessory.state().quirks == ["flicker"]
            assert not easim_virtual.accessory.state().plugged

        @pytest.mark.easim(quirks=[], plugged=True)
        def test_of_the_function(easim_virtual):
            assert easim_virtual.accessory.state().quirks == []
            assert easim_virtual.accessory.state().plugged

        @pytest.mark.easim(quirk="flicker")
        def test_of_a_wrong_one(easim_virtual):
            pass
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["@pytest.mark.easim has no 'quirk'*"])
    result.stdout.no_fnmatch_line("*_wanted*")


def test_without_an_accessory_the_host_is_skipped(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_hardware(easim_host): pass")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*needs an accessory: pytest --easim-at usb:*"])
    address = f"unix:{pytester.path}/none.sock"
    result = pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "-rs", "--easim-at", address, "--easim-timeout", "0.1"
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [f"*no accessory at {address} within 0.1 s: nothing is there*", "*easim timeline*", "*host.add*", "*html"]
    )
    result.stdout.no_fnmatch_line("*is gone*")
    result.stdout.no_fnmatch_line("*During handling*")


@pytest.mark.parametrize(
    ("quirk", "seen"),
    [
        ("authentication,never", "it set up a link but did not authenticate"),
        ("identification,never", "it authenticated but did not identify itself"),
        (None, "something is there, but it did not answer the device's first bytes"),
    ],
)
def test_dead_firmware_is_no_green_suite(pytester: pytest.Pytester, quirk: Optional[str], seen: str) -> None:
    pytester.makepyfile("def test_hardware(easim_host): pass")
    path = f"{pytester.path}/lamp.sock"
    with easim.Server() as server, server.world() as world, socket.socket(socket.AF_UNIX) as silent:
        if quirk is None:
            silent.bind(path)
            silent.listen()
        else:
            world.add("echo", quirks=[quirk], on=f"unix:{path}").plug()
        result = pytester.runpytest_inprocess(
            "-p", "no:cacheprovider", "--easim-at", f"unix:{path}", "--easim-timeout", "0.5"
        )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*no accessory at unix:{path} within 0.5 s: {seen}*"])


def test_the_host_drives_an_accessory(pytester: pytest.Pytester, accessory_address: str) -> None:
    pytester.makepyfile(
        """
        def test_hardware(easim_host):
            report = easim_host.burst(b"hello" * 100, count=10)
            assert report.passed and report.bursts == 10 and report.bytes == 5000
            assert 0 < report.percentile(50) <= report.percentile(100)
            wrong = easim_host.burst(b"hello", count=10, expect=b"hallo")
            assert wrong.errors == ["burst 1: byte 1 is 65 instead of 61"]
            short = easim_host.burst(b"hello", expect=b"hallo, and much more", timeout=60)
            assert short.errors == wrong.errors
            long = easim_host.burst(b"hello", expect=b"he")
            assert long.errors == ["burst 1: more follows the expected 2 bytes: b'llo'"]
            few = easim_host.burst(b"hello", expect=b"hello!", timeout=0.2)
            assert few.errors == ["burst 1: 5 of 6 bytes arrived within 0.2 s: b'hello'"]
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--easim-at", accessory_address)
    result.assert_outcomes(passed=1)


def test_eight_workers_have_a_server_each(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("number", range(32))
        @pytest.mark.easim(profile="lawk-view", quirks=["flicker"], plugged=True)
        def test_flicker(easim_world, number):
            app = easim_world.app()
            with app.open("com.lawaken.iap2", timeout=120) as session:
                # Eight programs and eight workers may have to share one busy processor.
                session.timeout = 120
                session.send(b"hello")
                assert session.recv(5) == b"hello"
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "8", timeout=600)
    result.assert_outcomes(passed=32)


def test_a_killed_pytest_leaves_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pathlib, sys

        def test_hangs(easim_world):
            lamp = easim_world.add("echo", on=f"unix:{pathlib.Path().resolve()}/lamp.sock")
            lamp.plug()
            shown = easim_world.server.pid
            pathlib.Path("pid.new").write_text(str(shown))
            pathlib.Path("pid.new").rename("pid")
            easim_world.app().wait_for("connect", timeout=600)
        """
    )
    runs = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q"], cwd=pytester.path, stdout=subprocess.DEVNULL
    )
    place = pytester.path / "pid"
    try:
        assert _comes(place.exists)
        server = int(place.read_text())
        assert Path(f"/proc/{server}").exists()
        assert (pytester.path / "lamp.sock").exists()
    finally:
        os.kill(runs.pid, signal.SIGKILL)
        runs.wait()
    assert _comes(lambda: not _runs(server))
    assert not list(pytester.path.glob("*.sock*"))


def _runs(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def _comes(condition, limit: float = 60) -> bool:  # type: ignore[no-untyped-def]
    end = time.monotonic() + limit
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def test_a_failed_test_shows_its_packets_on_request(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILS)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--easim-packets")
    result.stdout.fnmatch_lines(["*easim packets*", "*A DETECT*"])
    pytester.makepyfile(FAILS.replace('profile="echo"', 'profile="echo", packets=True'))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["*easim packets*", "*A DETECT*"])
    pytester.makepyfile(FAILS)
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.stdout.no_fnmatch_line("*easim packets*")


def test_the_timeline_begins_with_the_test_and_shows_its_bytes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import time
        import pytest

        def test_first(easim_world):
            time.sleep(1.5)

        @pytest.mark.easim(profile="echo", plugged=True)
        @pytest.mark.parametrize("world", ["easim_world", "easim_virtual"])
        def test_fails(world, request):
            world = request.getfixturevalue(world)
            session = world.app().open("com.example.echo")
            session.send(b"hello, lamp, this is a long line of text")
            assert session.recv(5) == b"hallo"
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--junitxml=all.xml")
    result.assert_outcomes(passed=1, failed=2)
    timeline = [line for line in result.stdout.lines if line.startswith("   0.")]
    assert len([line for line in timeline if "→ b'hello, lamp, this is a l'" in line and "16 more bytes" in line]) == 2
    assert len([line for line in timeline if "← b'hello'" in line]) >= 1
    result.stdout.no_fnmatch_line("   1.*")
    result.stdout.no_fnmatch_line("*readable*")
    report = (pytester.path / "all.xml").read_text()
    assert report.count('<property name="easim timeline"') == 2
    assert "plugged in at" in report
    # The failure shows only lines of the test, not lines of the package.
    result.stdout.no_fnmatch_line("*_plain.py*")


@pytest.mark.parametrize("fixture", ["easim_world", "easim_virtual"])
def test_what_a_failed_test_cleans_up_is_not_shown(pytester: pytest.Pytester, fixture: str) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.easim(profile="echo", plugged=True)
        def test_fails({fixture}):
            with {fixture}.app().open("com.example.echo") as session:
                session.send(b"hello")
                assert session.recv(5) == b"world"
        """
    )
    result = pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "--junitxml=report.xml", f"--easim-traces={pytester.path}"
    )
    result.assert_outcomes(failed=1)
    (trace,) = pytester.path.glob("*.html")
    for text in (result.stdout.str(), (pytester.path / "report.xml").read_text(), trace.read_text()):
        assert '"event":"session.close"' not in text
    assert '"event":"session.open"' in trace.read_text()
    for text in (result.stdout.str(), (pytester.path / "report.xml").read_text()):
        assert "open on com.example.echo" in text
        assert "session 1 ended" not in text
        assert "world.remove" not in text


def test_an_error_points_at_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_fails(easim_virtual):
            easim_virtual.app().wait_for("connect", timeout=1)
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Timeout: no 'connect' within 1 s*"])
    shown = [line for line in result.stdout.lines if ".py:" in line]
    assert all("test_an_error_points_at_the_test.py" in line for line in shown), shown


def test_the_mark_has_time_place_and_programs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os, pytest
        import easim

        @pytest.mark.easim(profile="echo", time="virtual", plugged=True)
        def test_virtual(easim_world):
            assert easim_world.is_virtual
            with easim_world.app().open("com.example.echo") as session:
                session.send(b"x")
                assert session.recv(1) == b"x"

        @pytest.mark.easim(profile="echo", on=f"unix:{os.getcwd()}/lamp.sock", plugged=True)
        def test_place(easim_world):
            with easim.hosts.open(f"unix:{os.getcwd()}/lamp.sock", server=easim_world.server) as host:
                assert host.burst(b"hello", count=1).passed

        @pytest.mark.easim(profile="echo", behavior="exec:cat", allow_exec=True, plugged=True)
        def test_program(easim_world):
            with easim_world.app().open("com.example.echo") as session:
                session.send(b"x")
                assert session.recv(1) == b"x"

        @pytest.mark.easim(quirks=["flicker"])
        def test_no_profile(easim_world):
            pass

        @pytest.mark.easim(time="vrtual")
        def test_no_time(easim_world):
            pass

        def test_session_scope(lamp, easim_server):
            assert lamp in [each["accessory"] for each in easim_server.call("accessory.list")["accessories"]]

        @pytest.fixture(scope="session")
        def lamp(easim_server):
            with easim_server.world() as world:
                yield world.add("echo").id
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=4, errors=2)
    for line in ("*has 'quirks' but no profile*", "*time='vrtual'*"):
        result.stdout.fnmatch_lines([line])


def test_an_asynchronous_test_has_its_world(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import asyncio, pytest

        @pytest.mark.easim(profile="echo", plugged=True, time="virtual")
        def test_aio(easim_aio):
            async def main():
                async with easim_aio() as world:
                    assert world.is_virtual
                    async with await (await world.app()).open("com.example.echo") as session:
                        await session.send(b"x")
                        assert await session.recv(1) == b"x"
            asyncio.run(main())

        @pytest.mark.easim(profile="echo", plugged=True)
        def test_fails(easim_aio):
            async def main():
                async with easim_aio() as world:
                    await (await world.app()).wait_for("disconnect", timeout=0.1)
            asyncio.run(main())
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*easim timeline*", "*plugged in at*", "*easim trace*", "*test-fails.html"])


@pytest.mark.parametrize(("module", "mark"), [("pytest_asyncio", "asyncio"), ("anyio", "anyio")])
def test_plugins_for_asynchronous_tests(pytester: pytest.Pytester, module: str, mark: str) -> None:
    pytest.importorskip(module)
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        @pytest.fixture
        async def session(easim_aio):
            async with easim_aio() as world:
                async with await (await world.app()).open("com.example.echo") as session:
                    yield session

        pytestmark = [pytest.mark.{mark}, pytest.mark.easim(profile="echo", plugged=True)]

        async def test_in_the_test(easim_aio):
            async with easim_aio() as world:
                await (await world.app()).open("com.example.echo")

        async def test_in_a_fixture(session):
            await session.send(b"hello")
            assert await session.recv(5) == b"hello"

        async def test_beside_the_loop(easim_world):
            assert easim_world.app().open("com.example.echo").is_open
        """
    )
    # In automatic mode, pytest-asyncio takes over the fixtures of every test, including tests that anyio runs.
    mode = ["-o", "asyncio_mode=auto"] if mark == "asyncio" else ["-p", "no:asyncio"]
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *mode)
    result.assert_outcomes(passed=3)


def test_another_event_loop_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_refused(easim_aio):
            easim_aio().__aenter__().send(None)
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*easim.aio runs only on asyncio*anyio_backend*"])
