"""Compares the charts of load test pages with the reports that they are drawn from. Scripts/check-reports runs it."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time

from webdriver import Browser

EASIM = os.environ["EASIM"]
LEGENDS = ("throughput", "map", "percentiles", "attachments")

# JavaScript that returns what a page shows at the current width: the texts and shapes of each chart, and any layout
# mistakes.
READ = r"""
const seen = e => e.getClientRects().length > 0 && getComputedStyle(e).display !== 'none';
const box = e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
const charts = {}, flaws = [];
const root = document.documentElement;
if (root.scrollWidth > root.clientWidth + 1) flaws.push(`the page is ${root.scrollWidth} wide, the window ${root.clientWidth}`);
const hit = (a, b) => Math.min(a[2], b[2]) - Math.max(a[0], b[0]) > 0.5 && Math.min(a[3], b[3]) - Math.max(a[1], b[1]) > 2.5;
for (const figure of document.querySelectorAll('figure')) {
  const pictures = [...figure.querySelectorAll('svg')].filter(seen);
  if (pictures.length !== 1) { flaws.push(`${figure.id} shows ${pictures.length} pictures`); continue; }
  const svg = pictures[0], frame = box(svg), chart = { texts: [], lines: [], cells: [], dots: [], spans: [], marks: [] };
  for (const t of svg.querySelectorAll('text')) {
    const b = box(t), text = t.textContent;
    if (b[0] < frame[0] - 1 || b[2] > frame[2] + 1) flaws.push(`${figure.id}: '${text}' is cut off`);
    for (const o of chart.texts) if (hit(b, o.box)) flaws.push(`${figure.id}: '${text}' overlaps '${o.text}'`);
    const kind = t.classList[0];
    for (const o of chart.texts) if (o.kind === kind && o.text === text && !(kind === 'x' && figure.id.startsWith('trend-'))) flaws.push(`${figure.id}: '${text}' stands twice`);
    chart.texts.push({ kind, text, box: b, value: Number(t.dataset.value), x: +t.getAttribute('x'), y: +t.getAttribute('y') });
    const scale = (frame[2] - frame[0]) / svg.viewBox.baseVal.width;
    if (scale < 0.7) flaws.push(`${figure.id}: texts are drawn at ${scale} of their size`);
  }
  for (const p of svg.querySelectorAll('path.line')) chart.lines.push({ name: p.classList[2],
    points: p.getAttribute('d').slice(1).split(/ ?L/).map(s => s.split(' ').map(Number)) });
  const rect = r => ['x', 'y', 'width', 'height'].map(n => +r.getAttribute(n));
  for (const r of svg.querySelectorAll('rect.heat')) chart.cells.push({ cell: r.dataset.cell.split(' ').map(Number), rect: rect(r),
    shade: +r.classList[1].slice(1), title: r.textContent });
  for (const c of svg.querySelectorAll('circle.dot')) chart.dots.push({ series: c.dataset.series, quantile: +c.dataset.quantile,
    value: +c.dataset.value, x: +c.getAttribute('cx'), y: +c.getAttribute('cy'), title: c.textContent });
  for (const r of svg.querySelectorAll('rect.whole, rect.empty')) chart.spans.push({ whole: r.classList.contains('whole'),
    from: +r.dataset.from, to: +r.dataset.to, rect: rect(r), title: r.textContent });
  for (const g of svg.querySelectorAll('g.mark')) chart.marks.push({ kind: g.classList[1], count: +g.dataset.count,
    value: +g.dataset.value, x: +g.querySelector('line').getAttribute('x1') });
  chart.hover = svg.querySelectorAll('title').length;
  chart.legend = [...figure.querySelectorAll('.legend .key')].map(k => k.textContent.trim()).filter(t => t);
  charts[figure.id] = chart;
}
const text = document.body.innerText, tables = [...document.querySelectorAll('table')].map(t => [...t.rows].map(r => [...r.cells].map(c => c.textContent)));
for (const e of document.querySelectorAll('h1, h2, p, li, dt, dd')) {
  const b = box(e);
  if (b[2] > root.clientWidth + 1) flaws.push(`'${e.textContent.slice(0, 40)}' is wider than the page`);
}
const net = performance.getEntriesByType('resource').map(r => r.name);
return { charts, flaws, text, tables, net, title: document.querySelector('h1').textContent,
  ink: getComputedStyle(document.body).color, page: getComputedStyle(document.body).backgroundColor };
"""


class Scale:
    """From a place to a value, by the texts of an axis."""

    def __init__(self, texts: list[dict], kind: str, logarithmic: bool = False) -> None:
        marks = [t for t in texts if t["kind"] == kind]
        assert len(marks) >= 2, f"an axis has {len(marks)} texts"
        self.logarithmic = logarithmic
        ends = (marks[0], marks[-1])
        self.places = [mark[kind] for mark in ends]
        self.values = [math.log(mark["value"]) if logarithmic else mark["value"] for mark in ends]

    def value(self, place: float) -> float:
        part = (place - self.places[0]) / (self.places[1] - self.places[0])
        value = self.values[0] + part * (self.values[1] - self.values[0])
        return math.exp(value) if self.logarithmic else value

    def place(self, value: float) -> float:
        value = math.log(value) if self.logarithmic else value
        part = (value - self.values[0]) / (self.values[1] - self.values[0])
        return self.places[0] + part * (self.places[1] - self.places[0])


def near(found: float, expected: float, what: str, slack: float = 0.2) -> None:
    assert abs(found - expected) <= slack, f"{what}: drawn at {found}, belongs at {expected:.2f}"


def span(report: dict) -> float:
    """How long the axis of time is, in nanoseconds."""
    return report["warmUpNanoseconds"] + report["measuredNanoseconds"]


def check_throughput(chart: dict, report: dict) -> None:
    series = report["series"]
    slices = series["slices"]
    if not slices:
        return
    x, y = Scale(chart["texts"], "x"), Scale(chart["texts"], "y")
    length = series["sliceNanoseconds"]
    bounds = [index * length for index in range(len(slices))]
    bounds.append(min(len(slices) * length, max(span(report), bounds[-1] + 1e6)))
    flows = [list(flow) for flow in series["flow"]]
    # A short slice at the end is merged with the slice before it.
    if len(flows) > 1 and bounds[-1] - bounds[-2] < length / 2:
        rest = flows.pop()
        flows[-1] = [one + other for one, other in zip(flows[-1], rest)]
        del bounds[-2]
        bounds[-1] = min(bounds[-1], max(span(report), bounds[-2] + 1e6))
    names = {line["name"]: line["points"] for line in chart["lines"]}
    assert "sent" in names, f"the lines are {list(names)}"
    for index, name in enumerate(("sent", "received")):
        if name not in names:
            assert report["plan"]["verification"] == "none"
            continue
        points = names[name]
        assert len(points) == 2 * len(flows), f"{name} has {len(points)} points for {len(flows)} slices"
        for number, flow in enumerate(flows):
            rate = flow[index] / ((bounds[number + 1] - bounds[number]) / 1e9)
            for step in (0, 1):
                place = points[2 * number + step]
                near(place[0], x.place(bounds[number + step]), f"{name} {number} across")
                near(place[1], y.place(rate), f"{name} {number} up")


def check_map(chart: dict, report: dict) -> None:
    cells = report["latencyMap"]["cells"]
    assert sorted(c["cell"] for c in chart["cells"]) == sorted(cells), "the cells are not those of the report"
    assert sum(cell[2] for cell in cells) == report["completed"], "not every burst is in the map"
    if not cells:
        return
    x, y = Scale(chart["texts"], "x"), Scale(chart["texts"], "y", logarithmic=True)
    length = report["latencyMap"]["sliceNanoseconds"]
    most = max(cell[2] for cell in cells)
    for drawn in chart["cells"]:
        column, row, count = drawn["cell"]
        low, high = ((4 + r % 4) << (r // 4 + 8) for r in (row, row + 1))
        near(drawn["rect"][0], x.place(column * length), "cell across")
        near(drawn["rect"][1], y.place(high), "cell up")
        near(drawn["rect"][1] + drawn["rect"][3], y.place(low), "cell down", 1.1)
        assert drawn["shade"] == 5 or count < most, "the cell with the most bursts is not the darkest"
        assert f"{count} burst" in drawn["title"]
    for one in chart["cells"]:
        for other in chart["cells"]:
            assert one["cell"][2] <= other["cell"][2] or one["shade"] >= other["shade"], "more bursts are lighter"


def nines(quantile: float) -> float:
    """0.9 has one nine, 0.99 two; between them along a straight line."""
    left, count = 1 - quantile, 0
    while left < 0.1 and count < 6:
        left, count = left * 10, count + 1
    return count + min(1, (1 - left) / 0.9)


def check_percentiles(chart: dict, report: dict) -> None:
    names = ["latency"] + (["service"] if report.get("service", {}).get("total") else [])
    if not report["latency"]["total"]:
        return
    y = Scale(chart["texts"], "y", logarithmic=True)
    assert {line["name"] for line in chart["lines"]} == set(names)
    for name in names:
        dots = [dot for dot in chart["dots"] if dot["series"] == name]
        points = next(line["points"] for line in chart["lines"] if line["name"] == name)
        assert len(points) == len(dots), f"{name} has {len(dots)} dots on a line of {len(points)} points"
        figures = report[name]
        assert dots[-1]["value"] == figures["max"] and dots[-1]["quantile"] == 1
        x = Scale(chart["texts"], "x")
        for dot, point in zip(dots, points):
            if dot["quantile"] < 1:
                near(dot["x"], x.place(nines(dot["quantile"])), f"{name} {dot['quantile']} across")
            near(dot["y"], y.place(dot["value"]), f"{name} {dot['quantile']}")
            near(dot["y"], point[1], "a dot is not on its line")
            # At least this fraction of all values must be at or below the dot's value.
            below = sum(count for value, count in figures["counts"] if value <= dot["value"])
            assert below >= dot["quantile"] * figures["total"] - 1e-6, f"{name}: {dot} has only {below} below"
        for earlier, later in zip(dots, dots[1:]):
            assert earlier["x"] <= later["x"] and earlier["y"] >= later["y"] - 0.1


def check_attachments(chart: dict, report: dict) -> None:
    started = report["startedNanoseconds"]
    all_of_them = [a for site in report["sites"][:40] for a in site["attachments"]]
    assert len(chart["spans"]) == len(all_of_them), "not every attachment has a bar"
    if not all_of_them:
        return
    x = Scale(chart["texts"], "x")
    for drawn, attachment in zip(chart["spans"], all_of_them):
        start, end = (attachment[key] - started for key in ("fromNanoseconds", "toNanoseconds"))
        assert drawn["whole"] == attachment["offeredProtocols"]
        near(drawn["rect"][0], x.place(start), "attachment from")
        near(drawn["rect"][2], max(1, x.place(end) - x.place(start)), "attachment length", 0.25)
        assert f"{attachment['completed']} completed, {attachment['lost']} lost" in drawn["title"]


def check_marks(charts: dict, report: dict) -> None:
    started, end = report["startedNanoseconds"], span(report)
    expected = {kind: 0 for kind in ("plug", "unplug", "flicker", "error")}
    for site in report["sites"]:
        for attachment in site["attachments"]:
            start, stop = (attachment[key] - started for key in ("fromNanoseconds", "toNanoseconds"))
            if 0 <= start <= end:
                expected["plug" if attachment["offeredProtocols"] else "flicker"] += 1
            if attachment["end"] != "the run ended" and 0 <= stop <= end:
                expected["unplug"] += 1
    expected["phase"] = sum(1 for phase in report["phases"] if phase["fromNanoseconds"] <= end)
    expected["error"] = sum(1 for part in report["series"]["slices"] if part[2] > 0)
    for name in ("throughput", "map"):
        chart = charts[name]
        found = {kind: 0 for kind in expected}
        x = Scale(chart["texts"], "x")
        for mark in chart["marks"]:
            if mark["kind"] != "warm":
                found[mark["kind"]] += mark["count"]
            near(mark["x"], x.place(mark["value"]), f"mark {mark}")
        assert found == expected, f"{name}: marks {found}, expected {expected}"
        assert any(mark["kind"] == "warm" for mark in chart["marks"]) == (report["warmUpNanoseconds"] > 0)


def check_phases(page: dict, report: dict) -> None:
    rows = [row for table in page["tables"] if table[0][0] == "phase" for row in table[1:]]
    assert [(row[0], row[2]) for row in rows] == [
        (phase["pace"], f"{phase['completed']:,}") for phase in report["phases"]
    ], f"the table of phases is {rows}"
    if report["phases"]:
        assert sum(phase["completed"] for phase in report["phases"]) == report["completed"]


def check_sizes(page: dict, report: dict) -> None:
    sizes = report["sizes"]
    assert sizes["total"] == report["completed"], "not every burst has a size"
    if sizes.get("min") != sizes.get("max"):
        shown = {row[0]: row[1] for table in page["tables"] if table[0][1:] == ["bytes"] for row in table[1:]}
        assert shown["min"] == f"{sizes['min']:,}" and shown["max"] == f"{sizes['max']:,}", f"the sizes are {shown}"
    rows = [row for table in page["tables"] if table[0][0] == "burst" for row in table[1:]]
    expected = [(text, f"{one['completed']:,}", f"{one['bytes']:,}") for text, one in zip(report["plan"]["bursts"], report["payloads"])]
    assert [tuple(row[:3]) for row in rows] == expected, f"the table of payloads is {rows}"


def check_words(page: dict, report: dict) -> None:
    titles = {"passed": "Passed", "failed": "Failed", "stopped": "Stopped", "empty": "Empty"}
    assert page["title"].startswith(titles[report["verdict"]]), page["title"]
    assert bool(report["reasons"]) == (not report["passed"])
    facts = list(report["made"].values()) + report["reasons"] + [report["ending"]]
    for site in report["sites"][:200]:
        facts += [site[key] for key in ("name", "accessory", "serial", "firmware", "transport")]
    text = " ".join(page["text"].split())
    for fact in facts:
        assert " ".join(fact.split()) in text, f"'{fact}' is not on the page"
    errors = [row for table in page["tables"] if table[0][0] == "error" for row in table[1:]]
    assert [(row[1], " ".join(row[2].split())) for row in errors] == [
        (f"{error['count']:,}", " ".join(error["first"].split())) for error in report["errors"]
    ]
    assert not page["net"], f"the page fetched {page['net']}"


def check(page: dict, report: dict) -> None:
    assert not page["flaws"], "\n  ".join(page["flaws"][:20])
    charts = page["charts"]
    assert set(charts) == set(LEGENDS), f"the page has the charts {sorted(charts)}"
    for name in LEGENDS:
        assert charts[name]["legend"], f"{name} has no legend"
    check_throughput(charts["throughput"], report)
    check_map(charts["map"], report)
    check_percentiles(charts["percentiles"], report)
    check_attachments(charts["attachments"], report)
    check_marks(charts, report)
    check_words(page, report)
    check_phases(page, report)
    check_sizes(page, report)


def check_trend(page: dict, trend: dict) -> None:
    assert not page["flaws"], "\n  ".join(page["flaws"][:20])
    for name, chart in page["charts"].items():
        figure = name.removeprefix("trend-")
        x, y = Scale(chart["texts"], "x"), Scale(chart["texts"], "y")
        assert [dot["value"] for dot in chart["dots"]] == trend["figures"][figure], figure
        for index, dot in enumerate(chart["dots"]):
            near(dot["x"], x.place(index + 0.5), f"{figure} {index} across")
            near(dot["y"], y.place(dot["value"]), f"{figure} {index} up")
        # Each run's name, with its date below, is on the axis if there is room.
        names = [text["text"] for text in chart["texts"] if text["kind"] == "x"]
        assert set(names[::2]) <= {name.removesuffix(".json") for name in trend["runs"]}, names
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", name) for name in names[1::2]), names


# Runs


def easim(*words: str, expected: int = 0) -> None:
    done = subprocess.run([EASIM, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == expected, f"easim {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"


PLAN = """{
  size: 500, sessions: 2, inFlight: 4, warmUp: '300ms', allowOverdue: true,
  phases: [
    { name: 'ramp', for: '1s', from: 0, rate: 100 },
    { name: 'steady', for: '1s', rate: 100 },
    { name: 'rest', for: '300ms', rate: 0 },
    { name: 'spike', for: '200ms', rate: 400 },
  ],
}"""


MIX = """{
  for: '1s', think: 'exponential,mean=2ms',
  payloads: [
    { name: 'request', weight: 3, send: 'STATUS?\\n', expect: 'prefix:STATUS', read: 'until:\\n' },
    { name: 'data', weight: 1, size: 'lognormal,median=400,sigma=1,most=20000' },
    { name: 'bytes', weight: 1, send: { hex: '01 02 03' } },
  ],
}"""


class Accessory:
    """An echo that runs in a process of its own."""

    def __init__(self, folder: str, *words: str) -> None:
        self.address = f"unix:{folder}/echo-{len(words)}.sock"
        self.process = subprocess.Popen(
            [EASIM, "run", "echo", "--on", self.address, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        path = self.address.removeprefix("unix:")
        for _ in range(600):
            if os.path.exists(path):
                return
            time.sleep(0.05)
        raise SystemExit(f"{path} did not appear")

    def end(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=20)


def long_report(short: dict) -> dict:
    """Ten hours with flickers and errors, as such a run would be written down."""
    report = json.loads(json.dumps(short))
    length, columns = 102_400_000_000, 352
    total = length * columns
    report.update(measuredNanoseconds=total - 600_000_000_000, warmUpNanoseconds=600_000_000_000, lost=40)
    report["series"] = {"sliceNanoseconds": length, "slices": [], "flow": []}
    cells: dict[tuple[int, int], int] = {}
    completed = 0
    for index in range(columns):
        # The slices contain no warm-up bursts.
        measured = (index + 1) * length > 600_000_000_000
        bursts = 4_000 + 300 * (index % 7) - (3_900 if index % 90 == 40 else 0) if measured else 0
        report["series"]["slices"].append([bursts, bursts * 10_000, 3 if index % 90 == 40 else 0])
        report["series"]["flow"].append([bursts * 10_000 + 77, bursts * 10_000])
        rows = ((40, 900), (41, bursts - 1_000), (47, 90), (60, 10)) if bursts > 1_000 else ((40, bursts),)
        for row, share in rows if bursts else ():
            key = (index // 4, row)
            cells[key] = cells.get(key, 0) + share
            completed += share
    report["latencyMap"] = {"sliceNanoseconds": length * 4, "cells": [[*key, cells[key]] for key in sorted(cells)]}
    report["completed"] = completed
    report["bytes"] = completed * 10_000
    report["errors"] = [{"kind": "lost", "count": 40, "first": "a burst in flight was lost: the accessory went away"}]
    # The values have three significant digits, as in easim's histograms.
    counts = [[1_048_576, completed // 2], [1_310_720, completed - completed // 2 - 900], [33_554_432, 900]]
    report["latency"] = {"total": completed, "min": 1_048_576, "max": 33_554_432, "counts": counts}
    report["sizes"] = {"total": completed, "min": 10_000, "max": 10_000, "counts": [[10_000, completed]]}
    report["begun"] = completed + 40 + report["warmUp"]
    # Derived figures are computed when the report is read.
    for key in ("passed", "verdict"):
        del report[key]
    site = report["sites"][0]
    site["attachments"] = []
    step = total // 200
    for number in range(200):
        start = report["startedNanoseconds"] + number * step
        whole = number % 2 == 1
        site["attachments"].append(
            {
                "connectionID": 1_000 + number,
                "offeredProtocols": whole,
                "fromNanoseconds": start,
                "toNanoseconds": start + (step - 2_000_000_000 if whole else 50_000_000),
                "end": "the accessory went away" if number < 199 else "the run ended",
                "completed": 100 if whole else 0,
                "lost": 0,
            }
        )
    return report


def make_reports(folder: str) -> list[str]:
    def targets(name: str) -> list[str]:
        return ["--report", f"{folder}/{name}.json", "--report", f"{folder}/{name}.html"]

    echo = Accessory(folder)
    wide = ["--rate", "120", "--for", "2s", "--warm-up", "500ms", "--sessions", "2", "--in-flight", "2"]
    easim("burst", echo.address, *wide, "--fail-if", "errors>0.1%", "--allow-overdue", *targets("good"))
    slow = ["--fault", "bluetooth", "--rate", "60", "--size", "300", "--count", "60", "--fail-if", "p99>50ms"]
    easim("burst", echo.address, *slow, *targets("failed"), expected=1)
    easim("burst", echo.address, "--count", "1", *targets("short"))
    with open(f"{folder}/plan.json5", "w") as file:
        file.write(PLAN)
    easim("burst", echo.address, "--plan", f"{folder}/plan.json5", *targets("phases"))
    with open(f"{folder}/mix.json5", "w") as file:
        file.write(MIX)
    easim("burst", echo.address, "--plan", f"{folder}/mix.json5", *targets("mix"))
    easim("burst", echo.address, "--count", "20", "--verify", "none", *targets("unanswered"))
    flicker = Accessory(folder, "--quirk", "flicker,empty=80ms,gap=80ms")
    easim("burst", flicker.address, "--count", "40", *targets("flicker-start"))
    # The accessory disconnects and returns while bursts are being sent.
    words = ["--rate", "100", "--for", "4s", "--reconnect", "--allow-lost", "--allow-overdue", *targets("flickering")]
    burst = subprocess.Popen([EASIM, "burst", flicker.address, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    flicker.end()
    flicker = Accessory(folder, "--quirk", "flicker,empty=80ms,gap=80ms")
    assert burst.wait(timeout=60) == 0
    flicker.end()
    echo.end()
    with open(f"{folder}/good.json") as file:
        report = long_report(json.load(file))
    with open(f"{folder}/long.json", "w") as file:
        json.dump(report, file)
    files = ["--report", f"{folder}/long.html", "--report", f"{folder}/long.json2.json"]
    easim("report", "show", f"{folder}/long.json", *files, expected=1)
    os.replace(f"{folder}/long.json2.json", f"{folder}/long.json")
    return ["good", "failed", "short", "phases", "mix", "unanswered", "flicker-start", "flickering", "long"]


def show(browser: Browser, path: str, *, width: int, dark: bool = False, paper: bool = False) -> None:
    browser.resize(width, 900)
    browser.media(dark=dark, paper=paper)
    browser.open(f"file://{path}")


def check_first_screen(browser: Browser, folder: str, name: str) -> None:
    """Four figures and both charts over time are on the first screen, and the verdict has its colour."""
    browser.resize(1280, 800)
    browser.open(f"file://{folder}/{name}.html")
    ends = browser.run(
        "return ['.figures', '#throughput svg.wide', '#map svg.wide'].map((one) => document.querySelector(one).getBoundingClientRect().bottom)"
    )
    assert all(end <= 810 for end in ends), f"the first screen ends before {ends}"
    assert browser.run("return document.querySelectorAll('.figures p').length") == 4
    ink = browser.run("return [...document.querySelectorAll('h1, p.run')].map((one) => getComputedStyle(one).color)")
    assert ink[0] != ink[1], f"the verdict has no colour: {ink}"


def main() -> None:
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    names = make_reports(folder)
    browser = Browser()
    failures = 0
    try:
        for name in names:
            with open(f"{folder}/{name}.json") as file:
                report = json.load(file)
            colors = {}
            for look, options in (
                ("light", {"width": 1000}),
                ("dark", {"width": 1000, "dark": True}),
                ("phone", {"width": 360}),
                ("print", {"width": 700, "paper": True}),
            ):
                show(browser, f"{folder}/{name}.html", **options)
                page = browser.run(READ)
                colors[look] = (page["ink"], page["page"])
                browser.screenshot(f"{folder}/{name}-{look}.png", whole=True)
                try:
                    check(page, report)
                    if look == "light":
                        check_first_screen(browser, folder, name)
                except AssertionError as error:
                    failures += 1
                    print(f"check-reports: {name}, {look}: {error}", file=sys.stderr)
            if colors["light"] == colors["dark"]:
                failures += 1
                print(f"check-reports: {name}: dark looks like light", file=sys.stderr)
            browser.pdf(f"{folder}/{name}.pdf")
        files = [f"{folder}/{name}.json" for name in ("good", "flickering", "good", "flicker-start", "failed")]
        easim("report", "compare", *files, "--report", f"{folder}/trend.html", "--report", f"{folder}/trend.json")
        with open(f"{folder}/trend.json") as file:
            trend = json.load(file)
        for look, options in (("light", {"width": 1000}), ("phone", {"width": 360, "dark": True})):
            show(browser, f"{folder}/trend.html", **options)
            browser.screenshot(f"{folder}/trend-{look}.png", whole=True)
            try:
                check_trend(browser.run(READ), trend)
            except AssertionError as error:
                failures += 1
                print(f"check-reports: trend, {look}: {error}", file=sys.stderr)
    finally:
        browser.close()
    if failures:
        raise SystemExit(f"check-reports: {failures} of {4 * len(names)} looks are wrong")
    print(f"check-reports: {len(names)} pages in 4 looks are as their reports say")


main()
