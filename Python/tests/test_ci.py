"""The templates of docs/install.md: each is valid for its service, and its steps are run here as far as possible."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import easim
from easim._program import find

ROOT = Path(__file__).resolve().parents[2]
COPIES = ROOT / "Examples" / "CI"
GITHUB = sorted((COPIES / "github").glob("*.yml"))
GITLAB = sorted((COPIES / "gitlab").glob("*.yml"))
SUITE = """
def test_survives_the_flicker(easim_world):
    glasses = easim_world.add("lawk-view", quirks=["flicker"])
    app = easim_world.app(protocols=["com.lawaken.iap2"])
    glasses.plug()
    with app.open("com.lawaken.iap2", timeout=60) as session:
        session.send(b"hello"); assert session.recv(5) == b"hello"
"""
BENCH_SUITE = """
def test_hardware(easim_host):
    report = easim_host.burst(b"hello", count=10)
    assert report.passed, report
"""
# A stand-in for the Swift toolchain in these tests. Scripts/outside runs the tests of Swift packages with a real
# toolchain.
SWIFT = """#!/bin/sh
[ "$1 $2" = "test --xunit-output" ] || exit 64
printf '<testsuites><testsuite name="swift" tests="1"><testcase name="t"/></testsuite></testsuites>' >"$3"
"""


def load(path: Path) -> Any:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    # GitHub reads the key 'on' as a string, but YAML 1.1 reads it as true.
    text = re.sub(r"^on:", '"on":', path.read_text(), flags=re.MULTILINE)
    return yaml.safe_load(text)


def check(schema: str, *paths: Path) -> None:
    pytest.importorskip("check_jsonschema", reason="needs check-jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    if schema.endswith("gitlab-ci"):
        command += ["--data-transform", "gitlab-ci"]
    done = subprocess.run([*command, *map(str, paths)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_copy_follows_the_schema_of_its_service() -> None:
    assert len(GITHUB) == len(GITLAB) == 3
    check("vendor.github-workflows", *GITHUB)
    check("vendor.github-actions", ROOT / "action.yml")
    check("vendor.gitlab-ci", *GITLAB)


def test_a_wrong_copy_would_be_found(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(GITHUB[0].read_text().replace("runs-on:", "run-on:"))
    with pytest.raises(AssertionError, match="runs-on"):
        check("vendor.github-workflows", wrong)


class Machine:
    """A folder that stands in for a CI runner: an archive of easim, a test suite, and an accessory on a bench."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.temporary = folder / "tmp"
        self.tools = folder / "tools"
        for each in (self.project, self.temporary, self.tools):
            each.mkdir()
        self.archive = folder / "easim.tar.gz"
        with tarfile.open(self.archive, "w:gz", compresslevel=1) as archive:
            archive.add(find(), "easim-0.1.0-linux/bin/easim")
        swift = self.tools / "swift"
        swift.write_text(SWIFT)
        swift.chmod(0o755)
        for name in ("python", "python3"):
            (self.tools / name).symlink_to(sys.executable)
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(("EASIM", "PYTEST"))}
        # The folder of the running Python comes first in the PATH, so that scripts use the same Python and its
        # packages.
        self.env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), str(self.tools), os.environ["PATH"]])
        self.env |= {"TMPDIR": str(self.temporary), "PIP_NO_INDEX": "1", "EASIM_PACKAGE": "easim"}
        self.env["PYTHONDONTWRITEBYTECODE"] = "1"

    def run(self, script: str, **env: str) -> str:
        """Run a step as the CI services do."""
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.project,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done.stdout

    def results(self) -> dict[str, int]:
        """Return the result files with the number of cases in each; none may contain a failure."""
        found = {}
        for path in sorted((self.project / "results").glob("*.xml")):
            tree = ElementTree.parse(path)
            assert not list(tree.iter("failure")) and not list(tree.iter("error")), path.read_text()
            found[path.name] = len(list(tree.iter("testcase")))
        return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def bench(machine: Machine) -> Iterator[str]:
    """Plug in an accessory and return its address."""
    address = f"unix:{machine.folder}/accessory.sock"
    (machine.project / "test_bench.py").write_text(BENCH_SUITE)
    (machine.tools / "easim").symlink_to(find())
    machine.env["EASIM"] = str(find())
    with easim.Server() as server, server.world() as world:
        world.add("echo", on=address).plug()
        yield address


# The check runs only a few cases, because all of them would take a minute.
BENCH = {"CASES": "101,201-205", "EASIM_AT": ""}


def github(path: Path, machine: Machine, **env: str) -> None:
    (job,) = load(path)["jobs"].values()
    for step in job["steps"]:
        if "run" in step:
            assert "${{" not in step["run"], "a value in a script may be a command"
            machine.run(step["run"], **{**job.get("env", {}), **env})


def gitlab(path: Path, machine: Machine, **env: str) -> None:
    (job,) = load(path).values()
    # A single shell runs all steps.
    script = "\n".join([*job.get("before_script", []), *job["script"]])
    machine.run(script, **{**job.get("variables", {}), **env})


def script(path: Path, machine: Machine, **env: str) -> None:
    machine.run(str(path), **env)


SERVICES = [(github, "github", ".yml"), (gitlab, "gitlab", ".yml"), (script, "script", "")]


@pytest.mark.parametrize(("run", "folder", "suffix"), SERVICES, ids=[name for _, name, _ in SERVICES])
class TestCopies:
    def test_of_a_swift_package(self, run: Any, folder: str, suffix: str, machine: Machine) -> None:
        run(COPIES / folder / f"swift-package{suffix}", machine)
        assert machine.results() == {"swift.xml": 1}

    def test_of_a_suite_in_python(self, run: Any, folder: str, suffix: str, machine: Machine) -> None:
        (machine.project / "test_glasses.py").write_text(SUITE)
        # On GitHub, the action adds easim to the PATH.
        if folder == "github":
            (machine.tools / "easim").symlink_to(find())
        archive = str(machine.archive)
        run(COPIES / folder / f"python{suffix}", machine, EASIM_ARCHIVE="file://" * (folder == "gitlab") + archive)
        assert machine.results() == {"pytest.xml": 1}

    def test_of_firmware_on_a_bench(self, run: Any, folder: str, suffix: str, machine: Machine, bench: str) -> None:
        run(COPIES / folder / f"bench{suffix}", machine, **{**BENCH, "EASIM_AT": bench})
        found = machine.results()
        assert set(found) == {"burst.xml", "check.xml", "pytest.xml"} and found["check.xml"] >= 5


class Action:
    """Runs the steps of action.yml, with the files through which a step passes values to later ones."""

    def __init__(self, machine: Machine, **inputs: str) -> None:
        self.machine = machine
        described = load(ROOT / "action.yml")
        self.inputs = {name: str(each["default"]) for name, each in described["inputs"].items()} | inputs
        self.outputs: dict[str, str] = {}
        self.env: dict[str, str] = {}
        files = {name: machine.folder / name for name in ("GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_ENV")}
        for step in described["runs"]["steps"]:
            if "if" in step:
                name = re.fullmatch(r"inputs\.(\w+) != ''", step["if"])
                assert name is not None
                if not self.inputs[name[1]]:
                    continue
            for each in files.values():
                each.write_text("")
            env = {name: self.value(text, step["id"]) for name, text in step["env"].items()}
            paths = {name: str(path) for name, path in files.items()}
            machine.run(step["run"], RUNNER_TEMP=str(machine.temporary), **env, **paths)
            for line in files["GITHUB_PATH"].read_text().splitlines():
                machine.env["PATH"] = f"{line}{os.pathsep}{machine.env['PATH']}"
            for line in files["GITHUB_OUTPUT"].read_text().splitlines():
                name_of, _, value = line.partition("=")
                self.outputs[f"{step['id']}.outputs.{name_of}"] = value
            for line in files["GITHUB_ENV"].read_text().splitlines():
                name_of, _, value = line.partition("=")
                machine.env[name_of] = value

    def value(self, text: str, step: str) -> str:
        known = {f"inputs.{name}": value for name, value in self.inputs.items()}
        known |= {f"steps.{name}": value for name, value in self.outputs.items()}
        known |= {"github.server_url": "https://example.com", "github.action_repository": "OWNER/easim"}
        return re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda found: known[found[1]], text)


def stop_accessories(machine: Machine) -> None:
    """End the programs that the action started, as a runner does at the end of a job; their folder identifies them."""
    for status in Path("/proc").glob("[0-9]*/exe"):
        try:
            if str(status.resolve()).startswith(str(machine.temporary)):
                os.kill(int(status.parent.name), 2)
        except OSError:
            pass


def test_the_action_installs_easim_and_plugs_in_an_accessory(machine: Machine) -> None:
    try:
        action = Action(machine, archive=str(machine.archive), profile="echo", arguments="--quirk flicker")
        address = action.outputs["start.outputs.address"]
        assert address == f"unix:{machine.temporary}/easim.sock"
        # Later steps find the program through the PATH and the accessory through the environment variable.
        assert "20 bursts" in machine.run('easim burst "$EASIM_AT" --count 20')
        assert Path(action.outputs["install.outputs.program"]).parent.parent.parent == machine.temporary
    finally:
        stop_accessories(machine)


def test_the_action_refuses_another_archive_and_a_wrong_accessory(machine: Machine) -> None:
    with pytest.raises(AssertionError, match="sha256sum"):
        Action(machine, archive=str(machine.archive), sha256="0" * 64)
    with pytest.raises(AssertionError, match="did you mean 'echo'"):
        Action(machine, archive=f"file://{machine.archive}", profile="ekho")


def test_the_copies_use_the_version_of_this_package() -> None:
    for path in [*GITHUB, *GITLAB, ROOT / "action.yml"]:
        for version in re.findall(r"(?:@v|default: |download/v)(\d+\.\d+\.\d+)", path.read_text()):
            assert version == easim.__version__, path


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="needs shellcheck")
def test_the_scripts_are_clean() -> None:
    paths = [str(path) for path in sorted((COPIES / "script").iterdir())]
    done = subprocess.run(["shellcheck", *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
