"""What type checkers see, and what objects look like in a failure."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from easim import events

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/python.md").read_text(encoding="utf-8")


def test_what_the_protocol_defines_is_declared_as_it_is() -> None:
    sys.path.insert(0, str(ROOT / "Python"))
    try:
        files: dict[Path, str] = importlib.import_module("declare").files()
    finally:
        sys.path.pop(0)
    for path, text in files.items():
        if os.environ.get("EASIM_REWRITE") == "1":
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is old: run python declare.py"


def test_the_names_of_events_are_those_of_the_documents() -> None:
    commands = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    table = commands.split("| `event` | further fields |")[1].split("\n\n")[0]
    assert set(get_args(events.TimelineEvent)) == set(re.findall(r"^\| `([a-z.]+)` \|", table, re.M))
    control = (ROOT / "docs/control.md").read_text(encoding="utf-8")
    for name in (*get_args(events.AppEvent), *get_args(events.SessionEvent)):
        assert f"`{name}`" in control, name


def blocks_with_tests() -> list[str]:
    blocks = re.findall(r"^```python[^\n]*\n(.*?)^```", TEXT, re.M | re.S)
    tests = [block for block in blocks if "def test_" in block]
    assert len(tests) >= 2
    return tests


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_the_tests_of_the_document_pass_type_checkers(checker: str, tmp_path: Path) -> None:
    program = shutil.which(checker, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if program is None:
        pytest.skip(f"needs {checker}")
    for number, block in enumerate(blocks_with_tests()):
        (tmp_path / f"test_document_{number}.py").write_text(block, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', encoding="utf-8")
    options = ["--strict", "--config-file="] if checker == "mypy" else ["--pythonpath", sys.executable]
    done = subprocess.run(
        [program, *options, "."], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def public_classes() -> list[type[Any]]:
    found: set[type[Any]] = set()
    for name in ("easim", "easim.aio", "easim.hosts", "easim.states", "easim.fleet"):
        module = importlib.import_module(name)
        exported = getattr(module, "__all__", [])
        for key, each in vars(module).items():
            if inspect.isclass(each) and (key in exported or (each.__module__ == name and not key.startswith("_"))):
                found.add(each)
    return sorted(found, key=lambda each: f"{each.__module__}.{each.__name__}")


def test_every_class_shows_what_it_is() -> None:
    classes = public_classes()
    assert len(classes) > 20
    silent = [each for each in classes if "__repr__" not in {name for base in each.__mro__[:-1] for name in vars(base)}]
    assert not silent


def test_a_wrong_name_of_an_event_is_a_mistake_of_types(tmp_path: Path) -> None:
    program = shutil.which("mypy", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("needs mypy")
    (tmp_path / "wrong.py").write_text(
        "import easim\n\n\ndef wait(world: easim.World, app: easim.App) -> None:\n"
        '    app.wait_for("conect")\n    world.run_until("conect")\n'
        '    easim.quirks.flicker(maker="nobody")\n    easim.faults.latency()\n    world.accessory.state().plugd\n',
        encoding="utf-8",
    )
    done = subprocess.run(
        [program, "--strict", "--config-file=", "wrong.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line]
    assert lines == [5, 6, 7, 8, 9], done.stdout
