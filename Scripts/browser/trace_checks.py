"""The checks of Scripts/check-trace: traces of runs as they open from a file, without a network."""
import json
import re
import signal
import subprocess
import tempfile
import time

from easim_site import Site
from webdriver import Browser

CHECKS = {}
READY = "return document.documentElement.dataset.ready === 'true'"


def check(body):
    CHECKS[body.__name__.replace("_", "-")] = body
    return body


def run(easim, *words, ends=(0,)):
    """Runs a command to its end; returns what it printed."""
    done = subprocess.run([easim, *map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode in ends, f"easim {' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class Running:
    """A command that is at work until it is told to end."""

    def __init__(self, easim, *words):
        self.process = subprocess.Popen([easim, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:
            if "plugged in" in line:
                return
        raise AssertionError(f"easim {' '.join(map(str, words))} was not plugged in")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)


def opened(browser, path, patience=60):
    """Opens a trace with the network off; its console must be silent."""
    browser.devtools("Network.enable")
    browser.devtools("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)
    browser.open(f"file://{path}")
    browser.wait(READY, what=f"{path.name} is ready", patience=patience)


def silent(browser):
    found = [one for one in browser.errors() if "favicon" not in one]
    assert not found, found[0]


def looked_at(browser, path, out, word, kinds, name=None):
    """What every trace must have: its verdict, the lanes, the packets with fields and bytes, filters, the log."""
    opened(browser, path)
    text = browser.text(".trace-verdict")
    assert text.lower().startswith(word), f"{path.name}: {text}"
    assert "easim" in browser.text(".trace-head code") or "test" in browser.text(".trace-head code")
    assert browser.text("#program").startswith("easim"), browser.text("#program")
    drawn = set(browser.wait("return easim.lanes.drawn.length > 0 && easim.lanes.drawn.map((one) => one.kind)", what="lanes"))
    assert set(kinds) <= drawn, f"{path.name}: {kinds} are not all in {drawn}"
    total = browser.run("return easim.packets.all.length")
    assert total > 15, f"{path.name} has {total} packets"
    browser.run("const at = easim.packets.list.rows.findIndex((one) => one.text.includes('1D01')); easim.packets.list.select(at)")
    browser.wait("return document.querySelectorAll('.node').length > 10", what="fields of an identification")
    assert browser.run("return document.querySelectorAll('.dump span').length") > 40
    sums = browser.run("return [...document.querySelectorAll('.node')].map((one) => one.textContent).filter((text) => text.includes('checksum'))")
    assert len(sums) == 2 and all("right" in one for one in sums), sums
    browser.type("#packet-filter", "1d01")
    browser.wait("return easim.packets.shown.length > 0 && easim.packets.shown.length < arguments[0]", total, what="the filter")
    browser.run("const f = document.querySelector('#packet-filter'); f.value = ''; f.dispatchEvent(new Event('input'))")
    browser.click("#tab-log")
    browser.wait("return document.querySelectorAll('#view-log .row').length > 3", what="the log")
    browser.click("#tab-packets")
    wide = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1], f"{path.name} is {wide[0]} wide"
    silent(browser)
    browser.screenshot(out / f"{path.stem}.png", whole=True)
    size = path.stat().st_size - browser.run("return JSON.stringify(easim.data).length")
    assert size < 1_000_000, f"{path.name} has {size} bytes without its data"
    return total


@check
def a_demo(easim, out):
    path = out / "demo.html"
    run(easim, "demo", "--virtual", "--trace", path)
    with Browser() as browser:
        count = looked_at(browser, path, out, "passed", ["bare", "whole", "link", "phase"])
        browser.wait("return easim.world.lanes.phases.some((one) => one.text.startsWith('flicker, '))", what="the flicker by its name")
    return f"{count} packets, {path.stat().st_size // 1000} kB"


@check
def a_run_and_a_send_with_lost_packets(easim, out):
    with tempfile.TemporaryDirectory() as folder:
        place = f"unix:{folder}/echo.sock"
        with Running(easim, "run", "echo", "--on", place, "--fault", "loss,chance=8%,kind=data", "--seed", 7, "--trace", out / "run.html"):
            run(easim, "send", place, "--text", "hello", "--expect", "echo", "--timeout", "60s", "--trace", out / "send.html")
            run(easim, "burst", place, "--count", 40, "--timeout", "60s", ends=(0, 1, 4, 5))
    with Browser() as browser:
        looked_at(browser, out / "send.html", out, "passed", ["whole", "session", "link"])
        browser.type("#packet-filter", "hello")
        browser.wait("return easim.packets.shown.length >= 2 && easim.packets.shown.every((one) => one.data.includes('hello'))", what="'hello' finds its packets")
        browser.click("[data-action=follow-session]")
        texts = browser.wait("const all = [...document.querySelectorAll('.dialogue pre')].map((one) => one.textContent); return all.length === 2 && all", what="the dialogue")
        assert texts == ["hello", "hello"], texts
        browser.click("[data-action=close-dialogue]")
        count = looked_at(browser, out / "run.html", out, "finished", ["whole", "session", "hit", "shade"])
        lost = browser.run("return easim.packets.all.filter((one) => one.event === 'fault').length")
        assert lost > 0, "no packet was lost"
        again = browser.run("return easim.packets.all.filter((one) => one.first).map((one) => one.note)")
        assert again and re.match(r"sent again: first was #\d+, [\d.]+ m?s before", again[0]), again[:2]
        assert browser.run("return easim.packets.all.some((one) => one.lostBy?.startsWith('lost by loss'))"), "no packet says that it was lost"
        # From the mark in the lanes to its packet, and back.
        x, y = browser.run("""const hit = easim.lanes.drawn.find((one) => one.kind === 'hit'), box = easim.lanes.canvas.getBoundingClientRect();
          return [box.left + hit.x, box.top + hit.y + 4]""")
        browser.move(x, y, click=True)
        browser.wait("return easim.packets.list.rows[easim.packets.list.chosen]?.event === 'fault'", what="a click on the mark chooses its packet")
        browser.run("easim.packets.list.select(3)")
        assert browser.run("return easim.lanes.cursor === easim.packets.list.rows[3].t"), "a packet marks its moment in the lanes"
        # A range of time shows what is in it.
        browser.run("easim.lanes.select({t0: easim.world.lanes.last / 2, t1: easim.world.lanes.last})")
        shown = browser.run("return [easim.packets.shown.length, easim.packets.shown[0].t >= easim.lanes.range.t0]")
        assert 0 < shown[0] < count and shown[1], shown
        assert "packets" in browser.text(".range") and "of data" in browser.text(".range"), browser.text(".range")
        silent(browser)
    return f"{lost} lost, {len(again)} sent again"


@check
def a_burst_and_a_check(easim, out):
    with tempfile.TemporaryDirectory() as folder:
        place = f"unix:{folder}/echo.sock"
        with Running(easim, "run", "echo", "--on", place):
            run(easim, "burst", place, "--count", 50, "--trace", out / "burst.html")
        with Running(easim, "run", "echo", "--on", place):
            run(easim, "check", place, "--trace", out / "check.html", "--report", out / "check-report.html", ends=(0, 1))
    with Browser() as browser:
        bursts = looked_at(browser, out / "burst.html", out, "passed", ["whole", "session", "link"])
        assert browser.run("return easim.world.lanes.sessions.some((one) => one.total >= 500000)"), "the throughput of the session is missing"
        checks = looked_at(browser, out / "check.html", out, "passed", ["whole", "session"])
    return f"{bursts} and {checks} packets"


@check
def a_scenario_with_either_client_and_a_seed_that_fails(easim, out):
    run(easim, "scenario", "run", "flicker", "--trace", out / "robust.html")
    run(easim, "scenario", "run", "flicker", "--client", "naive", "--trace", out / "naive.html", ends=(1,))
    run(easim, "soak", "--seeds", 20, "--forbid", "retransmission", "--trace", out / "soak.html", ends=(1,))
    with Browser() as browser:
        looked_at(browser, out / "robust.html", out, "passed", ["bare", "whole"])
        looked_at(browser, out / "naive.html", out, "failed", ["bare", "whole"])
        looked_at(browser, out / "soak.html", out, "failed", ["whole"])
        return browser.text(".trace-verdict")


@check
def a_replay_and_a_capture(easim, out):
    capture = out / "session.pcapng"
    with tempfile.TemporaryDirectory() as folder:
        place = f"unix:{folder}/echo.sock"
        with Running(easim, "run", "echo", "--on", place):
            run(easim, "send", place, "--text", "recorded", "--expect", "echo", "--capture", capture)
        with Running(easim, "replay", capture, "--on", place, "--trace", out / "replay.html"):
            run(easim, "send", place, "--text", "recorded", ends=(0, 1, 5))
    run(easim, "trace", capture, "--out", out / "capture.html")
    listed = [json.loads(line) for line in run(easim, "decode", "--json", capture, ends=(0, 1)).splitlines()]
    with Browser() as browser:
        looked_at(browser, out / "replay.html", out, "passed", ["whole"])
        count = looked_at(browser, out / "capture.html", out, "capture", ["whole", "session"])
        wanted = [one["text"] for one in listed if one.get("event") in ("packet", "spoiled", "detection", "skipped")]
        texts = browser.run("return easim.packets.all.map((one) => one.text)")
        assert texts == wanted, f"{len(texts)} packets, decode has {len(wanted)}"
    return f"{count} packets, as decode has them"


@check
def its_fields_are_those_of_the_server(easim, out):
    path = out / "world.html"
    with Site(easim) as site, Browser() as browser:
        site.rpc("packet.record")
        site.rpc("accessory.add", profile="echo", quirks=["flicker"])
        site.rpc("app.launch", name="Demo")
        site.rpc("accessory.plug", accessory="a1")
        site.until(lambda: site.accessory("a1")["whole"], "plugged in")
        session = site.until(lambda: site.rpc("app.accessories", app="p1")["accessories"], "seen") and site.rpc("app.open", app="p1", protocol="com.example.echo")["session"]
        for text in ["hello", "grüße", "\x00\x01\x02"]:
            site.rpc("session.write", session=session, text=text)
        site.until(lambda: site.rpc("session.read", session=session, wait="1s") and site.rpc("session.state", session=session)["bytesRead"] >= 15, "echoes")
        path.write_text(site.rpc("trace.get", verdict="failed", text="tried")["html"])
        packets = site.rpc("packet.list", limit=5000, bytes=True)["packets"]
        opened(browser, path)
        assert browser.text(".trace-verdict") == "Failed: tried", browser.text(".trace-verdict")
        browser.wait("return easim.lanes.drawn.some((one) => one.lane === 'app p1' && one.kind === 'session')", what="the app's lane with its session")
        keys = ["number", "cable", "accessory", "from", "event", "control", "seq", "ack", "session", "length", "text", "data", "externalSession", "hex"]
        mine = browser.run("return easim.packets.all.map((one) => Object.fromEntries(arguments[0].map((key) => [key, one[key] ?? null])))", keys)
        theirs = [{key: one.get(key) for key in keys} for one in packets[:len(mine)]]
        for left, right in zip(mine, theirs):
            assert left == right, f"{left}\n{right}"
        for one in packets[:len(mine)]:
            there = browser.run_later("return (await easim.packets.source.get('', arguments[0])).fields".replace("arguments[0]", str(one["number"])))
            here = site.rpc("packet.get", number=one["number"])["fields"]
            assert there == here, f"packet {one['number']}: {there}\n{here}"
    return f"{len(mine)} packets with equal fields"


@check
def a_hundred_thousand_packets_open_in_two_seconds(easim, out):
    source = (out / "burst.html")
    if not source.exists():
        a_burst_and_a_check(easim, out)
    text = source.read_text()
    start = text.index('id="data">') + len('id="data">')
    data = json.loads(text[start:text.index("</script>", start)])
    rows = data["packets"]
    made = []
    span = rows[-1][0] - rows[0][0] + 1000
    while len(made) < 100_000:
        shift = len(made) // len(rows) * span
        # With short payloads, as the limit would make them.
        made += [[row[0] + shift, *row[1:5], row[5][:88] if len(row[5]) > 88 else row[5], row[6] + max(0, len(row[5]) - 88) * 3 // 4, *row[7:]] for row in rows]
    data["packets"] = made[:100_000]
    path = out / "many.html"
    path.write_text(text[:start] + json.dumps(data).replace("<", "\\u003c") + text[text.index("</script>", start):])
    with Browser() as browser:
        browser.open("about:blank")
        worked = browser.worked()
        opened(browser, path)
        browser.wait("return easim.packets.shown.length === 100000", what="the list")
        worked = browser.worked() - worked
        assert browser.run("return easim.source?.all.length ?? easim.packets.source.all.length") == 100_000
        begin = time.monotonic()
        browser.type("#packet-filter", "1D01")
        browser.wait("return easim.packets.shown.length > 0 && easim.packets.shown.length < 10000", what="the filter")
        filtered = time.monotonic() - begin
        silent(browser)
    assert worked < 2, f"opening takes {worked:.1f} s of processor time"
    return f"{path.stat().st_size / 1e6:.1f} MB, {worked:.1f} s of processor time; filtered in {filtered:.1f} s"


@check
def what_does_not_fit_is_left_out_and_said(easim, out):
    path = out / "limited.html"
    with tempfile.TemporaryDirectory() as folder:
        place = f"unix:{folder}/echo.sock"
        with Running(easim, "run", "echo", "--on", place):
            run(easim, "burst", place, "--count", 400, "--trace", path, "--trace-limit", "500kB")
    size = path.stat().st_size
    assert size < 1_000_000, f"{size} bytes"
    with Browser() as browser:
        opened(browser, path)
        left = browser.text(".left")
        assert left and left.startswith("Omitted to keep this file below 500 kB: "), left
        silent(browser)
    return left


@check
def hostile_names_stay_text_and_small_screens_fit(easim, out):
    hostile = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">\u202eevil"
    profile = {"version": 1, "description": "a name", "accessory": {
        "name": hostile, "manufacturer": hostile, "modelNumber": "M", "serialNumber": "S", "firmwareRevision": "1",
        "hardwareRevision": "1", "protocols": ["com.example.echo"]}, "behavior": "echo"}
    path = out / "hostile.html"
    (out / "hostile.json5").write_text(json.dumps(profile))
    run(easim, "demo", out / "hostile.json5", "--virtual", "--trace", path, ends=(0, 1))
    with Browser() as browser:
        opened(browser, path)
        assert "broken" not in browser.run("return document.title").replace("hostile", ""), "a name became markup"
        assert browser.run("return document.images.length") == 0
        assert "\u202e" not in browser.run("return document.body.textContent")
        silent(browser)
    for width, dark in [(390, False), (390, True), (1280, True)]:
        with Browser(width, 800, dark=dark) as browser:
            opened(browser, path)
            wide = browser.run("return document.documentElement.scrollWidth")
            assert wide <= width, f"{wide} wide at {width}"
            browser.screenshot(out / f"hostile-{width}{'-dark' if dark else ''}.png", whole=True)


@check
def both_clients_stand_side_by_side_with_the_lost_packets(easim, out):
    path = out / "sides.html"
    run(easim, "scenario", "run", "session-closed-by-the-accessory", "--fault", "loss,chance=20%", "--seed", 3, "--trace", path, ends=(0, 1))
    with Browser() as browser:
        opened(browser, path)
        names = browser.run("return [...document.querySelectorAll('.sides h2')].map((one) => one.textContent)")
        assert len(names) == 2 and names[0].startswith("robust client") and names[1].startswith("naive client"), names
        boxes = browser.run("return [...document.querySelectorAll('.sides canvas')].map((one) => one.getBoundingClientRect()).map((box) => [box.left, box.right, box.height])")
        assert boxes[0][1] < boxes[1][0] and all(box[2] > 100 for box in boxes), boxes
        # The second run's lost packet is one click away.
        browser.wait("return document.querySelectorAll('.sides .lost').length === 2", what="the lost packets of both")
        browser.click(".sides section:nth-of-type(2) .lost button")
        browser.wait("return easim.made.name.startsWith('naive')", what="its packets are shown")
        lost = browser.wait("const one = easim.packets.list.rows[easim.packets.list.chosen]; return one && [one.lostBy ?? one.note, easim.lanes.cursor === one.t]", what="the lost packet is chosen")
        assert lost[0].startswith("lost by loss") and lost[1], lost
        browser.wait("return easim.lanes.drawn.some((one) => one.kind === 'hit')", what="the mark in the lanes")
        silent(browser)
        browser.screenshot(out / "sides.png", whole=True)
    return str(names)


@check
def reports_of_scenarios_and_checks_link_to_their_traces(easim, out):
    folder = out / "linked"
    (folder / "reports").mkdir(parents=True, exist_ok=True)
    run(easim, "scenario", "run", "--all", "--report", folder / "reports/all.html", "--trace", folder / "all trace.html")
    with tempfile.TemporaryDirectory() as sockets:
        place = f"unix:{sockets}/echo.sock"
        with Running(easim, "run", "echo", "--on", place):
            run(easim, "check", place, "--only", "201-205", "--report", folder / "reports/check.html", "--trace", folder / "check.html")
    with Browser() as browser:
        browser.open(f"file://{folder}/reports/all.html")
        links = browser.run("return [...document.querySelectorAll('.cases a')].map((one) => one.href)")
        assert len(links) > 40 and all(one.startswith(f"file://{folder}/all%20trace.html#") for one in links), links[:2]
        browser.run("[...document.querySelectorAll('.cases a')].find((one) => one.href.endsWith('#flicker')).click()")
        browser.wait(READY, what="the trace opens")
        assert browser.run("return document.querySelector('#group').value") == "flicker"
        assert browser.run("return easim.runs.map((one) => one.isGood)") == ["passed", "failed"]
        silent(browser)
        browser.open(f"file://{folder}/reports/check.html")
        browser.run("document.querySelectorAll('.cases a')[2].click()")
        browser.wait(READY, what="the trace opens")
        row = browser.wait("const one = easim.events.list.rows[easim.events.list.chosen]; return one && [one.text, easim.lanes.cursor === one.t]", what="the case is chosen in the log")
        assert "203" in row[0] and row[1], row
        silent(browser)
    size = (folder / "all trace.html").stat().st_size
    return f"{len(links)} scenarios in {size / 1e6:.1f} MB"
