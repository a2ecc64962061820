"""Functions that run on the workers of a fleet. Arguments and results are dictionaries, for any executor."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from ._program import find
from .errors import EasimError


class Lost(Exception):
    """A run that ended without a result, and is retried."""


@lru_cache(maxsize=8)
def _version(path: Path) -> str:
    return subprocess.run([str(path), "--version"], capture_output=True, text=True, check=False).stdout.strip()


def _run(job: dict[str, Any], arguments: list[str], codes: tuple[int, ...] = (0, 1)) -> dict[str, Any]:
    """Run the program to its end. Wrong arguments count as a result, since every worker would reject them."""
    began = time.monotonic()
    try:
        path = find(job["program"])
        done = subprocess.run(
            [str(path), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except (EasimError, OSError) as error:
        raise Lost(str(error)) from None
    said = done.stderr.strip()[-2000:]
    if done.returncode == 2:
        return {"refused": said}
    if done.returncode not in codes:
        how = f"was ended by signal {-done.returncode}" if done.returncode < 0 else f"had exit code {done.returncode}"
        raise Lost(f"easim {how}" + (f", and printed: {said}" if said else ""))
    return {"output": done.stdout, "seconds": time.monotonic() - began, "version": _version(path), "said": said}


def soak(job: dict[str, Any]) -> dict[str, Any]:
    """Run the worlds of one shard of a range of seeds."""
    arguments = ["soak", *([job["profile"]] if job["profile"] else []), "--json", "--jobs", "1"]
    # --shard is always passed. Without --shard, variables in a CI job's environment could cause a worker to divide the
    # work again.
    arguments += ["--seed", str(job["first"]), "--seeds", str(job["seeds"]), "--shard", job["shard"]]
    for what in job["forbid"]:
        arguments += ["--forbid", what]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "soak.json"
        done = _run(job, [*arguments, *(["--report", str(path)] if job["report"] else [])])
        if "refused" in done:
            return done
        if job["report"]:
            done["report"] = path.read_text()
    lines = [json.loads(line) for line in done.pop("output").splitlines()]
    done["result"] = next((line for line in lines if line["event"] == "result"), None)
    if done["result"] is None or done["result"]["worlds"] != job["stop"] - job["start"]:
        raise Lost("easim ended before it had run every world")
    if done["result"].get("verdict") in ("stopped", "empty"):
        raise Lost(f"easim has not finished: {done['result']['text']}")
    done["failures"] = [line for line in lines if line["event"] == "failure"]
    return done


def scenario(job: dict[str, Any]) -> dict[str, Any]:
    """Play a scenario."""
    arguments = ["scenario", "run", job["scenario"], "--client", job["client"], "--json"]
    if job["seed"] is not None:
        arguments += ["--seed", str(job["seed"])]
    done = _run(job, arguments)
    if "refused" in done:
        return done
    last = json.loads(done.pop("output").splitlines()[-1])
    if last.get("event") != "result":
        raise Lost("easim ended without a result")
    return {**done, "passed": last["passed"], "text": last["text"]}


def burst(job: dict[str, Any]) -> dict[str, Any]:
    """Run a load test and return its report."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "burst.json"
        # easim has written a report if it exits with one of these codes. Any other code means that the job has failed.
        done = _run(
            job, ["burst", *job["addresses"], *job["arguments"], "--report", str(path)], codes=(0, 1, 3, 4, 5, 6)
        )
        if "refused" not in done:
            if not path.exists():
                raise Lost(done["said"] or "easim wrote no report")
            done["report"] = path.read_text()
    return done
