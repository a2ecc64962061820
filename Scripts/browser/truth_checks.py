"""Checks that the page shows what is so: what other clients change, what was measured, and no verdict without one."""
import base64

from page_checks import READY, check, opened, press, set_value, silent
from webdriver import Browser


def plug(site, count=1, **params):
    ids = site.rpc("accessory.add", profile="echo", count=count, **params)["accessories"]
    for id in ids:
        site.rpc("accessory.plug", accessory=id)
    site.until(lambda: all(site.accessory(id)["whole"] for id in ids), "they are whole")
    return ids


def seen_by(site, app, count=1):
    site.until(lambda: len(site.rpc("app.accessories", app=app)["accessories"]) == count, f"{app} sees {count}")


def fault(site):
    return site.rpc("fault.list", accessory="a1")["faults"][0]["text"]


@check
def sliders_show_what_the_fault_is(setting):
    with setting.site() as site, Browser() as browser:
        plug(site)
        site.rpc("fault.add", accessory="a1", fault="latency,delay=2ms,jitter=1ms")
        opened(browser, site)
        delay, jitter = [f".accessory .fault [data-key={key}]" for key in ("delay", "jitter")]
        browser.wait("""
          const found = document.querySelector(arguments[0]);
          for (let at = found?.closest('details'); at; at = at.parentElement?.closest('details')) at.open = true;
          return found""", delay, what="the sliders")
        shows = "return document.querySelector(arguments[0]).nextElementSibling.textContent === arguments[1]"
        site.rpc("fault.change", fault="f1", to="latency,delay=80ms,jitter=1ms")
        browser.wait(shows, delay, "80ms", what="the slider shows the delay of another client")
        # Moving one changes that one, also when the other has changed at this moment.
        site.rpc("fault.change", fault="f1", to="latency,delay=300ms,jitter=1ms")
        set_value(browser, jitter, 26)
        site.until(lambda: "jitter=10ms" in fault(site), "the jitter has changed")
        assert fault(site) == "latency,delay=300ms,jitter=10ms", fault(site)
        # The one that is held stays.
        browser.wait(shows, delay, "300ms", what="the slider shows 300 ms")
        x, y = browser.run("""
          const found = document.querySelector(arguments[0]);
          found.scrollIntoView({block: 'center'});
          const box = found.getBoundingClientRect();
          return [box.left + box.width / 2, box.top + box.height / 2]""", delay)
        browser.devtools("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
        held = browser.run("return document.querySelector(arguments[0]).value", delay)
        browser.wait("return easim.desk.world().accessories[0].states[0].text.includes(arguments[0])",
                     browser.run("return document.querySelector(arguments[0]).nextElementSibling.textContent", delay), what="it was written")
        site.rpc("fault.change", fault="f1", to="latency,delay=2ms,jitter=500ms")
        browser.wait(shows, jitter, "500ms", what="the other slider follows")
        assert browser.run("return document.querySelector(arguments[0]).value", delay) == held
        browser.devtools("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, button="left", clickCount=1)
        site.rpc("fault.change", fault="f1", to="latency,delay=3ms,jitter=500ms")
        browser.wait(shows, delay, "3ms", what="it follows when it is let go")
        # Another kind of fault has other sliders.
        site.rpc("fault.change", fault="f1", to="loss,chance=25%")
        browser.wait("return [...document.querySelectorAll('.accessory .fault input')].map((one) => one.dataset.key).includes('chance')", what="sliders of the other fault")
        silent(browser)


@check
def what_other_clients_change_is_shown_at_once(setting):
    with setting.site() as site, Browser() as browser:
        opened(browser, site)
        for request, script in [
            (("accessory.add", {"profile": "echo"}), "return document.querySelector('.accessory[data-accessory=a1]')"),
            (("app.launch", {"name": "Later"}), "return document.querySelector('.app h3')?.textContent === 'Later'"),
            (("fault.add", {"accessory": "a1", "fault": "latency,delay=2ms"}), "return document.querySelector('.faults .fault code')?.textContent.includes('2ms')"),
            (("fault.change", {"fault": "f1", "to": "latency,delay=9ms"}), "return document.querySelector('.faults .fault code')?.textContent.includes('9ms')"),
            (("fault.remove", {"fault": "f1"}), "return !document.querySelector('.faults .fault')"),
            (("accessory.quirk", {"accessory": "a1", "add": ["no-status"]}), "return document.querySelector('[data-action=remove-quirk-no-status]')"),
            (("app.suspend", {"app": "p1"}), "return document.querySelector('.app').dataset.state === 'suspended'"),
            (("accessory.remove", {"accessory": "a1"}), "return !document.querySelector('.accessory')"),
            (("world.create", {"time": "virtual"}), "return document.querySelectorAll('#world option').length === 2"),
            (("time.advance", {"world": "w1", "by": "7s"}), "return easim.store.worlds.get('w1').t === 7"),
            (("world.remove", {"world": "w1"}), "return document.querySelectorAll('#world option').length === 1"),
        ]:
            site.rpc(request[0], **request[1])
            browser.wait(script, what=f"{request[0]} of another client is shown", patience=10)
        browser.wait("return easim.desk.world().notices.some((one) => one.request === 'fault.change' && one.params.to === 'latency,delay=9ms')", what="the list has the request")
        silent(browser)


@check
def a_session_has_a_verdict_only_of_what_was_expected(setting):
    with setting.site() as site, Browser() as browser:
        plug(site)
        site.rpc("accessory.take", accessory="a1")
        opened(browser, site)
        press(browser, "launch-app")
        press(browser, "open", ".app[data-app=p1]")
        taken = site.until(lambda: site.accessory("a1")["sessions"], "the accessory's end")[0]
        browser.wait("return document.querySelector('.app .session')", what="the session is shown")
        received = "return document.querySelector('.received').textContent.includes(arguments[0])"
        verdict = "return document.querySelector('.session .verdict').textContent"
        for data, shown in [(b"twelve bytes", "12 bytes: twelve bytes"), (b"\xff\xfeA", "3 bytes: ff fe 41"), ("grüße".encode(), "7 bytes: grüße")]:
            site.rpc("session.write", session=taken, data=base64.b64encode(data).decode())
            browser.wait(received, shown, what=shown)
            assert browser.run(verdict) == "", browser.run(verdict)
        site.rpc("accessory.release", accessory="a1")
        site.until(lambda: not site.app("p1")["sessions"], "the session is closed")
        # Of an accessory that does not echo, nothing is expected back.
        site.rpc("accessory.behavior", accessory="a1", behavior="source,rate=20,text=tick")
        press(browser, "open", ".app[data-app=p1]")
        browser.wait("return document.querySelector('.app .session')?.dataset.session === 's3'", what="another session")
        press(browser, "send-text", ".app")
        browser.wait(received, "tick", what="ticks")
        assert browser.run(verdict) == "", browser.run(verdict)
        silent(browser)


@check
def sessions_are_drawn_from_the_accessory_that_has_them(setting):
    with setting.site() as site, Browser() as browser:
        plug(site, serial="FIRST")
        plug(site, serial="SECOND")
        app = site.rpc("app.launch")["app"]
        seen_by(site, app, 2)
        site.rpc("app.open", app=app, protocol="com.example.echo", accessory="a2")
        opened(browser, site)
        browser.wait("return document.querySelectorAll('.lines polyline').length === 1", what="a line")
        inside = browser.run("""
          const card = document.querySelector('.accessory[data-accessory=a2]').getBoundingClientRect();
          const top = document.querySelector('.overview').getBoundingClientRect().top;
          const y = Number(document.querySelector('.lines polyline').getAttribute('points').split(' ')[0].split(',')[1]) + top;
          return y > card.top && y < card.bottom""")
        assert inside, "the line does not begin at the card of the accessory with the session"
        browser.wait("return easim.lanes.drawn.some((one) => one.lane === 'app p1' && one.kind === 'session' && one.owner === 'SECOND')", what="the lane's session")
        titles = browser.run("return [...document.querySelectorAll('.accessory h3')].map((one) => one.textContent)")
        assert titles[0].endswith("FIRST") and titles[1].endswith("SECOND"), titles
        notes = browser.run("return easim.lanes.rows.map((row) => row.note).slice(0, 2)")
        assert notes == ["FIRST", "SECOND"], notes
        assert all(serial in browser.text(".sees") for serial in ["FIRST", "SECOND"]), browser.text(".sees")
        silent(browser)


@check
def fifty_accessories_are_one_line_each(setting):
    with setting.site() as site, Browser() as browser:
        plug(site, 52)
        opened(browser, site)
        browser.wait("return easim.lanes.shownLanes().length >= 54", what="a lane for each accessory, the cable and the device")
        browser.wait("return easim.lanes.rows.every((row) => row.isCompact)", what="each is one line")
        box = browser.run("return [easim.lanes.scroller.clientHeight, easim.lanes.scroller.scrollHeight, easim.lanes.rows.length, document.documentElement.scrollHeight]")
        assert box[0] <= 440 < box[1] and box[2] < 40, box
        assert box[3] <= 2000, f"the page is {box[3]} pixels high"
        browser.run("easim.lanes.scroller.scrollTop = 100000")
        browser.wait("return easim.lanes.rows.some((row) => row.lane.id === 'device')", what="the device, at the end")
        row = browser.run("const row = easim.lanes.rows.find((one) => one.lane.id === 'device'), box = easim.lanes.canvas.getBoundingClientRect(); easim.lanes.canvas.scrollIntoView({block: 'center'}); const now = easim.lanes.canvas.getBoundingClientRect(); return [now.left + 30, now.top + row.top + 6]")
        browser.move(*row, click=True)
        browser.wait("return easim.lanes.rows.some((one) => one.lane.id === 'device' && !one.isCompact && one.height > 900)", what="a click opens the device's lane")
        browser.type(".lane-view input[type=search]", "device")
        browser.wait("return easim.lanes.rows.length === 1 && easim.lanes.drawn.filter((one) => one.kind === 'whole').length > 20", what="the filter leaves one lane, which is still open")
        browser.screenshot(setting.out / "fifty.png", whole=True)
        silent(browser)


@check
def charts_without_figures_say_so(setting):
    with setting.site() as site, Browser() as browser:
        plug(site)
        opened(browser, site)
        browser.click("#tab-load")
        texts = "return [...document.querySelectorAll('.charts .chart')].map((one) => one.textContent)"
        browser.wait(f"return (() => {{ {texts} }})().every((one) => one === 'No figures yet')", what="charts without figures say so")
        press(browser, "start-burst")
        browser.wait("return document.querySelectorAll('.charts polyline').length === 4", what="lines")
        assert "No figures" not in "".join(browser.run(texts))
        silent(browser)


@check
def a_comparison_names_its_base_and_a_stopped_run_says_so(setting):
    with setting.site() as site, Browser() as browser:
        plug(site)
        opened(browser, site)
        browser.click("#tab-load")
        set_value(browser, "[data-key=bursts]", "1000000")
        press(browser, "start-burst")
        site.until(lambda: (site.rpc("job.list")["jobs"] or [{}])[0].get("figures", {}).get("bursts", 0) > 20, "bursts are done")
        press(browser, "stop-burst")
        browser.wait("return /cancelled after \\d+ %/.test(document.querySelector('.bursts h3').textContent)", what="the title says that it was stopped")
        assert "passed" not in browser.text(".bursts h3")
        job = site.rpc("burst.run", bursts=5, accessory="a1")["job"]
        site.until(lambda: site.rpc("job.state", job=job)["state"] == "passed", "another run")
        for one in [job, "j1"]:
            browser.wait("return document.querySelector(`tr[data-job=${arguments[0]}] input`)", one, what="it is in the history")
            browser.click(f"tr[data-job={one}] input")
        browser.wait("return document.querySelector('.comparison h4')?.textContent === 'j2 compared with j1'", what="the comparison")
        heads = browser.run("return [...document.querySelectorAll('.comparison th[scope=col]')].map((one) => one.textContent)")
        assert "(base)" in heads[1] and "cancelled" in heads[1] and heads[3] == "change from j1", heads
        silent(browser)


@check
def another_server_has_other_results(setting):
    with setting.site() as site, Browser() as browser:
        plug(site)
        opened(browser, site)
        press(browser, "launch-app")
        press(browser, "open", ".app")
        site.until(lambda: site.app("p1")["sessions"], "a session")
        browser.click("#tab-scenarios")
        press(browser, "run-robust")
        browser.wait("return document.querySelector('.run canvas')", what="a scenario's run")
        browser.click("#tab-load")
        site.rpc("session.close", session="s1")
        site.rpc("burst.run", bursts=5, accessory="a1")
        browser.wait("return document.querySelector('.report').textContent.length > 0", what="a report")
        site.stop(kill=True)
        site.start()
        browser.wait("return document.querySelector('#status').dataset.state === 'token'", what="the new server has another token")
        browser.type("#token", site.token)
        browser.click("#notice button")
        browser.wait(READY, what="the page is live again")
        browser.wait("return document.querySelector('.bursts h3').textContent === 'No load test yet'", what="the load test is gone")
        left = browser.run("""return {report: document.querySelector('.report').textContent, runs: document.querySelectorAll('.run').length,
          rows: document.querySelectorAll('.bursts tbody tr[data-job]').length, figures: document.querySelectorAll('.figures div').length,
          lines: document.querySelectorAll('.charts polyline').length}""")
        assert not any(left.values()), left
        # The bytes of s1 are another client's.
        plug(site)
        app = site.rpc("app.launch")["app"]
        seen_by(site, app)
        session = site.rpc("app.open", app=app, protocol="com.example.echo")["session"]
        browser.click("#tab-live")
        browser.wait("return document.querySelector('.app .session')", what="the session is shown")
        site.rpc("session.write", session=session, text="mine")
        assert site.rpc("session.read", session=session, wait="5s")["bytes"] == 4, "the page has read the bytes of another client"


@check
def what_was_pulled_is_not_plugged_in(setting):
    with setting.site() as site, Browser() as browser:
        plug(site)
        opened(browser, site)
        press(browser, "pull", ".accessory")
        browser.wait("return document.querySelector('#call-result')?.textContent.endsWith('is not plugged in.')", what="the answer")
        silent(browser)


@check
def an_app_that_is_launched_later_has_its_accessories_in_its_lane(setting):
    with setting.site() as site, Browser() as browser:
        plug(site)
        opened(browser, site)
        site.rpc("app.launch", name="Later")
        site.rpc("app.launch", name="Silent", registered=False)
        bars = "return easim.lanes.drawn.filter((one) => one.lane === arguments[0] && one.kind === 'whole')"
        browser.wait(f"return (() => {{ {bars} }})().length === 1", "app p1", what="the app's lane has its accessory")
        connect = next(one["params"]["event"]["t"] for one in site.events() if one["method"] == "event" and one["params"]["event"]["event"] == "connect")
        assert browser.run(bars, "app p1")[0]["t0"] > connect, "the app saw it before it was launched"
        site.rpc("accessory.unplug", accessory="a1")
        for app in ["app p1", "app p2"]:
            browser.wait(f"return (() => {{ {bars} }})()[0]?.t1 > 0", app, what=f"the bar of {app} ends with the connection")
        silent(browser)
