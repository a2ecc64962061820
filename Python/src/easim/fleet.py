"""Random worlds, scenarios and load tests on many machines, with any executor of ``concurrent.futures``.

An executor decides where jobs run: threads and processes of this machine, or the workers of Dask, Ray or MPI. Each
worker needs this package and the program easim.

>>> from easim import fleet
>>> report = fleet.soak(range(60), chunk=20)
>>> report.passed, report.worlds, report.seeds
(True, 60, range(0, 60))

With Dask, ten million worlds on a cluster::

    client = dask.distributed.Client("tcp://scheduler:8786")
    report = fleet.soak(range(10_000_000), executor=client.get_executor(), progress=True)
    assert report.passed, report

The results are those of one ``easim soak`` with the same seeds: the same hash, the same failures, the same counts, in
whatever order the jobs end. A job whose worker was lost is run again. One that takes three times as long as the others
is run a second time, and the first result counts.

A pool of processes breaks when one of its processes is killed. Pass a function that makes the pool instead of the pool,
so that it can be replaced.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Union

from . import _fleet_work
from ._fleet import Fleet, Notify, Progress, Source, pool
from ._program import find
from .errors import EasimError

__all__ = [
    "BurstsReport",
    "FleetError",
    "Progress",
    "ScenarioResult",
    "ScenariosReport",
    "SoakFailure",
    "SoakReport",
    "bursts",
    "scenarios",
    "soak",
]

Program = Union[str, "os.PathLike[str]", None]

_ENOUGH_FOR_EVERY_CORNER = 5_000
_MOST_SHRUNK = 10
_CHUNK = 2_000


class FleetError(EasimError):
    """Some jobs got no result. ``missing`` names these jobs and the reasons. ``report`` has all other results."""

    def __init__(self, message: str, *, report: Any = None, missing: Sequence[tuple[Any, str]] = ()) -> None:
        """Create an error that lists what is missing."""
        super().__init__(message, kind="lost", advice="run these again, and merge the reports with '+'")
        self.report = report
        self.missing = tuple(missing)


@dataclass(frozen=True)
class SoakFailure:
    """A world that failed."""

    seed: int
    """The seed."""
    rule: str
    """The rule."""
    text: str
    """What happened."""
    command: str
    """The command that repeats the failure."""
    scenario: str
    """The smallest world found that breaks the same rule, for ``easim scenario run FILE``."""


@dataclass(frozen=True)
class SoakReport:
    """The result of random worlds. Add reports of different seeds with ``+``."""

    ranges: tuple[range, ...]
    """The seeds run, in order."""
    failed: int
    """The number of worlds that failed."""
    failures: tuple[SoakFailure, ...]
    """The first ten failures, in order of seed."""
    hash: int
    """The hash of everything that happened in all worlds."""
    coverage: dict[str, int]
    """The number of times each rare case of the protocol was reached."""
    faults: dict[str, int]
    """The number of times each fault took effect."""
    whole: bool = True
    """Whether the worlds were unrestricted (no profile, nothing forbidden), so that 5,000 must reach every case."""
    program: str = ""
    """The version of the program."""

    @property
    def worlds(self) -> int:
        """The number of worlds run."""
        return sum(len(seeds) for seeds in self.ranges)

    @property
    def seeds(self) -> range:
        """The seeds, if they are consecutive."""
        if len(self.ranges) != 1:
            raise EasimError("the seeds are not a single range", kind="state", advice="use 'ranges'")
        return self.ranges[0]

    @property
    def unreached(self) -> list[str]:
        """The cases that this many worlds should have reached."""
        if not self.whole or self.worlds < _ENOUGH_FOR_EVERY_CORNER:
            return []
        counts = [*self.coverage.items(), *((f"fault {name}", count) for name, count in self.faults.items())]
        return [name for name, count in counts if count == 0]

    @property
    def passed(self) -> bool:
        """Whether there were any worlds, all of them passed, and every case was reached."""
        return self.worlds > 0 and self.failed == 0 and not self.unreached

    def __add__(self, other: SoakReport) -> SoakReport:
        """Add the results of other seeds."""
        if not isinstance(other, SoakReport):
            return NotImplemented
        if self.program != other.program or self.whole != other.whole:
            what = f"of {self.program} and {other.program}" if self.program != other.program else "of different worlds"
            raise EasimError(f"the reports are of results {what}, which cannot be added", kind="state")
        ranges = _joined([*self.ranges, *other.ranges])
        failures = sorted([*self.failures, *other.failures], key=lambda each: each.seed)[:_MOST_SHRUNK]
        return SoakReport(
            tuple(ranges),
            self.failed + other.failed,
            tuple(failures),
            (self.hash + other.hash) % (1 << 64),
            {name: count + other.coverage.get(name, 0) for name, count in self.coverage.items()},
            {name: count + other.faults.get(name, 0) for name, count in self.faults.items()},
            self.whole,
            self.program,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON types, with the keys of ``easim soak --json``."""
        return {
            "passed": self.passed,
            "worlds": self.worlds,
            "failures": self.failed,
            "hash": str(self.hash),
            "coverage": self.coverage,
            "faults": self.faults,
        }

    def __str__(self) -> str:
        """Format the report as lines: the result, then each failure with the command that reproduces it."""
        shown = ", ".join(f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}" for seeds in self.ranges)
        text = f"{self.worlds} worlds, seeds {shown}: "
        rest = "all passed" if self.worlds else "nothing was checked"
        text += f"{self.failed} failed" if self.failed else rest
        if self.unreached:
            text += f"; never reached: {', '.join(self.unreached)}"
        lines = [f"{text}; hash {self.hash}"]
        for each in self.failures:
            lines += [f"seed {each.seed}: {each.rule}: {each.text}", f"  repeat: {each.command}"]
        return "\n".join(lines)


def _joined(ranges: Iterable[range]) -> list[range]:
    joined: list[range] = []
    for seeds in sorted((each for each in ranges if len(each)), key=lambda each: each.start):
        if joined and seeds.start < joined[-1].stop:
            raise EasimError(f"seed {seeds.start} is in both reports", kind="state")
        if joined and seeds.start == joined[-1].stop:
            joined[-1] = range(joined[-1].start, seeds.stop)
        else:
            joined.append(seeds)
    return joined


def _part(job: dict[str, Any], done: dict[str, Any]) -> SoakReport:
    result = done["result"]
    failures = (
        SoakFailure(each["seed"], each["rule"], each["text"], each["command"], each.get("scenario", ""))
        for each in done["failures"]
    )
    return SoakReport(
        (range(job["start"], job["stop"]),),
        result["failures"],
        tuple(failures),
        int(result["hash"]),
        dict(result["coverage"]),
        dict(result["faults"]),
        not job["profile"] and not job["forbid"],
        done["version"],
    )


def _added(parts: Sequence[SoakReport]) -> SoakReport:
    # The two halves are merged recursively. Merging ten thousand parts one by one would sort and copy the result ten
    # thousand times.
    if len(parts) == 1:
        return parts[0]
    return _added(parts[: len(parts) // 2]) + _added(parts[len(parts) // 2 :])


def soak(
    seeds: Union[range, int],
    *,
    executor: Source = None,
    chunk: Optional[int] = None,
    profile: Optional[str] = None,
    forbid: Iterable[str] = (),
    program: Program = None,
    workers: Optional[int] = None,
    attempts: int = 3,
    speculate: bool = True,
    progress: Notify = None,
    report: Program = None,
) -> SoakReport:
    """Play the random worlds of these seeds, as ``easim soak`` does, on all workers of an executor.

    ``executor`` is an executor, a function that makes one, or None for the processors of this machine. ``chunk`` is the
    number of worlds in a job: a few seconds of work. ``workers`` is the number of jobs that run at a time, needed if
    the executor does not report it. ``progress`` is True for a line each second on stderr, or a function that receives
    a :class:`Progress`. ``program`` is a path on the workers. ``report`` is a file for the merged report, which is the
    same, byte for byte, as that of ``easim soak --report FILE.json`` with the same seeds.

    Jobs that fail ``attempts`` times raise a :class:`FleetError` with the report of all others.
    """
    seeds = range(seeds) if isinstance(seeds, int) else seeds
    if seeds.step != 1 or seeds.start < 0 or not len(seeds):
        raise EasimError(f"{seeds} is no range of seeds", kind="params", advice="give one such as range(1000)")
    if chunk is not None and chunk < 1:
        raise EasimError(f"chunk is {chunk}, but must be at least 1", kind="params")
    with pool(executor) as used:
        fleet = Fleet(_fleet_work.soak, used, workers, attempts, speculate, progress)
        # There are at least four jobs per worker, so that the last jobs end at about the same time.
        size = chunk if chunk is not None else max(1, min(_CHUNK, len(seeds) // (fleet.width * 2)))
        jobs = _shards(seeds, -(-len(seeds) // size))
        for job in jobs:
            job |= {"profile": profile, "forbid": tuple(forbid), "report": report is not None}
            job["program"] = os.fspath(program) if program else None
        fleet.run(jobs)
    parts = [_part(jobs[index], fleet.results[index]) for index in sorted(fleet.results)]
    whole = _added(parts) if parts else None
    if report is not None and parts:
        _merge([fleet.results[index]["report"] for index in sorted(fleet.results)], Path(report), program)
    if fleet.lost:
        missing = [
            (range(jobs[index]["start"], jobs[index]["stop"]), reason) for index, reason in sorted(fleet.lost.items())
        ]
        first, reason = missing[0]
        message = f"{len(missing)} of {len(jobs)} jobs have no result, the first with seeds {first[0]} to {first[-1]}"
        raise FleetError(f"{message} ({reason})", report=whole, missing=missing)
    assert whole is not None
    return whole


def _shards(seeds: range, count: int) -> list[dict[str, Any]]:
    """Divide seeds as ``easim soak --shard I/N`` does."""
    places = [seeds.start + len(seeds) * number // count for number in range(count + 1)]
    return [
        {"first": seeds.start, "seeds": len(seeds), "shard": f"{number + 1}/{count}", "start": start, "stop": stop}
        for number, (start, stop) in enumerate(zip(places, places[1:]))
    ]


@dataclass(frozen=True)
class ScenarioResult:
    """How one scenario ended."""

    scenario: str
    """Its name."""
    client: str
    """The app that ran the scenario."""
    seed: Optional[int]
    """The seed; None for the scenario's own."""
    passed: bool
    """Whether the app did what the scenario expects."""
    text: str
    """The reason."""


@dataclass(frozen=True)
class ScenariosReport:
    """The results of scenarios, in the order requested."""

    results: tuple[ScenarioResult, ...]
    """One result for each scenario, client and seed."""

    @property
    def failures(self) -> tuple[ScenarioResult, ...]:
        """The scenarios that failed."""
        return tuple(each for each in self.results if not each.passed)

    @property
    def passed(self) -> bool:
        """Whether there were any scenarios and all of them passed."""
        return bool(self.results) and not self.failures

    def __str__(self) -> str:
        """Format the report as the counts, followed by a line for each failure."""
        lines = [f"{len(self.results)} scenarios, {len(self.failures)} failed"]
        for each in self.failures:
            seed = "" if each.seed is None else f", seed {each.seed}"
            lines.append(f"{each.scenario} ({each.client}{seed}): {each.text}")
        return "\n".join(lines)


def scenarios(
    names: Optional[Iterable[str]] = None,
    *,
    clients: Iterable[str] = ("RobustClient",),
    seeds: Iterable[Optional[int]] = (None,),
    executor: Source = None,
    program: Program = None,
    workers: Optional[int] = None,
    attempts: int = 3,
    speculate: bool = True,
    progress: Notify = None,
) -> ScenariosReport:
    """Play every scenario with every client and every seed; by default those that are built in.

    >>> print(scenarios(["flicker", "ghost"], seeds=[1, 2]))
    4 scenarios, 0 failed
    """
    path = os.fspath(program) if program else None
    if names is None:
        listed = subprocess.run(
            [str(find(program)), "scenario", "list", "--json"], capture_output=True, text=True, check=True
        )
        names = [json.loads(line)["scenario"] for line in listed.stdout.splitlines()]
    clients, seeds = list(clients), list(seeds)
    jobs: list[dict[str, Any]] = [
        {"scenario": name, "client": client, "seed": seed, "program": path}
        for name in names
        for client in clients
        for seed in seeds
    ]
    with pool(executor) as used:
        fleet = Fleet(_fleet_work.scenario, used, workers, attempts, speculate, progress)
        fleet.run(jobs)
    results = [
        ScenarioResult(job["scenario"], job["client"], job["seed"], done["passed"], done["text"])
        for job, done in ((jobs[index], fleet.results[index]) for index in sorted(fleet.results))
    ]
    report = ScenariosReport(tuple(results))
    if fleet.lost:
        missing = [(jobs[index]["scenario"], reason) for index, reason in sorted(fleet.lost.items())]
        message = (
            f"{len(missing)} of {len(jobs)} scenarios have no result, the first is {missing[0][0]} ({missing[0][1]})"
        )
        raise FleetError(message, report=report, missing=missing)
    return report


@dataclass(frozen=True)
class BurstsReport:
    """The result of simultaneous load tests."""

    passed: bool
    """Whether all load tests passed."""
    merged: dict[str, Any] = field(repr=False)
    """The merged report, as from ``easim report merge``: the percentiles are those of one run with all bursts."""
    reports: tuple[dict[str, Any], ...] = field(repr=False)
    """The report of each."""
    text: str = ""
    """The merged report as readable text."""

    def __str__(self) -> str:
        """Format the merged report."""
        return self.text


def bursts(
    addresses: Iterable[Union[str, Sequence[str]]],
    arguments: Sequence[str] = (),
    *,
    executor: Source = None,
    program: Program = None,
    progress: Notify = None,
) -> BurstsReport:
    """Run a load test for each address or group of addresses, all at the same time, and merge their reports.

    ``arguments`` are those of ``easim burst``, such as ``["--rate", "100", "--for", "1m"]``. Nothing is run twice: a
    load test whose worker is lost raises a :class:`FleetError` with the merged report of the others.

    >>> address = getfixture("accessory_address")
    >>> report = bursts([address], ["--count", "20"])
    >>> report.passed, len(report.reports)
    (True, 1)
    """
    path = os.fspath(program) if program else None
    groups = [[each] if isinstance(each, str) else list(each) for each in addresses]
    if not groups:
        raise EasimError("there are no addresses", kind="params")
    jobs: list[dict[str, Any]] = [
        {"addresses": group, "arguments": list(arguments), "program": path} for group in groups
    ]
    with pool(executor) as used:
        fleet = Fleet(_fleet_work.burst, used, len(jobs), 1, False, progress)
        fleet.run(jobs)
    texts = [fleet.results[index]["report"] for index in sorted(fleet.results)]
    report = _merged(texts, program) if texts else None
    if fleet.lost:
        missing = [(" ".join(groups[index]), reason) for index, reason in sorted(fleet.lost.items())]
        message = (
            f"{len(missing)} of {len(jobs)} load tests have no result, the first at {missing[0][0]} ({missing[0][1]})"
        )
        raise FleetError(message, report=report, missing=missing)
    assert report is not None
    return report


def _merged(texts: Sequence[str], program: Program) -> BurstsReport:
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "merged.json"
        done = _merge(texts, whole, program)
        merged = json.loads(whole.read_text())
    return BurstsReport(done.returncode == 0, merged, tuple(json.loads(text) for text in texts), done.stdout.strip())


def _merge(texts: Sequence[str], whole: Path, program: Program) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(texts):
            Path(folder, f"{number}.json").write_text(text)
        # The folder is passed instead of its files, because a command line has room for only a few thousand file names.
        command = [str(find(program)), "report", "merge", folder, "--report", str(whole)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise EasimError(f"the reports cannot be merged: {done.stderr.strip()}", kind="state")
    return done
