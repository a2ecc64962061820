"""The checks of Scripts/check-page. Each presses what a user presses and asks the server, not the page, what came of it."""
import json
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request

from easim_site import PATIENCE, Site
from webdriver import Browser

CHECKS = {}


def check(body):
    CHECKS[body.__name__.replace("_", "-")] = body
    return body


class Setting:
    """What all checks share."""

    def __init__(self, easim, files, out):
        self.easim, self.files, self.out = easim, files, out

    def site(self, arguments=None, port=None):
        return Site(self.easim, arguments, self.files, port)


READY = "return document.documentElement.dataset.ready === 'true' && easim.store.state === 'live'"


def opened(browser, site):
    browser.open(site.address)
    browser.wait(READY, what="the page is ready")


def press(browser, action, inside=""):
    """Presses a control, once it can be pressed. What is folded away is unfolded, as a user does."""
    selector = f"{inside} [data-action='{action}']"
    browser.wait("""
      const found = document.querySelector(arguments[0]);
      for (let at = found?.closest('details'); at; at = at.parentElement?.closest('details')) at.open = true;
      return found && !found.disabled""", selector, what=f"{selector} can be pressed")
    browser.click(selector)


def silent(browser):
    """The page reports no error in its console: no script failed, no rule of its policy was broken."""
    found = [one for one in browser.errors() if "favicon" not in one]
    assert not found, found[0]


def set_value(browser, selector, value, event="input"):
    browser.run("""
      const found = document.querySelector(arguments[0]);
      found.value = arguments[1];
      found.dispatchEvent(new Event(arguments[2], {bubbles: true}))""", selector, value, event)


# Chooses an identification in the list of packets.
CHOOSE = """
  const list = easim.desk.packets.list, at = list.rows.findIndex((one) => one.text.includes('1D01'));
  if (at >= 0) list.select(at);
  return at >= 0"""


# Trust


@check
def opens_within_a_second(setting):
    with setting.site() as site, Browser() as browser:
        opened(browser, site)
        browser.open("about:blank")
        page, server = browser.worked(), site.worked()
        opened(browser, site)
        page, server = browser.worked() - page, site.worked() - server
        silent(browser)
        # Processor time, because other work on the machine makes a clock run ahead of the page.
        assert page + server < 1, f"opening takes the page {page:.2f} s and the server {server:.2f} s of processor time"
        waited = browser.run("return performance.getEntriesByName('ready')[0].startTime")
        return f"{page * 1000:.0f} ms of the page and {server * 1000:.0f} ms of the server; ready after {waited:.0f} ms"


@check
def the_files_are_served_with_a_strict_policy_and_to_this_host_only(setting):
    with setting.site() as site:
        with urllib.request.urlopen(f"{site.base}/") as answer:
            policy = answer.headers["Content-Security-Policy"]
        for part in ["default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'", "frame-ancestors 'none'"]:
            assert part in policy, policy
        assert "unsafe" not in policy, policy
        for path in ["/", "/main.js", "/rpc"]:
            request = urllib.request.Request(f"{site.base}{path}", headers={"Host": "evil.example"})
            try:
                urllib.request.urlopen(request)
                raise AssertionError(f"{path} was served to a foreign Host")
            except urllib.error.HTTPError as error:
                assert error.code == 421, error.code


@check
def a_wrong_token_shows_nothing_and_the_right_one_connects(setting):
    with setting.site() as site, Browser() as browser:
        browser.open(f"{site.base}/#0123")
        browser.wait("return document.querySelector('#status').dataset.state === 'token'", what="the page says that the token is wrong")
        assert not browser.run("return document.querySelector('.accessory')"), "something is shown without the token"
        browser.type("#token", site.address)
        browser.click("#notice button")
        browser.wait(READY, what="the page connects with the right token")


@check
def hostile_names_stay_text(setting):
    hostile = "<img src=x onerror=\"document.title='broken'\">\u202eevil\u0007\u001b[31m\nline"
    names = [hostile, "Prüfgerät für Müßiggänger", "李未可 View AI眼镜", "</script><script>document.title='broken'</script>"]
    with setting.site() as site, Browser() as browser:
        for number, name in enumerate(names):
            profile = {"version": 1, "description": "a name", "accessory": {
                "name": name, "manufacturer": name, "modelNumber": "M", "serialNumber": f"S{number}",
                "firmwareRevision": "1", "hardwareRevision": "1", "protocols": [f"com.example.n{number}"]}, "behavior": "echo"}
            id = site.rpc("accessory.add", profile=profile)["accessories"][0]
            site.rpc("accessory.plug", accessory=id)
        site.rpc("app.launch", name=hostile)
        opened(browser, site)
        browser.wait("return document.querySelectorAll('.accessory').length === 4", what="four cards")
        browser.wait("return document.querySelector('.app .sees')?.children.length === 4", what="the app sees four accessories")
        assert browser.run("return document.images.length") == 0
        assert browser.run("return document.title") == "easim"
        text = browser.run("return document.body.innerText")
        assert "<img src=x" in text and "李未可" in text and "Prüfgerät" in text, text[:500]
        for character in "\u202e\u0007\u001b":
            assert character not in browser.run("return document.body.textContent"), f"{ord(character):04x} is shown as it is"
        browser.click("#tab-packets")
        browser.wait("return easim.desk.packets.all.length > 20", what="packets")
        browser.wait(CHOOSE, what="a packet to choose")
        browser.wait("return document.querySelectorAll('.node').length > 5", what="fields of a packet")
        assert browser.run("return document.images.length") == 0
        silent(browser)


# Controls


@check
def every_control_of_an_accessory_acts_on_it(setting):
    with setting.site() as site, Browser() as browser:
        opened(browser, site)
        browser.type("#profile-search", "lawk")
        browser.wait("return document.querySelector('#profile').options.length === 1", what="the search finds one profile")
        set_value(browser, "#add-accessory .chooser:nth-of-type(3) select", "flicker", "change")
        set_value(browser, "#add-accessory fieldset[data-kind=flicker] [data-key=empty]", "120ms")
        set_value(browser, "#add-accessory .chooser:nth-of-type(4) select", "latency", "change")
        set_value(browser, "#add-accessory fieldset[data-kind=latency] [data-key=delay]", "3ms")
        shown = browser.text("#call-json").splitlines()[0]
        press(browser, "add-accessory", "#add-accessory")
        state = site.until(lambda: site.accessory("a1"), "the accessory is there")
        assert [text(quirk) for quirk in state["quirks"]] == ["flicker,empty=120ms"], state["quirks"]
        assert site.rpc("fault.list", accessory="a1")["faults"][0]["text"] == "latency,delay=3ms"
        # The request that was shown is one that does the same.
        params = json.loads(shown)["params"]
        assert params == {"profile": "lawk-view", "quirks": ["flicker,empty=120ms"], "faults": ["latency,delay=3ms"]}, params
        card = ".accessory[data-accessory=a1]"
        whole = lambda: site.accessory("a1")["whole"]  # noqa: E731
        site.until(whole, "it is whole after the flicker")
        plugs = [one["params"]["event"] for one in site.events() if one["method"] == "event"]
        plugs = [one["accessory"]["protocols"] for one in plugs if one["event"] == "attach" and one["side"] == "accessory"]
        assert [len(one) for one in plugs] == [0, 1], plugs

        press(browser, "unplug", card)
        site.until(lambda: not site.accessory("a1")["plugged"], "it is unplugged")
        press(browser, "plug", card)
        site.until(whole, "it is whole again")
        press(browser, "pull", card)
        site.until(lambda: not site.accessory("a1")["plugged"], "it is pulled")
        press(browser, "remove-quirk-flicker", card)
        site.until(lambda: site.accessory("a1")["quirks"] == [], "the quirk is gone")
        press(browser, "flicker", card)
        site.until(whole, "it flickered and is whole")
        assert text(site.accessory("a1")["quirks"][0]).startswith("flicker")
        plugs = lambda: [one["params"]["event"]["accessory"]["protocols"] for one in site.events()  # noqa: E731
                         if one["method"] == "event" and one["params"]["event"]["event"] == "attach" and one["params"]["event"]["side"] == "accessory"]
        count = len(plugs())
        browser.wait("return easim.desk.world().accessories[0]?.whole", what="the page knows that it is plugged in")
        press(browser, "flicker", card)
        site.until(lambda: [len(one) for one in plugs()[count:]] == [0, 1], "it flickered while it was plugged in")
        site.until(whole, "it is whole after that")
        before = len(site.events())
        press(browser, "reset-link", card)
        site.until(lambda: any(one["params"].get("event", {}) != {} and one["params"]["event"]["event"] == "disconnect"
                               for one in site.events(after=before) if one["method"] == "event"), "the link was reset")
        site.until(whole, "it is back after the reset")
        press(browser, "restart", card)
        site.until(lambda: not site.accessory("a1")["plugged"], "it is away for the restart")
        site.until(whole, "it is back after the restart")

        app = site.rpc("app.launch")["app"]
        site.until(lambda: site.rpc("app.accessories", app=app)["accessories"], "the app sees it")
        for action in ["close-sessions", "forget-sessions"]:
            session = site.rpc("app.open", app=app, protocol="com.lawaken.iap2")["session"]
            before = len(site.events())
            press(browser, action, card)
            if action == "close-sessions":
                site.until(lambda: not site.rpc("session.state", session=session)["open"], "the session is closed")
            else:
                site.until(lambda: any("forgotten" in str(one["params"].get("event", {}).get("text", ""))
                                       for one in site.events(after=before) if one["method"] == "event"),
                           "the accessory has forgotten the session")
                site.rpc("session.write", session=session, text="anyone there?")
                assert site.rpc("session.read", session=session, wait="300ms")["bytes"] == 0, "a forgotten session answered"
                site.rpc("session.close", session=session)

        set_value(browser, f"{card} [data-action=add-fault]", "bluetooth", "change")
        site.until(lambda: len(site.accessory("a1")["faults"]) == 3, "the preset has two faults")
        press(browser, "remove-fault", f"{card} .fault:nth-of-type(1)")
        site.until(lambda: len(site.accessory("a1")["faults"]) == 2, "a fault is removed")
        set_value(browser, f"{card} details:nth-of-type(2) .chooser select", "no-status", "change")
        press(browser, "add-quirks", card)
        site.until(lambda: "no-status" in [text(one) for one in site.accessory("a1")["quirks"]], "a quirk is added")
        press(browser, "pull-unnoticed", card)
        site.until(lambda: not site.accessory("a1")["plugged"], "it is pulled")
        press(browser, "remove-accessory", card)
        site.until(lambda: site.accessory("a1") is None, "it is gone")
        browser.wait("return !document.querySelector('.accessory')", what="its card is gone")
        silent(browser)


def text(quirk):
    return quirk if isinstance(quirk, str) else quirk["name"]


@check
def every_control_of_an_app_and_a_session_acts_on_it(setting):
    with setting.site() as site, Browser() as browser:
        site.rpc("accessory.add", profile="echo")
        site.rpc("accessory.plug", accessory="a1")
        opened(browser, site)
        browser.type("#app-name", "Prüf")
        browser.type("#app-protocols", "com.example.echo")
        browser.click("#app-background")
        press(browser, "launch-app")
        state = site.until(lambda: site.app("p1"), "the app runs")
        assert state["name"] == "Prüf" and state["state"] == "foreground", state
        card = ".app[data-app=p1]"
        press(browser, "open", card)
        site.until(lambda: site.app("p1")["sessions"], "a session is open")
        browser.wait("return document.querySelector('.app .session')", what="the session is shown")
        browser.wait("return document.querySelectorAll('.lines polyline').length === 1", what="a line for the session")
        total = 0
        for action, typed, count in [("send-text", "grüße", 7), ("send-hex", "00 ff 10", 3), ("send-10k", None, 10_000)]:
            if typed:
                browser.type(f"{card} .sender input", typed)
            press(browser, action, card)
            total += count
            site.until(lambda: site.rpc("session.state", session="s1")["bytesRead"] == total, f"{total} bytes came back")
            browser.wait("return document.querySelector('.verdict').textContent.startsWith(arguments[0])", f"{count} bytes came back, equal")
        browser.type(f"{card} .sender input", "xyz")
        press(browser, "send-hex", card)
        browser.wait("return document.querySelector('#call-result').classList.contains('problem')", what="hex that is none is refused")
        assert site.rpc("session.state", session="s1")["bytesWritten"] == total
        press(browser, "close-session", card)
        site.until(lambda: not site.rpc("session.state", session="s1")["open"], "the session is closed")
        for action, wanted in [("background", "background"), ("suspend", "suspended"), ("foreground", "foreground")]:
            press(browser, action, card)
            site.until(lambda: site.app("p1")["state"] == wanted, f"the app is {wanted}")
        for action, count in [("register", 2), ("unregister", 1)]:
            press(browser, action, card)
            site.until(lambda: site.app("p1")["registrations"] == count, f"{count} registrations")
        press(browser, "kill", card)
        site.until(lambda: site.app("p1") is None, "the app is killed")
        press(browser, "launch-app")
        site.until(lambda: site.app("p2"), "another app runs")
        press(browser, "crash", ".app[data-app=p2]")
        site.until(lambda: site.app("p2") is None, "the app crashed")
        silent(browser)


@check
def hosts_and_worlds_are_made_and_time_passes(setting):
    with setting.site() as site, Browser() as browser:
        opened(browser, site)
        browser.run("document.querySelector('#add-host').open = true")
        browser.type("#host-address", f"unix:{site.easim}.page.sock")
        press(browser, "add-host")
        site.until(lambda: site.rpc("host.list")["hosts"], "the host is there")
        press(browser, "remove-host")
        site.until(lambda: not site.rpc("host.list")["hosts"], "the host is gone")
        browser.run("document.querySelector('#add-proxy').open = true")
        browser.type("#proxy-device", f"unix:{site.easim}.proxy.sock")
        browser.type("#proxy-accessory", f"unix:{site.easim}.page.sock")
        browser.type("#proxy-faults", "loss,chance=2%,direction=in")
        press(browser, "add-proxy")
        site.until(lambda: [one["faults"] for one in site.rpc("proxy.list")["proxies"]] == [["loss,chance=2%,direction=in"]], "the proxy is there")
        press(browser, "remove-proxy")
        site.until(lambda: not site.rpc("proxy.list")["proxies"], "the proxy is gone")
        press(browser, "make-world")
        site.until(lambda: len(site.rpc("world.list")["worlds"]) == 2, "a world is made")
        browser.wait("return easim.desk.world().id === 'w1' && easim.desk.world().time === 'virtual'", what="the world is chosen")
        press(browser, "add-accessory", "#add-accessory")
        site.until(lambda: site.accessory("a1"), "an accessory is in the world")
        assert site.accessory("a1")["world"] == "w1"
        press(browser, "run-until-connect")
        site.until(lambda: any(one["params"].get("event", {}) and one["params"]["event"].get("event") == "connect"
                               for one in site.events("w1") if one["method"] == "event"), "it has connected")
        time_of = lambda: next(one["t"] for one in site.rpc("world.list")["worlds"] if one["world"] == "w1")  # noqa: E731
        before = time_of()
        browser.type("#advance-by", "90s")
        press(browser, "advance")
        site.until(lambda: abs(time_of() - before - 90) < 1e-3, "90 virtual seconds have passed")
        press(browser, "remove-world")
        site.until(lambda: len(site.rpc("world.list")["worlds"]) == 1, "the world is gone")
        browser.wait("return easim.desk.world().id === 'main'", what="the page shows main again")
        silent(browser)


@check
def everything_works_by_keyboard_alone(setting):
    tab, enter = "\ue004", "\ue007"
    with setting.site() as site, Browser() as browser:
        opened(browser, site)
        browser.run("document.querySelector('#tab-live').focus()")
        seen = []
        for _ in range(60):
            browser.press(tab)
            seen.append(browser.run("const a = document.activeElement; return a.dataset.action ?? a.id ?? a.className"))
            if seen[-1] == "add-accessory":
                break
        assert seen[-1] == "add-accessory", seen
        browser.press(enter)
        site.until(lambda: site.accessory("a1") and site.accessory("a1")["whole"], "an accessory is plugged in by keyboard")
        browser.run("document.querySelector('canvas.lanes').focus()")
        span = browser.run("return easim.lanes.span")
        browser.press("-", " ", "\ue012")
        browser.wait("return easim.lanes.span > arguments[0] && !easim.lanes.follows", span, what="zoomed and paused by keys")
        browser.press("a")
        # A busy machine may show the events later than the server has them.
        tip = "return !document.querySelector('.tip').hidden"
        site.until(lambda: browser.press("\ue015") or browser.run(tip), "the arrow key shows an event")
        browser.press(enter)
        browser.wait("return document.querySelector('#tab-packets').getAttribute('aria-selected') === 'true'", what="enter jumps to the packets")
        browser.wait("return easim.desk.packets.list.chosen >= 0", what="a packet is chosen")
        before = browser.run("return easim.desk.packets.list.chosen")
        browser.press("\ue015")
        browser.wait("return easim.desk.packets.list.chosen === arguments[0] + 1", before, what="the arrow key chooses the next packet")
        browser.run("document.querySelector('#tab-packets').focus()")
        browser.press("\ue014")
        browser.wait("return document.querySelector('#tab-load').getAttribute('aria-selected') === 'true'", what="arrows change the view")


# Lanes


@check
def the_lanes_are_what_the_events_say(setting):
    with setting.site() as site, Browser() as browser:
        site.rpc("accessory.add", profile="lawk-view", quirks=["flicker,empty=200ms,gap=200ms"])
        app = site.rpc("app.launch", name="EADemo")["app"]
        opened(browser, site)
        site.rpc("accessory.plug", accessory="a1")
        site.until(lambda: any(one["protocols"] for one in site.rpc("app.accessories", app=app)["accessories"]), "the app sees the whole accessory")
        session = site.rpc("app.open", app=app, protocol="com.lawaken.iap2")["session"]
        browser.wait("return easim.lanes.drawn.some((one) => one.lane.startsWith('app') && one.kind === 'session')", what="the session is drawn")
        time.sleep(0.3)
        site.rpc("session.close", session=session)
        site.rpc("fault.add", accessory="a1", fault="loss,chance=100%,for=300ms")
        site.rpc("accessory.pull", accessory="a1")
        last = site.rpc("world.list")["worlds"][0]["number"]
        browser.wait("return easim.desk.world().number >= arguments[0]", last, what="the page has every event")
        browser.run("easim.lanes.all()")
        browser.run_later("await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        drawn = browser.run("return easim.lanes.drawn.map(({lane, kind, t0, t1, mark}) => ({lane, kind, t0, t1, mark}))")
        bars = sorted((one["lane"], one["kind"], one["t0"], one["t1"]) for one in drawn if not one["mark"] and one["kind"] not in ("phase", "shade"))
        wanted = sorted(expected_bars(site.events(), app))
        assert bars == wanted, f"drawn {bars}\nexpected {wanted}"
        marks = {(one["lane"], one["kind"], one["t0"]) for one in drawn if one["mark"] and one["kind"] == "fault"}
        faults = {("cable", "fault", event["t"]) for event in timeline(site.events()) if event["event"] == "fault"}
        assert marks == faults and faults, (marks, faults)
        # The list of what was drawn agrees with the picture itself: the colour in the middle of each long bar.
        wrong = browser.run("""
          const view = easim.lanes, pen = view.canvas.getContext('2d'), ratio = devicePixelRatio;
          const colors = view.colors();
          const probe = document.createElement('canvas').getContext('2d');
          const rgb = (color) => { probe.fillStyle = color; probe.fillRect(0, 0, 1, 1); return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)]; };
          return view.drawn.filter((one) => !one.mark && one.w > 4 && ['whole', 'session'].includes(one.kind)).filter((one) => {
            const [x, y] = [one.x + one.w - 3, one.y + one.h - 2];
            const seen = [...pen.getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data.slice(0, 3)];
            return rgb(colors[one.kind]).some((part, index) => Math.abs(part - seen[index]) > 12);
          }).map((one) => one.lane + ' ' + one.kind)""")
        assert not wrong, f"not painted in their colours: {wrong}"
        # The pointer: hover shows the event, a click jumps to its packets.
        box = browser.run("""
          const shape = easim.lanes.drawn.find((one) => one.kind === 'whole' && one.lane.startsWith('accessory'));
          easim.lanes.canvas.scrollIntoView({block: 'center'});
          const box = easim.lanes.canvas.getBoundingClientRect();
          return [box.left + shape.x + shape.w / 2, box.top + shape.y + shape.h / 2, shape.t0]""")
        browser.move(box[0], box[1])
        browser.wait("return document.querySelector('.tip').textContent.includes('plugged in')", what="the pointer shows the event")
        browser.move(box[0], box[1], click=True)
        browser.wait("return easim.desk.packets.list.chosen >= 0", what="a click jumps to the packets")
        t = browser.run("return easim.desk.packets.list.rows[easim.desk.packets.list.chosen].t")
        assert 0 <= t - box[2] < 0.2, (t, box[2])
        silent(browser)
        return f"{len(bars)} bars, {len(marks)} faults"


def timeline(notices):
    return [one["params"]["event"] for one in notices if one["method"] == "event"]


def expected_bars(notices, app):
    """The bars as they follow from the notices, by rules of their own."""
    found, open_bars = [], {}

    def begin(lane, key, kind, t):
        open_bars[lane, key] = (kind, t)

    def end(lane, key, t):
        if (lane, key) in open_bars:
            kind, t0 = open_bars.pop((lane, key))
            found.append((lane, kind, t0, t))

    for notice in notices:
        params = notice["params"]
        if notice["method"] == "app":
            key = params.get("accessory", {}).get("connectionID")
            if params["event"] == "connect":
                begin(f"app {params['app']}", key, "whole" if params["accessory"]["protocols"] else "bare", params["t"])
            elif params["event"] == "disconnect":
                end(f"app {params['app']}", key, params["t"])
            continue
        if notice["method"] != "event":
            continue
        event = params["event"]
        t, about = event["t"], event.get("accessory", {})
        serial, kind = about.get("serial"), "whole" if about.get("protocols") else "bare"
        lane = f"accessory {serial}"
        match event["side"], event["event"]:
            case "accessory", "attach":
                begin(lane, "plug", kind, t)
                begin("cable", "plug", "plug", t)
            case "accessory", "detach":
                for one, key in list(open_bars):
                    if one in (lane, "cable"):
                        end(one, key, t)
            case "accessory", "link":
                begin("cable", "link", "link", t) if event["up"] else end("cable", "link", t)
            case "device", "connect":
                begin("device", about["connectionID"], kind, t)
            case "device", "disconnect":
                end("device", about["connectionID"], t)
            case "accessory", "session.open":
                begin(lane, "session", "session", t)
            case "accessory", "session.close":
                end(lane, "session", t)
            case "device", "session.open":
                begin(f"app {app}", "session", "session", t)
            case "device", "session.close":
                end(f"app {app}", "session", t)
    return found


@check
def scenarios_run_beside_each_other(setting):
    with setting.site() as site, Browser() as browser:
        opened(browser, site)
        browser.click("#tab-scenarios")
        set_value(browser, "#scenario-search", "flicker connect")
        set_value(browser, "#scenario", "flicker", "change")
        press(browser, "run-both")
        site.until(lambda: len(site.rpc("job.list")["jobs"]) == 2, "two runs")
        states = site.until(lambda: [job["state"] for job in site.rpc("job.list")["jobs"]
                                     if job["state"] != "running"][1:] and [job["state"] for job in site.rpc("job.list")["jobs"]], "both are over")
        assert states == ["passed", "failed"], states
        browser.wait("return document.querySelectorAll('.run canvas').length === 2", what="two pictures")
        for job in ["j1", "j2"]:
            lines = json.loads(site.rpc("job.report", job=job)["report"])
            connects = [line["t"] for line in lines if line["side"] == "app" and line["event"] == "connect"]
            # The page draws in a later frame than the one that makes the canvas.
            site.until(lambda: browser.run("""return document.querySelector(`.run[data-job=${arguments[0]}]`).lanes.drawn
              .filter((one) => one.lane === 'app' && !one.mark && one.kind !== 'session').map((one) => one.t0)""",
                                           job) == connects, f"the connects of {job} are drawn at {connects}")
        for action in ["run-robust", "run-naive"]:
            press(browser, action)
        site.until(lambda: len(site.rpc("job.list")["jobs"]) == 4, "one run each")
        silent(browser)


# Packets


@check
def packets_are_listed_filtered_marked_and_saved(setting):
    downloads = setting.out / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    for old in downloads.iterdir():
        old.unlink()
    with setting.site() as site, Browser(downloads=downloads.absolute()) as browser:
        site.rpc("accessory.add", profile="lawk-view")
        app = site.rpc("app.launch")["app"]
        opened(browser, site)
        browser.click("#tab-packets")
        site.until(lambda: site.rpc("packet.list")["recording"], "the page records")
        site.rpc("accessory.plug", accessory="a1")
        site.until(lambda: site.rpc("app.accessories", app=app)["accessories"], "it is there")
        session = site.rpc("app.open", app=app, protocol="com.lawaken.iap2")["session"]
        site.rpc("session.write", session=session, text="hello")
        site.rpc("session.read", session=session, wait="5s")
        time.sleep(0.2)
        last = site.rpc("packet.list", limit=1)["last"]
        browser.wait("return easim.desk.packets.last >= arguments[0]", last, what="the page has every packet")
        ours = browser.run("return easim.desk.packets.all.map(({number, t, from, text}) => ({number, t, from, text}))")
        theirs = [{key: one[key] for key in ["number", "t", "from", "text"]} for one in site.rpc("packet.list", limit=5000)["packets"]]
        assert ours[:len(theirs)] == theirs[:len(ours)] and len(ours) >= last, (len(ours), len(theirs))
        browser.type("#packet-filter", "1D01 accessory")
        browser.wait("return easim.desk.packets.shown.length === 1", what="the filter finds the identification")
        browser.run("easim.desk.packets.list.select(0)")
        browser.wait("return document.querySelectorAll('.node').length > 10", what="its fields")
        marked = browser.run("""
          const node = [...document.querySelectorAll('.node')].find((one) => one.textContent.includes('serial'));
          node.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
          return easim.desk.packets.detail.cells.filter(([hex]) => hex.classList.contains('marked')).map(([, text]) => text.textContent).join('')""")
        assert "040025380108A000608" in marked, marked
        back = browser.run("""
          const byte = [...document.querySelectorAll('.dump [data-at]')].find((one) => one.dataset.at === '4');
          byte.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}));
          return document.querySelector('.node.marked')?.textContent""")
        assert back and back.startswith("control"), back
        for kind, test in [("messages", "one.messages"), ("data", "one.session === 2 && !one.messages"), ("acks", "!(one.control === 'ACK' && one.length <= 9)")]:
            browser.run("document.querySelector('#packet-filter').value = ''")
            set_value(browser, "#packet-kind", kind, "change")
            assert browser.run(f"const s = easim.desk.packets.shown; return s.length > 0 && s.every((one) => {test})"), kind
        set_value(browser, "#packet-kind", "", "change")
        for name in ["pcapng", "text", "JSON"]:
            press(browser, f"save-{name}")
        files = {"pcapng": "easim.pcapng", "text": "easim.txt", "json": "easim-packets.json"}
        for name in files.values():
            site.until(lambda: (downloads / name).exists(), f"{name} was saved")
        decoded = subprocess.run([str(setting.easim), "decode", "--json", str(downloads / files["pcapng"])], capture_output=True, text=True, check=True)
        entries = [json.loads(line) for line in decoded.stdout.splitlines()]
        texts = [one["text"] for one in entries if one["event"] in ("packet", "detection")]
        assert texts == [one["text"] for one in site.rpc("packet.list", limit=5000)["packets"]][:len(texts)] and len(texts) >= last, len(texts)
        assert len((downloads / files["text"]).read_text().splitlines()) >= last
        assert len(json.loads((downloads / files["json"]).read_text())) >= last
        press(browser, "record")
        site.until(lambda: not site.rpc("packet.list")["recording"], "recording was stopped")
        silent(browser)
        return f"{len(ours)} packets"


@check
def a_hundred_thousand_packets_stay_bounded(setting):
    with setting.site() as site, Browser(traces=True) as browser:
        site.rpc("accessory.add", profile="echo")
        site.rpc("accessory.plug", accessory="a1")
        opened(browser, site)
        browser.click("#tab-packets")
        site.until(lambda: site.rpc("packet.list")["recording"], "the page records")
        # The browser traces frames that somebody asks for.
        browser.run("const step = () => requestAnimationFrame(step); requestAnimationFrame(step)")
        begin = browser.run("return performance.timeOrigin + performance.now()")
        job = site.rpc("burst.run", accessory="a1", bursts=30_000, size=10_000)["job"]
        site.until(lambda: site.rpc("job.state", job=job)["state"] != "running" or None, "the bursts are over")
        total = site.rpc("packet.list", limit=1)["last"]
        assert total > 100_000, f"only {total} packets"
        browser.wait("return easim.desk.packets.last >= arguments[0]", total, what="the page has read to the end", patience=180)
        state = browser.run("""const p = easim.desk.packets; return {
          all: p.all.length, gone: p.gone, rows: document.querySelectorAll('.packets .row').length,
          text: document.querySelector('.packets [role=status]').textContent,
          heap: performance.memory?.usedJSHeapSize ?? 0, time: performance.timeOrigin + performance.now()}""")
        frames = frame_times(browser.traced(), (state["time"] - begin) / 1_000)
        assert state["all"] <= 100_000 and state["rows"] < 120, state
        assert state["all"] + state["gone"] >= total, (state, total)
        assert "gone" in state["text"], state["text"]
        assert state["heap"] < 400e6, state["heap"]
        p95 = frames[len(frames) * 95 // 100]
        return (f"{total} packets, {state['all']} kept, {state['rows']} rows, heap {state['heap'] / 1e6:.0f} MB, "
                f"{len(frames)} frames traced: median {frames[len(frames) // 2]:.1f} ms, 95 % {p95:.1f} ms, longest {frames[-1]:.1f} ms")


def frame_times(events, seconds):
    """The times between frames of the page's thread in the last seconds of a trace, in ms, shortest first."""
    begins = sorted(event["ts"] for event in events if event["name"] == "BeginMainThreadFrame")
    begins = [ts for ts in begins if ts > begins[-1] - seconds * 1e6]
    assert len(begins) > 20, f"only {len(begins)} frames in the trace"
    return sorted((later - ts) / 1_000 for ts, later in zip(begins, begins[1:]))


# Load tests


@check
def a_burst_with_a_fault_slider(setting):
    with setting.site() as site, Browser() as browser:
        site.rpc("accessory.add", profile="echo")
        site.rpc("accessory.plug", accessory="a1")
        site.rpc("fault.add", accessory="a1", fault="latency,delay=2ms")
        opened(browser, site)
        browser.click("#tab-load")
        set_value(browser, "[data-key=bursts]", "100000")
        press(browser, "start-burst")
        site.until(lambda: site.rpc("job.list")["jobs"], "the burst runs")
        figures = lambda: site.rpc("job.state", job="j1").get("figures") or {}  # noqa: E731
        site.until(lambda: figures().get("bursts", 0) > 20, "bursts are done")
        before = figures()["latency"]["maximum"]
        browser.wait("return document.querySelector('.bursts .fault input[data-key=delay]')", what="the slider")
        browser.run("document.querySelector('.bursts .fault input[data-key=delay]').focus()")
        browser.press(*["\ue014"] * 40)
        state = site.until(lambda: next((one for one in site.rpc("fault.list", accessory="a1")["faults"] if one["text"] != "latency,delay=2ms"), None), "the slider changed the fault")
        shown = browser.run("return document.querySelector('.bursts .fault output').textContent")
        site.until(lambda: site.rpc("fault.list", accessory="a1")["faults"][0]["text"] == f"latency,delay={shown}", f"the fault has {shown}")
        site.until(lambda: figures()["latency"]["maximum"] > max(before, 0.05), "bursts have become slower")
        browser.wait("return document.querySelectorAll('.bursts .line').length === 4", what="lines in the charts")
        press(browser, "stop-burst")
        site.until(lambda: site.rpc("job.state", job="j1")["state"] == "cancelled", "the burst was stopped")
        browser.wait("return document.querySelector('.report').textContent.includes('latency')", what="the report")
        press(browser, "remove-fault", ".bursts")
        set_value(browser, "[data-key=bursts]", "30")
        press(browser, "start-burst")
        site.until(lambda: len(site.rpc("job.list")["jobs"]) == 2 and site.rpc("job.state", job="j2")["state"] == "passed", "a second run")
        browser.wait("return document.querySelectorAll('.bursts tbody tr[data-job]').length === 2", what="the history")
        for job in ["j1", "j2"]:
            browser.click(f"tr[data-job={job}] input")
        browser.wait("return document.querySelectorAll('.comparison tbody tr').length === 6", what="the comparison")
        silent(browser)
        return f"fault at {state['text']} and later {shown}"


# The connection


@check
def a_server_that_dies_and_returns(setting):
    with setting.site() as site, Browser() as browser:
        site.rpc("accessory.add", profile="echo")
        opened(browser, site)
        site.stop(kill=True)
        browser.wait("return document.querySelector('#status').dataset.state === 'lost'", what="the page says that the server is gone")
        site.start()
        browser.wait("return document.querySelector('#status').dataset.state === 'token'", what="the new server has another token")
        browser.type("#token", site.token)
        browser.click("#notice button")
        browser.wait(READY, what="the page is live again")
        browser.wait("return !document.querySelector('.accessory')", what="accessories of the dead server are gone")
        press(browser, "add-accessory", "#add-accessory")
        site.until(lambda: site.accessory("a1"), "its controls work with the new server")


@check
def what_was_missed_is_fetched_or_said_to_be_gone(setting):
    with setting.site() as site, Browser() as browser:
        site.rpc("accessory.add", profile="echo")
        site.rpc("world.create", time="virtual")
        site.rpc("accessory.add", profile="echo", world="w1", quirks=["flicker,cycles=1000,empty=1ms,gap=1ms"])
        opened(browser, site)
        # The connection breaks, and things happen before it is back.
        browser.run("easim.store.listening = easim.server.listen; easim.server.listen = () => Promise.reject(new Error('broken')); easim.store.abort.abort()")
        browser.wait("return easim.store.state === 'lost'")
        for _ in range(5):
            site.rpc("accessory.plug", accessory="a1")
            site.until(lambda: site.accessory("a1")["whole"], "plugged")
            site.rpc("accessory.unplug", accessory="a1")
        site.rpc("accessory.plug", accessory="a2")
        site.rpc("time.advance", world="w1", by="1m")
        worlds = {one["world"]: one["number"] for one in site.rpc("world.list")["worlds"]}
        assert worlds["w1"] > 4096, worlds
        browser.run("delete easim.server.listen")
        browser.wait(READY, what="the page is live again")
        numbers = browser.run("return easim.store.worlds.get('main').notices.map((one) => one.number)")
        assert numbers == list(range(1, worlds["main"] + 1)), (numbers[:3], len(numbers), worlds)
        gone = browser.run("return easim.store.worlds.get('w1').gone")
        kept = browser.run("return easim.store.worlds.get('w1').notices.length")
        assert gone > 0 and gone + kept == worlds["w1"], (gone, kept, worlds)
        browser.run("easim.desk.choose('w1')")
        browser.wait("return document.querySelector('.events .hint').textContent.includes('gone')", what="the page says what is gone")
        return f"{worlds['main']} missed and fetched; {gone} of {worlds['w1']} said to be gone"


@check
def it_keeps_up_with_ten_thousand_events_a_second(setting):
    with setting.site() as site, Browser() as browser:
        site.rpc("world.create", time="virtual")
        site.rpc("accessory.add", profile="echo", world="w1", quirks=["flicker,cycles=10000,empty=1ms,gap=1ms"])
        opened(browser, site)
        browser.run("easim.desk.choose('w1')")
        browser.run("""
          window.frames = []; let last = performance.now();
          const step = (now) => { frames.push(now - last); last = now; requestAnimationFrame(step); };
          requestAnimationFrame(step); window.draws = 0;
          const draw = easim.lanes.draw.bind(easim.lanes); easim.lanes.draw = () => { draws += 1; draw(); }""")
        before, worked = browser.run("return [easim.store.received, performance.now(), frames.length, draws]"), browser.worked()
        site.rpc("accessory.plug", accessory="a1")
        for _ in range(100):
            site.rpc("time.advance", world="w1", by="30ms")
        total = next(one["number"] for one in site.rpc("world.list")["worlds"] if one["world"] == "w1")
        browser.wait("return easim.store.worlds.get('w1').number >= arguments[0]", total, what="the page has every event")
        worked = (browser.worked() - worked) / total
        after = browser.run("return [easim.store.received, performance.now(), frames.length, draws]")
        frames = sorted(browser.run("return frames.slice(5)"))
        assert after[3] - before[3] <= after[2] - before[2] + 2, "drawn more than once a frame"
        assert worked < 0.5e-3, f"an event takes the page {worked * 1e3:.2f} ms of processor time"
        # A debug build makes fewer events than that, so its lines come again at the full rate.
        made = browser.worked()
        rate, worst = browser.run_later("""
          const world = easim.desk.world(), lines = [];
          for (const notice of world.notices.slice(-1000)) {
            const {method, number, ...rest} = notice;
            lines.push(method === 'event' ? {method, params: {world: 'w1', event: rest}} : {method, params: {...rest, world: 'w1'}});
          }
          frames.length = 0;
          const start = performance.now(), first = world.notices.at(-1).t;
          let sent = 0, number = world.number;
          while (sent < 50000) {
            const due = Math.min(50000, (performance.now() - start) * 10);
            for (; sent < due; sent += 1) {
              const line = structuredClone(lines[sent % lines.length]);
              line.params.number = ++number;
              const t = first + sent / 10000;
              if (line.params.event) line.params.event.t = t; else line.params.t = t;
              easim.store.take(JSON.parse(JSON.stringify(line)));
            }
            await new Promise((done) => setTimeout(done, 5));
          }
          const spent = (performance.now() - start) / 1000;
          const sorted = frames.toSorted((a, b) => a - b);
          return [sent / spent, sorted[Math.floor(sorted.length * 0.95)]]""")
        made = (browser.worked() - made) / 50_000
        assert made < 0.25e-3, f"an event takes the page {made * 1e3:.2f} ms of processor time"
        return (f"{total} events of a server, {worked * 1e6:.0f} and {made * 1e6:.0f} µs of processor time each, frames p95 {frames[int(len(frames) * .95)]:.0f} ms; "
                f"{rate:.0f} events a second, frames p95 {worst:.0f} ms")


# Looks and accessibility


def furnish(site):
    """A world with something of everything."""
    site.rpc("accessory.add", profile="lawk-view", quirks=["flicker"])
    site.rpc("accessory.add", profile="sensor")
    site.rpc("app.launch", name="EADemo")
    for id in ["a1", "a2"]:
        site.rpc("accessory.plug", accessory=id)
    seen = lambda: [one["protocols"] for one in site.rpc("app.accessories", app="p1")["accessories"]]  # noqa: E731
    site.until(lambda: [len(one) for one in seen()] == [1, 1], "the app sees both with their protocols")
    site.rpc("app.open", app="p1", protocol="com.lawaken.iap2")
    site.rpc("fault.add", accessory="a1", fault="latency,delay=5ms")
    site.rpc("burst.run", accessory="a1", bursts=60, inFlight=2)
    site.until(lambda: site.rpc("job.state", job="j1")["state"] != "running", "the burst is over")
    site.rpc("accessory.pull", accessory="a2")
    site.rpc("accessory.plug", accessory="a2")


def each_view(browser):
    for name in ["live", "packets", "load", "scenarios"]:
        browser.click(f"#tab-{name}")
        if name == "packets":
            browser.wait("return easim.desk.packets.all.length > 10", what="packets")
            browser.wait(CHOOSE, what="a packet to choose")
            browser.wait("return document.querySelectorAll('.node').length > 5", what="fields")
        if name == "load":
            browser.wait("return document.querySelector('.report').textContent.length > 0", what="a report")
        if name == "scenarios" and not browser.run("return document.querySelector('.run')"):
            press(browser, "run-both")
            browser.wait("return document.querySelectorAll('.run canvas').length === 2", what="two runs")
        time.sleep(0.4)
        yield name


@check
def nothing_overlaps_or_is_cut_off_in_any_view(setting):
    with setting.site() as site:
        furnish(site)
        for look, width, height, dark in [("light", 1280, 900, False), ("dark", 1280, 900, True), ("360", 360, 740, False), ("360-dark", 360, 740, True)]:
            with Browser(width, height, dark=dark) as browser:
                opened(browser, site)
                for name in each_view(browser):
                    wide = browser.run("return document.documentElement.scrollWidth")
                    assert wide <= width, f"{name} at {width} pixels is {wide} wide: {browser.run(WIDEST, width)}"
                    cut = browser.run(CUT, width)
                    assert not cut, f"{name} at {width} pixels: {cut}"
                    whole = browser.run("return Math.min(6000, document.documentElement.scrollHeight + 120)")
                    browser.resize(width, max(height, whole))
                    time.sleep(0.3)
                    browser.run("scrollTo(0, 0)")
                    browser.screenshot(setting.out / f"{name}-{look}.png")
                    browser.resize(width, height)
                silent(browser)
        return f"screenshots in {setting.out}"


WIDEST = """return [...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > arguments[0] + 1)
  .slice(0, 3).map((one) => one.tagName + '.' + one.className + ' ' + one.textContent.slice(0, 40)).join(' | ')"""

# Texts of controls and headings that lie outside of the window or under another control.
CUT = """
  const found = [];
  const controls = [...document.querySelectorAll('main button, main select, main input, main h2, main h3, main label')]
    .filter((one) => one.checkVisibility() && !one.closest('.rows, .scrolls, .hidden') && !one.classList.contains('hidden'));
  for (const one of controls) {
    const box = one.getBoundingClientRect();
    if (box.width === 0) continue;
    if (box.left < -1 || box.right > arguments[0] + 1) found.push('outside: ' + one.textContent.slice(0, 40));
    if (one.tagName === 'BUTTON' && one.scrollWidth > one.clientWidth + 2) found.push('cut: ' + one.textContent.slice(0, 40));
  }
  const buttons = controls.filter((one) => ['BUTTON', 'SELECT', 'INPUT'].includes(one.tagName));
  for (let i = 0; i < buttons.length; i += 1) for (let j = i + 1; j < buttons.length; j += 1) {
    const [a, b] = [buttons[i].getBoundingClientRect(), buttons[j].getBoundingClientRect()];
    if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1) found.push('overlap: ' + (buttons[i].textContent || buttons[i].id) + ' and ' + (buttons[j].textContent || buttons[j].id));
  }
  return found.slice(0, 5).join(' | ')"""


@check
def accessibility_by_the_rules_of_axe(setting):
    folder = pathlib.Path(".build/page-axe")
    scripts = list(folder.rglob("axe.min.js"))
    if not scripts:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                        "axe-core-python==0.1.0"], check=True)
        scripts = list(folder.rglob("axe.min.js"))
    source = scripts[0].read_text()
    with setting.site() as site:
        furnish(site)
        count = 0
        for dark in [False, True]:
            with Browser(dark=dark) as browser:
                opened(browser, site)
                for name in each_view(browser):
                    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
                    browser.run(source)
                    result = browser.run_later("const r = await axe.run(document, {resultTypes: ['violations']}); return {violations: r.violations.map((v) => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')), passes: r.passes.length}")
                    assert not result["violations"], f"{name}{' dark' if dark else ''}: " + "\n".join(result["violations"])
                    count += result["passes"]
        return f"{count} rules passed over 8 views"


@check
def motion_is_reduced_when_asked_for(setting):
    with setting.site() as site, Browser(reduced_motion=True) as browser:
        site.rpc("accessory.add", profile="echo")
        site.rpc("accessory.plug", accessory="a1")
        opened(browser, site)
        browser.wait("return easim.lanes.drawn.length > 0", what="lanes")
        browser.run("window.draws = 0; const draw = easim.lanes.draw.bind(easim.lanes); easim.lanes.draw = () => { draws += 1; draw(); }")
        time.sleep(2.2)
        draws = browser.run("return draws")
        assert draws <= 6, f"{draws} frames in 2 seconds"


@check
def the_demonstration_shows_itself(setting):
    with setting.site(["demo", "--page"]) as site, Browser() as browser:
        opened(browser, site)
        browser.wait("return easim.lanes.drawn.some((one) => one.kind === 'bare') && easim.lanes.drawn.some((one) => one.kind === 'session')", what="the flicker and a session")
        silent(browser)


def picture(setting, path):
    """The README's picture: the demonstration as it runs."""
    with setting.site(["demo", "--page"]) as site, Browser(1160, 640) as browser:
        opened(browser, site)
        browser.wait("return easim.lanes.drawn.some((one) => one.kind === 'session' && one.w > 350)", what="a session of some seconds")
        browser.run("easim.lanes.canvas.scrollIntoView({block: 'center'}); scrollTo(0, 0)")
        browser.screenshot(path)


__all__ = ["CHECKS", "PATIENCE", "Setting", "picture"]
