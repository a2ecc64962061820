// The page: views, the choice of the world, and the connection. The token comes after '#' in the address and is sent
// only in the header of each request.
import { h, perFrame, replace, seconds, setText, oneLine } from "./dom.js";
import { Server } from "./rpc.js";
import { Store } from "./store.js";
import { Schemas } from "./forms.js";
import { CallBar } from "./calls.js";
import { Overview } from "./overview.js";
import { Controls } from "./controls.js";
import { LaneView } from "./lanes.js";
import { VirtualList } from "./list.js";
import { Packets } from "./packets.js";
import { Bursts } from "./bursts.js";
import { Scenarios } from "./scenarios.js";
import { SessionBox } from "./sessions.js";

const main = document.querySelector("main");
const status = document.querySelector("#status");
const notice = document.querySelector("#notice");
const server = new Server(location.hash.slice(1));
const store = new Store(server);
const desk = { server, store, chosen: "main", bar: new CallBar(server, store) };

desk.world = () => store.worlds.get(desk.chosen) ?? store.world("main");
desk.choose = (id) => {
  desk.chosen = id;
  store.refresh().catch(() => {});
};

const views = [];

function showView(name) {
  for (const view of views) {
    const isShown = view.name === name;
    if (view.element.hidden === !isShown && view.tab.getAttribute("aria-selected") === String(isShown)) continue;
    view.element.hidden = !isShown;
    view.tab.setAttribute("aria-selected", String(isShown));
    view.tab.tabIndex = isShown ? 0 : -1;
    if (isShown) view.opened?.(); else view.closed?.();
  }
  sessionStorage.setItem("view", name);
}

function addView(name, title, element, hooks = {}) {
  const tab = h("button", {
    type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}`, "aria-selected": "false",
    on: {
      click: () => showView(name),
      keydown: (event) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!by) return;
        const at = views.findIndex((view) => view.name === name);
        const next = views[(at + by + views.length) % views.length];
        showView(next.name);
        next.tab.focus();
      },
    },
  }, title);
  const panel = h("div", { id: `view-${name}`, role: "tabpanel", "aria-labelledby": `tab-${name}`, hidden: true }, element);
  document.querySelector("#tabs").append(tab);
  main.append(panel);
  views.push({ name, tab, element: panel, ...hooks });
}

function connection() {
  const texts = { connecting: "connecting", live: "live", lost: "connection lost", token: "wrong token" };
  setText(status, texts[store.state]);
  status.dataset.state = store.state;
  notice.hidden = store.state === "live" || store.state === "connecting";
  if (store.state === "lost") replace(notice, h("p", {}, `${store.problem} The page tries to connect again.`));
  if (store.state === "token") askForToken();
}

function askForToken() {
  const input = h("input", { type: "text", id: "token", autocomplete: "off", spellcheck: false, size: 36 });
  replace(notice, h("form", {
    on: {
      submit: (event) => {
        event.preventDefault();
        const token = input.value.trim().replace(/^.*#/, "");
        history.replaceState(null, "", `#${token}`);
        store.useToken(token);
      },
    },
  }, h("p", {}, "The token is missing or wrong. easim prints the address with the token behind '#'; a server that was started again has another one."),
  h("label", { htmlFor: "token" }, "Address or token "), input, " ", h("button", { type: "submit", class: "main" }, "Connect")));
}

addEventListener("hashchange", () => store.useToken(location.hash.slice(1)));

// The worlds to choose from, and the clock.
function header() {
  const select = h("select", { id: "world", on: { change: () => desk.choose(select.value) } });
  replace(document.querySelector("#worlds"), h("label", { htmlFor: "world" }, "World "), select);
  const clock = document.querySelector("#clock");
  store.addEventListener("lists", () => {
    const ids = [...store.worlds.keys()];
    if ([...select.options].map((one) => one.value).join() !== ids.join()) {
      replace(select, ids.map((id) => h("option", { value: id }, `${id} (${store.worlds.get(id).time} time)`)));
    }
    if (!store.worlds.has(desk.chosen)) desk.chosen = "main";
    select.value = desk.chosen;
  });
  setInterval(() => setText(clock, store.worlds.size ? `t = ${seconds(desk.world().now(), 1)}` : ""), 200);
}

// The world's events as a list, below the lanes.
function eventList(lanes) {
  const filter = h("input", { type: "search", id: "event-filter", placeholder: "connect, fault, name", autocomplete: "off" });
  const list = new VirtualList({
    label: "Events",
    columns: [{ name: "No.", class: "number" }, { name: "Time", class: "time" }, { name: "Side", class: "from" }, { name: "Event", class: "event" }, { name: "What", class: "text" }],
    cells: (one) => [one.number, seconds(one.t, 6), side(one), one.event ?? one.request, describe(one)],
    kind: (one) => ["fault", "warning", "refused", "alert"].includes(one.event) ? "bad" : one.event === "connect" ? "message" : "",
    choose: (one) => { if (!list.follows) lanes.showTime(one.t); },
  });
  const count = h("span", { class: "hint" });
  const update = perFrame(() => {
    const world = desk.world();
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = words.length === 0 ? world.notices : world.notices.filter((one) => {
      const text = `${side(one)} ${one.event ?? one.request} ${describe(one)}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    list.show(rows, { keep: true });
    setText(count, `${rows.length} events${world.gone ? `, ${world.gone} older ones are gone` : ""}`);
  });
  filter.addEventListener("input", () => { list.chosen = -1; update(); });
  store.addEventListener("notice", update);
  store.addEventListener("lists", update);
  const jump = h("button", { type: "button", dataset: { action: "packets-of-event" }, on: { click: () => {
    const one = list.rows[list.chosen];
    if (one) jumpToPackets(one.t); else desk.bar.say("Choose an event in the list first.", true);
  } } }, "Packets of the chosen event");
  return h("section", { class: "events", "aria-label": "Events" }, h("h2", { class: "hidden" }, "Events"), h("div", { class: "tools" },
    h("label", { htmlFor: "event-filter" }, "Filter events"), filter, jump, count), list.element);
}

function side(one) { return one.request ? "request" : one.side ?? one.app ?? one.session ?? ""; }

function describe(one) {
  if (one.request) {
    const all = Object.entries({ ...one.params, ...one.result });
    return oneLine(all.map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(" "));
  }
  const name = one.accessory?.name ?? "";
  const protocols = one.accessory?.protocols;
  const what = one.text ?? one.reason ?? (["connect", "disconnect", "attach"].includes(one.event) && protocols ? (protocols.length ? protocols.join(", ") : "no protocols") : one.protocol ?? one.on ?? "");
  const counts = one.bytesRead !== undefined ? ` · ${one.bytesRead} bytes read, ${one.bytesWritten} written` : "";
  return oneLine([name, what].filter(Boolean).join(" · ") + counts);
}

async function jumpToPackets(t) {
  showView("packets");
  await desk.packets.jump(t);
}

async function start() {
  header();
  store.addEventListener("state", connection);
  connection();
  store.run();
  while (true) {
    try {
      const [document, library] = await server.batch([["rpc.discover"], ["library.list"]]);
      desk.schemas = new Schemas(document);
      desk.library = library;
      break;
    } catch { await new Promise((done) => setTimeout(done, 500)); }
  }
  const lanes = new LaneView({ model: desk.world().lanes, now: () => desk.world().now(), label: "Lanes of the accessories, the cable, the device and the apps over time", jump: (shape) => jumpToPackets(shape.t0) });
  lanes.isStill = () => desk.world().time === "virtual" || store.state !== "live";
  const renew = () => { lanes.show(desk.world().lanes); lanes.request(); };
  store.addEventListener("notice", renew);
  store.addEventListener("lists", renew);
  desk.overview = new Overview(desk);
  desk.packets = new Packets(desk);
  desk.bursts = new Bursts(desk);
  addView("live", "Live", [h("section", { class: "lanes-card card", "aria-label": "Lanes" }, h("h2", {}, "What happens"), lanes.element, legend()),
    desk.overview.element, new Controls(desk).element, eventList(lanes)]);
  addView("packets", "Packets", desk.packets.element, { opened: () => desk.packets.opened(), closed: () => desk.packets.closed() });
  addView("load", "Load", desk.bursts.element, { opened: () => desk.bursts.request() });
  const scenarios = new Scenarios(desk);
  addView("scenarios", "Scenarios", scenarios.element);
  document.body.append(desk.bar.element);
  const wanted = sessionStorage.getItem("view");
  showView(views.some((view) => view.name === wanted) ? wanted : "live");
  store.addEventListener("reset", () => {
    for (const view of [desk.packets, desk.bursts, scenarios]) view.reset();
    // Ids begin again.
    SessionBox.mine.clear();
    desk.bar.say("");
  });
  // For scripts in the browser's console: the known state, and what was drawn.
  globalThis.easim = { desk, lanes, store, server };
  document.documentElement.dataset.ready = "true";
  performance.mark("ready");
  store.refresh().catch(() => {});
}

function legend() {
  const key = (kind, text) => h("span", { class: `key ${kind}` }, text);
  return h("p", { class: "legend" }, key("whole", "with its protocols"), key("bare", "without protocols"), key("session", "session"),
    key("linked", "link"), key("fault", "fault"), key("warning", "warning"));
}

start();
