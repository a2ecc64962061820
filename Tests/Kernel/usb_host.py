"""A test with the fixture easim_host of the Python package, and pytest to run it: in a guest of the kernel lane."""

# These modules are imported explicitly so that the guest's archive includes them; pytest imports them only when it
# needs them.
import concurrent.futures.thread
import pdb
import pickle
import pprint
import sys

import easim.pytest_plugin
import pytest


def test_the_accessory_is_found_and_its_sessions_carry_every_byte(easim_host):
    accessory = easim_host.wait()
    assert accessory.serial_number == "EW1-0001"
    with easim_host.open("com.example.echo") as session:
        session.send(bytes(range(256)) * 40)
        assert session.recv(10_240) == bytes(range(256)) * 40
    report = easim_host.burst(b"VERSION?" * 1_250, count=20)
    assert report.passed and report.bursts == 20, report
    print(f"\nmeasured: {report}")


def test_a_test_may_be_wrong(easim_host):
    assert easim_host.app.accessories() == []


if __name__ == "__main__":
    options = ["-p", "easim.pytest_plugin", "-p", "no:cacheprovider", "-s", "--assert=plain"]
    options += ["--easim-at", "usb:", "--easim-timeout", "60"]
    sys.exit(pytest.main([*options, *sys.argv[1:], __file__]))
