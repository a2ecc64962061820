from __future__ import annotations

import concurrent.futures
import functools
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Callable

import pytest

import easim
from easim import _fleet, _fleet_work, fleet, hosts
from easim._program import find


def single(*arguments: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the result and the failures of one run of the program."""
    done = subprocess.run([str(find()), "soak", "--json", *arguments], capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[-1], [line for line in lines if line["event"] == "failure"]


def assert_same(report: fleet.SoakReport, *arguments: str) -> None:
    result, failures = single(*arguments)
    ours = report.as_dict()
    assert ours == {key: result[key] for key in ours}
    assert [vars(each) for each in report.failures] == [
        {key: each[key] for key in ("seed", "rule", "text", "command", "scenario")} for each in failures
    ]
    assert str(report).startswith(f"{result['text']}; hash {result['hash']}")


def test_the_union_of_jobs_is_the_single_run() -> None:
    assert_same(fleet.soak(range(7, 57), chunk=7), "--seed", "7", "--seeds", "50")


def test_failures_and_their_scenarios_are_those_of_the_single_run() -> None:
    report = fleet.soak(60, chunk=25, forbid=["giveUp"])
    assert not report.passed and report.failed > len(report.failures[:1])
    assert_same(report, "--seeds", "60", "--forbid", "giveUp")


def test_the_merged_report_is_byte_for_byte_that_of_the_single_run(tmp_path: Path) -> None:
    fleet.soak(range(3, 63), chunk=9, forbid=["giveUp"], report=tmp_path / "all.json")
    command = [str(find()), "soak", "--seed", "3", "--seeds", "60", "--forbid", "giveUp"]
    subprocess.run([*command, "--report", str(tmp_path / "single.json")], capture_output=True, check=False)
    assert (tmp_path / "all.json").read_bytes() == (tmp_path / "single.json").read_bytes()


def test_the_job_of_a_worker_does_not_divide_its_shards_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fleet.soak(40)
    monkeypatch.setenv("CI_NODE_INDEX", "2")
    monkeypatch.setenv("CI_NODE_TOTAL", "4")
    assert fleet.soak(40, chunk=10) == whole


def test_reports_of_different_seeds_are_added() -> None:
    parts = fleet.soak(range(0, 8)), fleet.soak(range(16, 24)), fleet.soak(range(8, 16))
    assert (parts[0] + parts[1]).ranges == (range(0, 8), range(16, 24))
    assert parts[1] + parts[0] + parts[2] == fleet.soak(24)
    with pytest.raises(easim.EasimError, match="seed 0 is in both reports"):
        parts[0] + parts[0]


def kill_a_worker_once(mark: str, job: dict[str, Any]) -> dict[str, Any]:
    """Play worlds in a process that dies the first time it reaches the middle job."""
    if job["start"] == 40:
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return _fleet_work.soak(job)


def make_processes() -> concurrent.futures.Executor:
    return concurrent.futures.ProcessPoolExecutor(2)


def test_a_killed_process_of_a_pool_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fleet.soak(60)
    work = functools.partial(kill_a_worker_once, str(tmp_path / "killed"))
    seen: list[fleet.Progress] = []
    with _fleet.pool(make_processes) as used:
        run = _fleet.Fleet(work, used, notify=seen.append)
        jobs = fleet._shards(range(60), 6)
        for job in jobs:
            job |= {"profile": None, "forbid": (), "program": None, "report": False}
        run.run(jobs)
        assert used.breaks == 1
    assert (tmp_path / "killed").exists() and not run.lost
    parts = [fleet._part(jobs[index], run.results[index]) for index in range(6)]
    assert fleet._added(parts) == whole
    assert seen[-1].done == seen[-1].total == 6 and seen[-1].retried >= 1


def test_a_broken_pool_that_cannot_be_replaced_names_what_is_missing(tmp_path: Path) -> None:
    with make_processes() as executor:
        dying = executor.submit(signal.raise_signal, signal.SIGKILL)
        assert dying.exception() is not None
        with pytest.raises(fleet.FleetError, match="5 of 5 jobs have no result, the first with seeds 0 to 9") as raised:
            fleet.soak(50, executor=executor, chunk=10)
    assert [seeds for seeds, _ in raised.value.missing] == [range(n, n + 10) for n in range(0, 50, 10)]


def fake_result(**more: Any) -> dict[str, Any]:
    return {"seconds": 0.01, **more}


def run_fleet(work: Callable[[dict[str, Any]], dict[str, Any]], count: int, **options: Any) -> _fleet.Fleet:
    with _fleet.pool(lambda: concurrent.futures.ThreadPoolExecutor(4)) as used:
        run = _fleet.Fleet(work, used, **options)
        run.run([{"number": number} for number in range(count)])
    return run


def test_a_job_that_fails_is_tried_again_and_then_lost() -> None:
    tries: dict[int, int] = {}

    def work(job: dict[str, Any]) -> dict[str, Any]:
        tries[job["number"]] = tries.get(job["number"], 0) + 1
        if job["number"] == 3 or (job["number"] == 5 and tries[5] < 3):
            raise _fleet_work.Lost("no room")
        return fake_result()

    run = run_fleet(work, 10)
    assert run.lost == {3: "no room"}
    assert sorted(run.results) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert tries[3] == 3 and tries[5] == 3 and tries[0] == 1


def test_a_straggler_is_run_a_second_time_and_the_first_result_counts() -> None:
    release = threading.Event()
    calls: list[int] = []

    def work(job: dict[str, Any]) -> dict[str, Any]:
        calls.append(job["number"])
        if job["number"] == 7 and calls.count(7) == 1:
            release.wait(60)
            return fake_result(run="first")
        return fake_result(run="second" if job["number"] == 7 else "only")

    began = time.monotonic()
    try:
        run = run_fleet(work, 8)
        assert run.results[7]["run"] == "second" and run.progress.stragglers == 1
        assert time.monotonic() - began < 50
        assert calls.count(7) == 2 and len(calls) == 9
    finally:
        release.set()


def test_without_speculation_nothing_runs_twice() -> None:
    calls: list[int] = []

    def work(job: dict[str, Any]) -> dict[str, Any]:
        calls.append(job["number"])
        if job["number"] == 3:
            time.sleep(1.5)
        return fake_result()

    run_fleet(work, 4, speculates=False)
    assert sorted(calls) == [0, 1, 2, 3]


def test_a_mistake_in_the_arguments_is_reported_at_once() -> None:
    with pytest.raises(easim.EasimError, match="giveUpp"):
        fleet.soak(50, chunk=10, forbid=["giveUpp"])
    with pytest.raises(easim.EasimError, match="no range of seeds"):
        fleet.soak(range(0, 10, 2))


def test_results_of_different_programs_are_not_added() -> None:
    report = fleet.soak(2)
    other = fleet.SoakReport((range(5, 6),), 0, (), 1, {}, {}, True, "easim 0.0.9")
    with pytest.raises(easim.EasimError, match="easim 0.0.9"):
        report + other


def test_what_had_nothing_to_compare_has_not_passed() -> None:
    none = fleet.SoakReport((), 0, (), 0, {}, {})
    assert not none.passed and "nothing was checked" in str(none)
    assert not fleet.ScenariosReport(()).passed
    assert not hosts.BurstReport(0, 0, 0.0, ()).passed
    assert not hosts.BurstReport(3, 30, 1.0, (0.1, 0.1, 0.1), ["burst 4: the session ended"]).passed


def test_a_part_whose_run_was_stopped_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    result = {"event": "result", "worlds": 5, "verdict": "stopped", "text": "5 worlds; stopped by SIGTERM"}
    monkeypatch.setattr(_fleet_work, "_run", lambda *_: {"output": json.dumps(result)})
    job = {"profile": None, "first": 0, "seeds": 5, "shard": "1/1", "forbid": (), "report": False}
    job |= {"start": 0, "stop": 5}
    with pytest.raises(_fleet_work.Lost, match="stopped by SIGTERM"):
        _fleet_work.soak(job)


def test_scenarios_keep_their_order_and_say_what_failed() -> None:
    report = fleet.scenarios(["flicker", "ghost"], clients=["RobustClient", "naive"])
    assert [(each.scenario, each.client) for each in report.results] == [
        (name, client) for name in ("flicker", "ghost") for client in ("RobustClient", "naive")
    ]
    assert {each.client for each in report.failures} == {"naive"}
    assert not report.passed and "flicker (naive): " in str(report)


def test_load_tests_run_together_and_their_reports_are_merged(tmp_path: Path) -> None:
    addresses = [f"unix:{tmp_path}/{number}.sock" for number in range(2)]
    with easim.Server() as server, server.world() as world:
        for address in addresses:
            world.add("echo", on=address).plug()
        report = fleet.bursts(addresses, ["--count", "15"])
        strict = fleet.bursts(addresses, ["--count", "2", "--fail-if", "p99>1ns"])
    assert report.passed and len(report.reports) == 2
    assert "30 bursts" in str(report)
    assert not strict.passed and strict.merged["passed"] is False and "p99 ≤ 1 ns: " in str(strict)
    with pytest.raises(fleet.FleetError, match="1 of 1 load tests have no result") as raised:
        fleet.bursts([f"unix:{tmp_path}/none.sock"], ["--count", "1", "--timeout", "100ms"])
    assert raised.value.missing[0][0] == f"unix:{tmp_path}/none.sock"


def test_a_lost_worker_of_dask_changes_nothing() -> None:
    distributed = pytest.importorskip("distributed", reason="needs Dask: pip install distributed")
    whole = fleet.soak(200)
    killed: list[int] = []

    def run(client: Any) -> fleet.SoakReport:
        processes = client.run(os.getpid)

        def kill_once(progress: fleet.Progress) -> None:
            if not killed and progress.done < progress.total:
                killed.append(next(iter(processes.values())))
                os.kill(killed[0], signal.SIGKILL)

        return fleet.soak(200, executor=client.get_executor(), chunk=10, progress=kill_once)

    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        report = run(client)
    assert killed, "the run was over before a worker was killed"
    assert report == whole
