"""Checks of what people do on the page, each with the mouse: a load test with a goal, a capture that is dropped, scenarios, faults."""
import subprocess
import time

from page_checks import check, furnish, opened, press, set_value, silent
from truth_checks import plug, seen_by
from webdriver import Browser

# The box of an element.
BOX = """const box = document.querySelector(arguments[0]).getBoundingClientRect();
  return {left: box.left, top: box.top, right: box.right, bottom: box.bottom}"""


def near(browser, first, second, most=60):
    """The distance between two elements, which must be small."""
    a, b = browser.run(BOX, first), browser.run(BOX, second)
    across = max(0, a["left"] - b["right"], b["left"] - a["right"])
    down = max(0, a["top"] - b["bottom"], b["top"] - a["bottom"])
    assert max(across, down) <= most, f"{first} is {across:.0f} and {down:.0f} pixels from {second}"


@check
def the_first_sight_says_what_is_happening_and_what_to_do(setting):
    with setting.site() as site, Browser() as browser:
        opened(browser, site)
        browser.wait("return document.querySelector('.sight').textContent === 'Nothing is here yet: add an accessory, and launch an app that sees it.'", what="the first sentence")
        order = browser.run("return [...document.querySelectorAll('#view-live > *')].map((one) => one.className.split(' ')[0])")
        assert order.index("sight") < order.index("controls") < order.index("lanes-card"), order
        # Both forms are open, and their buttons can be pressed without scrolling.
        for action in ["add-accessory", "launch-app"]:
            assert browser.run("const box = document.querySelector(arguments[0]).getBoundingClientRect(); return box.top > 0 && box.bottom < innerHeight",
                               f"button[data-action={action}]"), f"{action} is out of sight"
        press(browser, "add-accessory", "#add-accessory")
        site.until(lambda: site.accessory("a1") and site.accessory("a1")["whole"], "plugged in")
        browser.wait("return document.querySelector('#call-result')?.hidden === false", what="a toast")
        near(browser, "#call-result", "button[data-action=add-accessory]")
        assert "{" not in browser.text("#call-result"), browser.text("#call-result")
        press(browser, "launch-app")
        browser.wait("return document.querySelector('.sight').textContent.includes('is plugged in; 1 app is running, without a session.')", what="the sentence")
        # One bar, one button; labels are words.
        assert browser.run("return [...document.querySelectorAll('.calls button')].map((one) => one.textContent)") == ["Copy as command"]
        assert browser.text("#call-command").startswith("easim ctl app.launch"), browser.text("#call-command")
        browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        camel = browser.run("return [...document.querySelectorAll('main label')].map((one) => one.textContent).filter((text) => /[a-z][A-Z]/.test(text))")
        assert not camel, camel
        silent(browser)


@check
def an_error_stands_beside_its_field_once(setting):
    with setting.site() as site, Browser() as browser:
        plug(site)
        opened(browser, site)
        browser.click("#tab-load")
        set_value(browser, "#goal-kind", "p99>", "change")
        browser.type("#goal-value", "soon")
        press(browser, "start-burst")
        texts = browser.run("return [...document.querySelectorAll('.bursts .problem')].filter((one) => !one.hidden && one.textContent).map((one) => one.textContent)")
        assert texts == ["write a time such as 50ms"], texts
        near(browser, "#goal-value", ".bursts .problem:not([hidden])", 8)
        assert browser.run("return document.querySelector('#call-result')?.hidden !== false"), "the error is told twice"
        assert not site.rpc("job.list")["jobs"], "it was sent although it is wrong"
        silent(browser)


@check
def a_fault_acts_at_once_and_has_sliders(setting):
    with setting.site() as site, Browser() as browser:
        plug(site)
        opened(browser, site)
        browser.wait("return document.querySelector('.accessory [data-action=add-fault]')", what="the menu of faults")
        set_value(browser, ".accessory [data-action=add-fault]", "latency", "change")
        text = site.until(lambda: next((one["text"] for one in site.rpc("fault.list", accessory="a1")["faults"]), None), "the fault acts")
        browser.wait("return document.querySelectorAll('.accessory .fault input[type=range]').length > 0", what="its sliders")
        browser.wait("return document.querySelector('.sight').textContent.includes('1 fault acts on the cables')", what="the sentence says it")
        return text


@check
def a_load_test_has_a_goal_and_a_time(setting):
    with setting.site() as site, Browser() as browser:
        plug(site)
        opened(browser, site)
        browser.click("#tab-load")
        browser.type("[data-key=duration]", "2s")
        set_value(browser, "#goal-kind", "p99>", "change")
        browser.type("#goal-value", "10s")
        press(browser, "start-burst")
        site.until(lambda: site.rpc("job.list")["jobs"] and site.rpc("job.state", job="j1")["state"] == "passed", "the test passed")
        assert 1.9 <= site.rpc("job.state", job="j1")["figures"]["seconds"] < 10
        browser.wait("return document.querySelector('.charts line.goal')", what="the goal is a line")
        browser.wait("return document.querySelector('.report').textContent.includes('p99 ≤ 10 s')", what="the report has the goal")
        browser.type("#goal-value", "1us")
        press(browser, "start-burst")
        site.until(lambda: len(site.rpc("job.list")["jobs"]) == 2 and site.rpc("job.state", job="j2")["state"] == "failed", "the goal was missed")
        browser.wait("return document.querySelector('.bursts h3').textContent.includes('p99 ≤ 1 us')", what="the page says which goal")
        silent(browser)
        return site.rpc("job.state", job="j2")["text"]


@check
def a_capture_is_replayed_by_dropping_its_file(setting):
    setting.out.mkdir(parents=True, exist_ok=True)
    capture, nothing = (setting.out / "dropped.pcapng").absolute(), (setting.out / "nothing.txt").absolute()
    subprocess.run([str(setting.easim), "demo", "--virtual", "--capture", str(capture)], check=True, capture_output=True)
    nothing.write_text("no capture")
    with setting.site() as site, Browser() as browser:
        opened(browser, site)

        def drop(path):
            for kind in ["dragEnter", "dragOver", "drop"]:
                browser.devtools("Input.dispatchDragEvent", type=kind, x=600, y=400,
                                 data={"items": [], "files": [str(path)], "dragOperationsMask": 1})

        drop(capture)
        site.until(lambda: site.accessory("a1") and site.accessory("a1")["plugged"], "its accessory is plugged in")
        assert not browser.run("return document.body.classList.contains('dropping')")
        press(browser, "launch-app")
        browser.wait("return document.querySelector('.app .sees')?.textContent.includes('View')", what="the app sees it")
        drop(nothing)
        browser.wait("return document.querySelector('#replay-capture .problem')?.textContent.startsWith('nothing.txt: ')", what="what is no capture is refused beside the field")
        silent(browser)
        return site.accessory("a1")["name"]


@check
def all_scenarios_run_and_one_runs_against_the_app(setting):
    with setting.site() as site, Browser() as browser:
        opened(browser, site)
        browser.click("#tab-scenarios")
        assert browser.run("return document.querySelector('[data-action=run-live]').disabled"), "there is no app"
        press(browser, "run-all")
        browser.wait("return /^All \\d+ scenarios passed/.test(document.querySelector('.all-runs [role=status]').textContent)", what="all scenarios", patience=180)
        count = browser.run("return document.querySelectorAll('.all-runs tr').length")
        app = site.rpc("app.launch", name="Mine")["app"]
        set_value(browser, "#scenario-search", "flicker connect")
        set_value(browser, "#scenario", "flicker", "change")
        press(browser, "run-live")
        seen = lambda: [one for one in site.rpc("app.accessories", app=app)["accessories"] if one["protocols"]]  # noqa: E731
        site.until(seen, "the app sees the accessory of the scenario")
        site.rpc("app.open", app=app, protocol="com.lawaken.iap2")
        browser.wait("return document.querySelector('.run')?.dataset.state === 'passed'", what="the app passed", patience=60)
        assert "Mine" in browser.text(".run h3"), browser.text(".run h3")
        assert not site.rpc("accessory.list")["accessories"], "the scenario's accessories are still here"
        silent(browser)
        return f"{count} scenarios; {browser.text('.run p')}"


@check
def fifty_accessories_and_twenty_apps_are_drawn_at_sixty_frames(setting):
    with setting.site() as site, Browser() as browser:
        plug(site, 50)
        for number in range(20):
            site.rpc("app.launch", name=f"App {number + 1}")
        seen_by(site, "p20", 50)
        for number in range(20):
            site.rpc("app.open", app=f"p{number + 1}", protocol="com.example.echo", accessory=f"a{number + 1}")
        opened(browser, site)
        browser.wait("return easim.lanes.shownLanes().length === 72", what="every lane")
        height = browser.run("return document.documentElement.scrollHeight")
        assert height <= 2_000, f"the page is {height} pixels high"
        assert browser.run("return easim.lanes.rows.length") < 40, "lanes out of sight are drawn"
        time.sleep(1)
        # What the page does for one frame while it follows the time, and the frames that come of it.
        cost, frames, draws = browser.run_later("""
          const times = [], costs = [], draw = easim.lanes.draw.bind(easim.lanes);
          easim.lanes.draw = () => { const begin = performance.now(); draw(); costs.push(performance.now() - begin); };
          easim.lanes.span = 3;
          const begin = performance.now();
          await new Promise((done) => { const step = (now) => { times.push(now); if (now - begin > 4000) done(); else requestAnimationFrame(step); }; requestAnimationFrame(step); });
          const gaps = times.slice(1).map((t, at) => t - times[at]).sort((a, b) => a - b);
          costs.sort((a, b) => a - b);
          return [costs[Math.floor(costs.length * 0.95)], 1000 / gaps[gaps.length >> 1], costs.length / 4]""")
        assert cost < 16.6, f"a frame takes {cost:.1f} ms"
        assert frames > 55, f"{frames:.0f} frames a second"
        browser.screenshot(setting.out / "fifty-and-twenty.png", whole=True)
        silent(browser)
        return f"{height} pixels, {frames:.0f} frames a second, lanes drawn {draws:.0f} times a second in {cost:.1f} ms (95 %)"


@check
def screenshots_at_each_width(setting):
    with setting.site() as site:
        furnish(site)
        for name, width, dark in [("1280", 1280, False), ("390", 390, False), ("dark", 1280, True)]:
            with Browser(width, 900, dark=dark) as browser:
                opened(browser, site)
                time.sleep(0.5)
                assert browser.run("return document.documentElement.scrollWidth") <= width
                browser.screenshot(setting.out / f"look-{name}.png", whole=True)
