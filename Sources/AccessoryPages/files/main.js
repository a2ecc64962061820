// The page: its views, the current world, and the connection. The token, which follows '#' in the page's address, is
// sent only in a header of each request.
import { duration, h, perFrame, replace, seconds, setText } from "./dom.js";
import { Server } from "./rpc.js";
import { Store } from "./store.js";
import { Schemas } from "./forms.js";
import { CallBar } from "./calls.js";
import { Overview } from "./overview.js";
import { Controls } from "./controls.js";
import { LaneView, legend } from "./lanes.js";
import { EventList } from "./events.js";
import { Packets } from "./packets.js";
import { LivePackets } from "./source.js";
import { Tabs } from "./tabs.js";
import { toast } from "./toast.js";
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

const tabs = new Tabs(document.querySelector("#tabs"), "view");
desk.range = null;
desk.say = toast;
desk.accessoryOf = (packet) => desk.world().accessories.find((one) => one.accessory === packet.accessory)?.serial;
// Returns the ID of the fault that has the given text.
desk.faultName = (text) => {
  const found = desk.world().accessories.flatMap((one) => one.states ?? []).find((one) => one.text === text);
  return found ? `${found.fault} (${text})` : text;
};

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

// Shows the list of worlds and the clock.
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

async function jumpToPackets(target) {
  tabs.show("packets");
  await desk.packets.jump(target);
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
  const ranged = h("p", { class: "range", role: "status", hidden: true });
  const lanes = new LaneView({
    model: desk.world().lanes, now: () => desk.world().now(), label: "Lanes of the accessories, the cable, the device and the apps over time",
    jump: (shape) => jumpToPackets(shape.packet ? { number: shape.packet } : { t: shape.t0 }),
    ranged: (range) => {
      desk.range = range;
      desk.packets?.refilter();
      events?.request();
      showRange(ranged);
    },
  });
  desk.showTime = (t) => lanes.showTime(t);
  const renew = () => { lanes.show(desk.world().lanes); lanes.request(); };
  store.addEventListener("notice", renew);
  store.addEventListener("lists", renew);
  desk.overview = new Overview(desk);
  desk.packets = new Packets(desk, new LivePackets(desk));
  desk.bursts = new Bursts(desk);
  const events = new EventList(desk, { chosen: (one) => lanes.showTime(one.t), jump: (t) => jumpToPackets({ t }) });
  store.addEventListener("notice", events.request);
  store.addEventListener("lists", events.request);
  const sight = h("p", { class: "sight", role: "status" });
  const see = perFrame(() => setText(sight, sentence(desk.world())));
  store.addEventListener("lists", see);
  store.addEventListener("notice", see);
  tabs.add("live", "Live", [sight, new Controls(desk).element, h("section", { class: "lanes-card card", "aria-label": "Lanes" }, h("h2", { class: "hidden" }, "What happens"), lanes.element, ranged, legend()),
    desk.overview.element, events.element]);
  tabs.add("packets", "Packets", desk.packets.element, { opened: () => desk.packets.opened(), closed: () => desk.packets.closed() });
  tabs.add("load", "Load", desk.bursts.element, { opened: () => desk.bursts.request() });
  const scenarios = new Scenarios(desk);
  tabs.add("scenarios", "Scenarios", scenarios.element);
  document.body.append(desk.bar.element);
  tabs.show(tabs.has(tabs.remembered) ? tabs.remembered : "live");
  store.addEventListener("reset", () => {
    for (const view of [desk.packets, desk.bursts, scenarios]) view.reset();
    // A different server starts numbering sessions at 1 again.
    SessionBox.mine.clear();
    desk.bar.say("");
  });
  // Lets scripts in the browser's console see the state and the shapes that were drawn.
  globalThis.easim = { desk, lanes, store, server };
  document.documentElement.dataset.ready = "true";
  performance.mark("ready");
  store.refresh().catch(() => {});
}

// Describes in a sentence what is happening in a world.
function sentence(world) {
  const count = (number, one, several = `${one}s`) => `${number} ${number === 1 ? one : several}`;
  if (world.accessories.length === 0) return "Nothing is here yet: add an accessory, and launch an app that sees it.";
  const plugged = world.accessories.filter((one) => one.plugged);
  const sessions = world.apps.flatMap((app) => app.states ?? []);
  const faults = world.accessories.reduce((sum, one) => sum + one.faults.length, 0);
  const names = plugged.length === 1 ? `${plugged[0].name} is plugged in` : `${count(plugged.length, "accessory is", "accessories are")} plugged in`;
  const apps = world.apps.length === 0 ? "no app is running" : sessions.length > 0
    ? `${count(world.apps.length, "app has", "apps have")} ${count(sessions.length, "open session")}` : `${count(world.apps.length, "app is", "apps are")} running, without a session`;
  return `${plugged.length === 0 ? "No accessory is plugged in" : names}; ${apps}${faults > 0 ? `; ${count(faults, "fault acts", "faults act")} on the cables` : ""}.`;
}

// Describes the traffic in the selected time range, if its packets were recorded.
function showRange(element) {
  element.hidden = !desk.range;
  if (!desk.range) return;
  const { t0, t1 } = desk.range;
  const count = desk.world().notices.filter((one) => one.t >= t0 && one.t <= t1).length;
  setText(element, `${seconds(t0, 3)} to ${seconds(t1, 3)}, ${duration(t1 - t0)}: ${count} events, ${desk.packets.figures(desk.range)}. Packets and events of this range are shown; escape clears it.`);
}

start();
