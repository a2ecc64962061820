from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Any, Optional

import pytest

import easim
from easim.events import Time
from easim.pytest_plugin import TestWorld

PROTOCOL = "com.example.echo"
marked = pytest.mark.easim(profile="echo", plugged=True)


def function(_: Any, data: bytes) -> bytes:
    return data.upper()


def generator(_: Any) -> Generator[Optional[bytes], bytes, None]:
    answer = None
    while True:
        answer = (yield answer).upper()


async def async_generator(_: Any) -> AsyncGenerator[Optional[bytes], bytes]:
    answer = None
    while True:
        answer = (yield answer).upper()


async def coroutine(session: Any) -> None:
    while data := await session.recv():
        await session.send(data.upper())


class Object:
    def __call__(self, session: Any, data: bytes) -> bytes:
        return data.upper()


FORMS = [function, generator, async_generator, coroutine, Object()]


@marked
@pytest.mark.parametrize("form", FORMS)
def test_every_form_answers_in_real_time(easim_world: TestWorld, form: Any) -> None:
    easim_world.accessory.take(form)
    with easim_world.app().open(PROTOCOL) as session:
        for _ in range(3):
            session.send(b"hello")
            assert session.recv(5) == b"HELLO"


@marked
@pytest.mark.parametrize("form", FORMS)
def test_every_form_answers_at_the_very_moment_of_virtual_time(easim_virtual: TestWorld, form: Any) -> None:
    easim_virtual.accessory.take(form)
    with easim_virtual.app().open(PROTOCOL) as session:
        for _ in range(3):
            before = easim_virtual.now()
            session.send(b"hello")
            assert session.recv(5) == b"HELLO"
            assert easim_virtual.now() - before < 1


@marked
def test_a_generator_speaks_first_and_ends_the_session(easim_virtual: TestWorld) -> None:
    def greet(_: Any) -> Generator[bytes, bytes, None]:
        name = yield b"who? "
        yield b"hello " + name

    easim_virtual.accessory.take(greet)
    session = easim_virtual.app().open(PROTOCOL)
    assert session.recv(5) == b"who? "
    session.send(b"easim")
    assert session.recv(11) == b"hello easim"


def test_state_is_shared_between_protocols_and_sessions(easim_virtual: TestWorld) -> None:
    count = 0

    def number(session: Any, data: bytes) -> bytes:
        nonlocal count
        count += 1
        return b"%s %d\n" % (session.protocol.encode(), count)

    lamp = easim_virtual.add(
        {"version": 1, "extends": "echo", "accessory": {"protocols": ["com.example.one", "com.example.two"]}}
    )
    lamp.take(number)
    lamp.plug()
    app = easim_virtual.app()
    with app.open("com.example.one") as one, app.open("com.example.two") as two:
        one.send(b"x")
        assert one.recv_until(b"\n") == b"com.example.one 1\n"
        two.send(b"x")
        assert two.recv_until(b"\n") == b"com.example.two 2\n"


@pytest.mark.parametrize("time", ["real", "virtual"])
@pytest.mark.parametrize("count", [1, None])
def test_an_error_of_a_behavior_is_raised_by_the_call_that_fails(
    easim_server: easim.Server, time: Time, count: Optional[int]
) -> None:
    def fail(_: Any, data: bytes) -> bytes:
        raise ValueError("no such command")

    with easim_server.world(time=time) as world:
        lamp, app = world.add("echo"), world.app()
        lamp.take(fail)
        lamp.plug()
        session = app.open(PROTOCOL)
        session.send(b"x")
        with pytest.raises(ValueError, match="no such command") as caught:
            session.recv(count)
        assert isinstance(caught.value.__cause__, easim.SessionEnded)
        # The error is raised only once.
        with pytest.raises(easim.SessionEnded):
            session.recv(1)


@pytest.mark.parametrize("time", ["real", "virtual"])
def test_a_behavior_can_fail_and_skip_the_test(pytester: pytest.Pytester, time: Time) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        def talk(easim_server, behavior):
            with easim_server.world(time="{time}") as world:
                lamp, app = world.add("echo"), world.app()
                lamp.take(behavior)
                lamp.plug()
                with app.open("com.example.echo") as session:
                    session.send(b"x")
                    session.recv(1)

        def test_fails(easim_server):
            talk(easim_server, lambda session, data: pytest.fail("not this command"))

        def test_skips(easim_server):
            talk(easim_server, lambda session, data: pytest.skip("not this one"))

        async def coroutine(session):
            await session.recv(1)
            raise SystemExit(3)

        def test_leaves(easim_server):
            with pytest.raises(SystemExit):
                talk(easim_server, coroutine)
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", timeout=120)
    result.assert_outcomes(failed=1, skipped=1, passed=1)
    result.stdout.fnmatch_lines(["*not this command*"])
    assert "never retrieved" not in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize("time", ["real", "virtual"])
def test_each_protocol_has_one_behavior(easim_server: easim.Server, time: Time) -> None:
    names = ["com.example.one", "com.example.two", "com.example.three"]
    with easim_server.world(time=time) as world:
        lamp = world.add({"version": 1, "extends": "echo", "accessory": {"protocols": names}})
        lamp.take(lambda session, data: b"one", protocols=names[:1])
        lamp.take(lambda session, data: b"rest")
        lamp.take(lambda session, data: b"two", protocols=names[1:2])
        with pytest.raises(easim.EasimError, match="com.example.one have a behavior already: call release first"):
            lamp.take(function, protocols=names)
        with pytest.raises(easim.EasimError, match="of all protocols have a behavior already"):
            lamp.take(function)
        with pytest.raises(TypeError, match="a list of names"):
            lamp.take(function, protocols="com.example.one")
        lamp.plug()
        app = world.app()
        for name, answer in zip(names, (b"one", b"two", b"rest")):
            with app.open(name) as session:
                session.send(b"?")
                assert session.recv() == answer
        lamp.release()
        lamp.take(lambda session, data: b"again")


@marked
def test_released_sessions_belong_to_the_profile_again(easim_world: TestWorld) -> None:
    easim_world.accessory.take(function)
    app = easim_world.app()
    with app.open(PROTOCOL) as session:
        session.send(b"x")
        assert session.recv(1) == b"X"
    easim_world.accessory.release()
    with app.open(PROTOCOL) as session:
        session.send(b"x")
        assert session.recv(1) == b"x"


@marked
def test_a_behavior_that_waits_for_the_test_is_refused(easim_world: TestWorld) -> None:
    def wrong(_: Any, data: bytes) -> bytes:
        easim_world.now()
        return data

    easim_world.accessory.take(wrong)
    session = easim_world.app().open(PROTOCOL)
    session.send(b"x")
    with pytest.raises(easim.EasimError, match="a behavior cannot call functions that wait: .* async behavior"):
        session.recv(1)
