from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Any, Optional

import pytest

import easim
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


@marked
def test_an_error_of_a_behavior_is_raised_in_the_test(easim_virtual: TestWorld) -> None:
    def fail(_: Any, data: bytes) -> bytes:
        raise ValueError("no such command")

    easim_virtual.accessory.take(fail)
    session = easim_virtual.app().open(PROTOCOL)
    session.send(b"x")
    with pytest.raises(ValueError, match="no such command"):
        session.recv(1)


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
    with pytest.raises(easim.SessionEnded, match="the accessory closed it"):
        session.recv(1)
    with pytest.raises(easim.EasimError, match="a behavior cannot call functions that wait: .* async behavior"):
        easim_world.raise_behavior_error()
