// A trace: a completed run, shown in the views of the live page but without a server. The data is part of the document.
import { h, replace, seconds, setText, duration, oneLine } from "./dom.js";
import { LaneModel } from "./model.js";
import { LaneView, legend } from "./lanes.js";
import { EventList } from "./events.js";
import { Packets } from "./packets.js";
import { RecordedPackets } from "./source.js";
import { Tabs } from "./tabs.js";
import { toast } from "./toast.js";

const data = JSON.parse(document.querySelector("#data").textContent);
const world = { id: "trace", time: data.time, notices: [], gone: data.gone, lanes: new LaneModel() };

for (const fault of data.faults) world.lanes.beginFault("", fault, 0);
data.events.forEach((one, index) => {
  const params = one.method ? one.params : { event: one };
  const t = params.event?.t ?? params.t ?? 0;
  const notice = { method: one.method ?? "event", t, ...((one.method ?? "event") === "event" ? params.event : params), number: index + 1 };
  world.notices.push(notice);
  world.lanes.take(notice);
});

world.lanes.giveRest();

const desk = { range: null, world: () => world, say: toast };
const source = new RecordedPackets(data);
world.lanes.last = Math.max(world.lanes.last, source.all.at(-1)?.t ?? 0);
world.lanes.first ??= source.all[0]?.t ?? 0;
desk.accessoryOf = (packet) => world.lanes.sessions.some((one) => one.accessory === packet.accessory) ? packet.accessory : undefined;

const tabs = new Tabs(document.querySelector("#tabs"), "trace");
const jump = async (target) => {
  tabs.show("packets");
  await packets.jump(target);
};
const ranged = h("p", { class: "range", role: "status", hidden: true });
const lanes = new LaneView({
  model: world.lanes, now: () => world.lanes.last, isLive: false, label: "Lanes of the accessories, the cable, the device and the apps over time",
  jump: (shape) => jump(shape.packet ? { number: shape.packet } : { t: shape.t0 }),
  ranged: (range) => {
    desk.range = range;
    packets?.refilter();
    events?.request();
    showRange();
  },
});
desk.showTime = (t) => lanes.showTime(t);
const events = new EventList(desk, { follows: false, chosen: (one) => lanes.showTime(one.t), jump: (t) => jump({ t }) });
const packets = new Packets(desk, source);

function showRange() {
  ranged.hidden = !desk.range;
  if (!desk.range) return;
  const { t0, t1 } = desk.range;
  const count = world.notices.filter((one) => one.t >= t0 && one.t <= t1).length;
  setText(ranged, `${seconds(t0, 3)} to ${seconds(t1, 3)}, ${duration(t1 - t0)}: ${count} events, ${packets.figures(desk.range)}`);
}

function head() {
  const isGood = { passed: "passed", finished: "", capture: "", failed: "failed", stopped: "failed", empty: "failed" }[data.verdict] ?? "";
  const word = data.verdict.slice(0, 1).toUpperCase() + data.verdict.slice(1);
  const hits = source.all.filter((one) => one.event === "fault").length;
  const again = source.all.filter((one) => one.repeated).length;
  const figures = [`${duration(world.lanes.last - world.lanes.first)} of ${data.time} time`, `${world.notices.length} events`, `${source.all.length} packets`,
    again ? `${again} sent again` : "", hits ? `${hits} packets that faults acted on` : ""].filter(Boolean).join(" · ");
  document.querySelector("#program").textContent = data.program;
  return h("section", { class: `card trace-head ${isGood}`, "aria-label": "Result" },
    h("p", { class: "trace-verdict", role: "status" }, word ? h("b", {}, `${oneLine(word)}: `) : null, oneLine(data.text || "no verdict")),
    h("p", { class: "facts" }, h("code", {}, oneLine(data.command))), h("p", { class: "facts" }, figures),
    data.left ? h("p", { class: "problem left" }, data.left) : null);
}

document.querySelector("main").append(h("div", {}, head(),
  h("section", { class: "lanes-card card", "aria-label": "Lanes" }, h("h2", {}, "What happened"), lanes.element, ranged, legend())));
tabs.add("packets", "Packets", packets.element, { opened: () => packets.opened() });
tabs.add("log", "Log", events.element);
const wanted = source.all.length > 0 ? "packets" : "log";
tabs.show(wanted);
events.update();
lanes.all();
packets.opened();
// For scripts in the browser's console.
globalThis.easim = { desk, lanes, world, packets, events, data };
document.documentElement.dataset.ready = "true";
performance.mark("ready");
replace(document.querySelector("#data"));
