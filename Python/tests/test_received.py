"""What an accessory has received, as shown in failed assertions."""

from __future__ import annotations

import pytest

import easim
from easim.events import Time

PROTOCOL = "com.example.echo"


@pytest.mark.parametrize("time", ["real", "virtual"])
@pytest.mark.parametrize("taken", [False, True])
def test_what_came_is_counted_whatever_the_behavior(easim_server: easim.Server, time: Time, taken: bool) -> None:
    with easim_server.world(time=time) as world:
        lamp, app = world.add("echo"), world.app()
        assert "no session was opened" in repr(lamp.received("VERSION?"))
        if taken:
            lamp.take(lambda session, data: data)
        lamp.plug()
        for _ in range(2):
            with app.open(PROTOCOL) as session:
                for piece in (b"VER", b"SION?", b"MODEL?"):
                    session.send(piece)
                    assert session.recv(len(piece)) == piece
        assert lamp.received("VERSION?")
        assert lamp.received(b"VERSION?", times=2)
        assert not lamp.received("VERSION?", times=3)
        assert not lamp.received("VERSION?", protocol="com.example.other")
        assert not lamp.received("MODEL?VERSION?"), "sessions are streams of their own"
        missed = lamp.received("MODEM?")
        assert not missed
        assert repr(missed) == (
            "<never received 'MODEM?'; nearest on com.example.echo: 'MODEL?', "
            "where byte 4 is 4c ('L'), not 4d ('M')>"
        )
        with pytest.raises(ValueError, match="an empty sequence is always received"):
            lamp.received("")


def test_a_failed_assertion_shows_the_nearest(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.easim(profile="echo", plugged=True)
        def test_fails(easim_virtual):
            with easim_virtual.app().open("com.example.echo") as session:
                session.send(b"VERSION!")
                session.recv(8)
            assert easim_virtual.accessory.received("VERSION?", times=2)
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*nearest on com.example.echo: 'VERSION!', where byte 7 is 21 ('!'), not 3f ('?')*"])
