// Shows a trace. A trace is a set of runs that have ended. The views are the same as on the live page. The views need
// no server, because the page contains the data. Related runs, such as the same scenario run with two different
// clients, are shown side by side. The packets and the log belong to the run that is selected.
import { h, replace, seconds, setText, duration, oneLine } from "./dom.js";
import { LaneModel } from "./model.js";
import { LaneView, legend } from "./lanes.js";
import { EventList } from "./events.js";
import { Packets } from "./packets.js";
import { RecordedPackets } from "./source.js";
import { Tabs } from "./tabs.js";
import { toast } from "./toast.js";

const MOST_LOST = 12;
const data = JSON.parse(document.querySelector("#data").textContent);
const tabs = new Tabs(document.querySelector("#tabs"), "trace");
const panels = { packets: h("div", {}), log: h("div", {}) };
const sides = h("div", { class: "sides" });
let chosen = null;

class Run {
  constructor(made) {
    Object.assign(this, { made, isGood: { passed: "passed", failed: "failed", stopped: "failed", empty: "failed" }[made.verdict] ?? "" });
    const world = this.world = { id: "trace", time: made.time, notices: [], gone: made.gone, lanes: new LaneModel() };
    for (const fault of made.faults) world.lanes.beginFault("", fault, 0);
    made.events.forEach((one, index) => {
      const params = one.method ? one.params : { event: one };
      const t = params.event?.t ?? params.t ?? 0;
      const notice = { method: one.method ?? "event", t, ...((one.method ?? "event") === "event" ? params.event : params), number: index + 1 };
      world.notices.push(notice);
      world.lanes.take(notice);
    });
    world.lanes.giveRest();
    const source = this.source = new RecordedPackets(made);
    world.lanes.last = Math.max(world.lanes.last, source.all.at(-1)?.t ?? 0);
    world.lanes.first ??= source.all[0]?.t ?? 0;
    const desk = this.desk = { range: null, world: () => world, say: toast };
    desk.accessoryOf = (packet) => world.lanes.sessions.some((one) => one.accessory === packet.accessory) ? packet.accessory : undefined;
    this.ranged = h("p", { class: "range", role: "status", hidden: true });
    this.lanes = new LaneView({
      model: world.lanes, now: () => world.lanes.last, isLive: false,
      label: `Lanes of the accessories, the cable, the device and the apps over time${made.name ? `, ${made.name}` : ""}`,
      jump: (shape) => this.jump(shape.packet ? { number: shape.packet } : { t: shape.t0 }),
      ranged: (range) => {
        desk.range = range;
        choose(this);
        this.packets?.refilter();
        this.events?.request();
        this.showRange();
      },
    });
    desk.showTime = (t) => this.lanes.showTime(t);
    this.events = new EventList(desk, { follows: false, chosen: (one) => this.lanes.showTime(one.t), jump: (t) => this.jump({ t }) });
    this.packets = new Packets(desk, source);
    this.events.update();
    this.lanes.all();
  }

  async jump(target) {
    choose(this);
    tabs.show("packets");
    await this.packets.jump(target);
  }

  // Selects the first event whose text contains the given words.
  find(words) {
    const at = this.world.notices.findIndex((one) => one.text?.includes(words));
    if (at < 0) return;
    choose(this);
    tabs.show("log");
    this.events.list.select(at);
  }

  showRange() {
    this.ranged.hidden = !this.desk.range;
    if (!this.desk.range) return;
    const { t0, t1 } = this.desk.range;
    const count = this.world.notices.filter((one) => one.t >= t0 && one.t <= t1).length;
    setText(this.ranged, `${seconds(t0, 3)} to ${seconds(t1, 3)}, ${duration(t1 - t0)}: ${count} events, ${this.packets.figures(this.desk.range)}`);
  }

  get figures() {
    const hits = this.source.all.filter((one) => one.event === "fault").length;
    const again = this.source.all.filter((one) => one.repeated).length;
    return [`${duration(this.world.lanes.last - this.world.lanes.first)} of ${this.made.time} time`, `${this.world.notices.length} events`, `${this.source.all.length} packets`,
      again ? `${again} sent again` : "", hits ? `${hits} packets that faults acted on` : ""].filter(Boolean).join(" · ");
  }

  // Links to the packets that were lost.
  get lost() {
    const all = this.packets.all.filter((one) => one.lostBy?.startsWith("lost by") || (one.event === "fault" && !one.of && one.note?.startsWith("lost by")));
    if (all.length === 0) return null;
    const links = all.slice(0, MOST_LOST).map((one) => h("button", { type: "button", class: "link", on: { click: () => this.jump({ number: one.number }) } }, `#${one.number}`));
    return h("p", { class: "lost" }, all.length === 1 ? "Lost packet: " : `${all.length} lost packets: `, links, all.length > MOST_LOST ? " …" : null);
  }

  // Returns the card that shows the run's lanes. If there are several cards, the card also shows the run's verdict.
  get card() {
    if (this.element) return this.element;
    const { made } = this;
    const own = made.name ? [h("h2", {}, oneLine(made.name)), h("p", { class: "trace-verdict" }, verdict(made)), h("p", { class: "facts" }, this.figures),
      made.left ? h("p", { class: "problem left" }, made.left) : null] : h("h2", {}, "What happened");
    this.pick = made.name ? h("button", { type: "button", dataset: { action: "choose-run" }, on: { click: () => choose(this) } }, "Packets and log below") : null;
    const lost = h("div", {});
    this.element = h("section", { class: `lanes-card card ${made.name ? `trace-head ${this.isGood}` : ""}`, "aria-label": made.name || "Lanes" }, own, lost, this.lanes.element, this.ranged, this.pick);
    this.packets.fetch().then(() => { if (this.lost) replace(lost, this.lost); });
    return this.element;
  }
}

function verdict({ verdict: word, text }) {
  return [word ? h("b", {}, `${oneLine(word.slice(0, 1).toUpperCase() + word.slice(1))}: `) : null, oneLine(text || "no verdict")];
}

// Shows the packets and the log of the selected run.
function choose(run) {
  if (chosen === run) return;
  chosen = run;
  for (const one of shown) one.pick?.setAttribute("aria-pressed", String(one === run));
  replace(panels.packets, run.packets.element);
  replace(panels.log, run.events.element);
  run.packets.opened();
  run.events.request();
  // Lets scripts in the browser's console see the trace's data.
  globalThis.easim = { ...run, data, runs: shown };
}

const made = data.runs ?? [data];
const groups = [...new Set(made.map((one) => one.group ?? ""))];
const runs = new Map();
let shown = [];

function show(group) {
  if (!runs.has(group)) runs.set(group, made.filter((one) => (one.group ?? "") === group).map((one) => new Run(one)));
  shown = runs.get(group);
  if (select) select.value = group;
  replace(sides, shown.map((run) => run.card));
  choose(shown[0]);
  for (const run of shown) run.lanes.request();
}

function sign(group) { return made.find((one) => one.group === group).verdict === "passed" ? "✓" : "✗"; }

const select = groups.length < 2 ? null
  : h("select", { id: "group", on: { change: () => show(select.value) } }, groups.map((one) => h("option", { value: one }, oneLine(`${sign(one)} ${one}`))));

// Follows the part of the URL after #, which either names a group or contains words from an event.
function follow() {
  let words = "";
  try { words = decodeURIComponent(location.hash.slice(1)); } catch { /* A malformed fragment is ignored. */ }
  if (groups.includes(words)) show(words);
  else if (words) shown[0].find(words);
}

document.querySelector("#program").textContent = data.program;
const isGood = { passed: "passed", failed: "failed", stopped: "failed", empty: "failed" }[data.verdict] ?? "";
const single = data.runs ? null : new Run(data);
if (single) runs.set("", [single]);
document.querySelector("main").append(h("div", {}, h("section", { class: `card trace-head ${isGood}`, "aria-label": "Result" },
  h("p", { class: "trace-verdict", role: "status" }, verdict(data)), h("p", { class: "facts" }, h("code", {}, oneLine(data.command))),
  single ? h("p", { class: "facts" }, single.figures) : null, data.left ? h("p", { class: "problem left" }, data.left) : null,
  select ? h("p", { class: "tools" }, h("label", { htmlFor: "group" }, "Scenario"), select) : null), sides, legend()));
tabs.add("packets", "Packets", panels.packets, { opened: () => chosen?.packets.opened() });
tabs.add("log", "Log", panels.log, { opened: () => chosen?.events.request() });
show(groups[0]);
tabs.show(chosen.source.all.length > 0 ? "packets" : "log");
follow();
addEventListener("hashchange", follow);
document.documentElement.dataset.ready = "true";
replace(document.querySelector("#data"));
