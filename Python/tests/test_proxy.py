from __future__ import annotations

import pathlib

import pytest

import easim


def test_a_device_reaches_an_accessory_through_a_proxy(easim_server: easim.Server, tmp_path: pathlib.Path) -> None:
    with easim_server.world() as world:
        real, seen = f"unix:{tmp_path}/lamp.sock", f"unix:{tmp_path}/proxy.sock"
        world.add("echo", on=real).plug()
        proxy = world.proxy(seen, real)
        assert (proxy.device, proxy.accessory) == (seen, real)
        with easim.hosts.open(seen, server=easim_server) as host:
            with host.app.open("com.example.echo", timeout=20) as session:
                session.send(b"hello")
                assert session.recv(5) == b"hello"
            state = proxy.state()
            assert state.has_device and state.attachments >= 1
            assert state.from_accessory > 0 and state.from_device > 0
            proxy.set_faults("latency,delay=5ms", "loss,chance=2%,direction=in")
            assert proxy.state().faults == ["latency,delay=5ms", "loss,chance=2%,direction=in"]
        packets = world.call("packet.list")["packets"]
        assert any("AuthenticationSucceeded" in packet["text"] for packet in packets)
        proxy.remove()
        with pytest.raises(easim.EasimError, match="is gone"):
            proxy.state()


def test_addresses_that_cannot_be_used_are_refused(easim_server: easim.Server) -> None:
    with easim_server.world() as world:
        with pytest.raises(easim.EasimError, match="usb:"):
            world.proxy("usb:", "unix:/tmp/none.sock")
        with pytest.raises(easim.EasimError, match="accessory: "):
            world.proxy("unix:/tmp/none.sock", "nowhere")
