// What the page knows about the server: its worlds with their accessories, apps, sessions and jobs, and each world's
// notifications. The page's state comes from the event stream, and from lists that are requested after each change.
import { NoServer, WrongToken } from "./rpc.js";
import { LaneModel } from "./model.js";

const MOST_NOTICES = 50_000;

class World {
  constructor(id) {
    this.id = id;
    this.time = "real";
    this.number = 0;
    this.notices = [];
    this.gone = 0;
    this.lanes = new LaneModel();
    this.phases = new Map();
    this.t = 0;
    this.offset = null;
    this.accessories = [];
    this.apps = [];
    this.sessions = new Map();
    this.hosts = [];
    this.proxies = [];
  }

  // The world's current time. In real time, the clock keeps running between events.
  now() {
    if (this.time === "virtual" || this.offset === null) return this.t;
    return Math.max(this.t, performance.now() / 1000 + this.offset);
  }

  clock(t) {
    if (t > this.t) this.t = t;
    // Events can arrive late but never early, so the largest offset is the most accurate one.
    const offset = t - performance.now() / 1000;
    if (this.offset === null || offset > this.offset) this.offset = offset;
  }
}

export class Store extends EventTarget {
  constructor(server) {
    super();
    this.server = server;
    this.worlds = new Map();
    this.jobs = [];
    this.state = "connecting";
    this.problem = "";
    this.received = 0;
    this.isRefreshing = false;
    this.isStale = false;
    this.rates = new Map();
  }

  world(id) {
    if (!this.worlds.has(id)) this.worlds.set(id, new World(id));
    return this.worlds.get(id);
  }

  tell(name) { this.dispatchEvent(new Event(name)); }

  become(state, problem = "") {
    if (this.state === state && this.problem === problem) return;
    this.state = state;
    this.problem = problem;
    this.tell("state");
  }

  // Listens indefinitely: reconnects after a failure, requests what was missed, and removes what no longer exists.
  async run() {
    let delay = 250;
    while (true) {
      this.abort = new AbortController();
      try {
        await this.server.listen(() => {
          delay = 250;
          this.queue = [];
          this.catchUp().catch(() => this.abort.abort());
        }, (notice) => this.queue ? this.queue.push(notice) : this.take(notice), this.abort.signal);
        this.become("lost", "The connection ended.");
      } catch (error) {
        if (error instanceof WrongToken) {
          this.become("token");
          await this.tokenChanged();
          continue;
        }
        this.become("lost", error instanceof NoServer ? error.message : String(error));
      }
      await new Promise((done) => setTimeout(done, delay));
      delay = Math.min(delay * 2, 4_000);
    }
  }

  tokenChanged() { return new Promise((done) => { this.newToken = done; }); }

  useToken(token) {
    if (token === this.server.token) return;
    this.server.token = token;
    // A different token means a different server.
    this.worlds.clear();
    this.rates.clear();
    this.jobs = [];
    this.become("connecting");
    this.tell("reset");
    this.abort?.abort();
    this.newToken?.();
  }

  // Requests the events that occurred before the event stream began.
  async catchUp() {
    const { worlds } = await this.server.call("world.list");
    for (const { world: id, number } of worlds) {
      const world = this.world(id);
      if (number < world.number) this.worlds.delete(id);
      const before = this.world(id);
      const wasEmpty = before.number === 0;
      while (before.number < number) {
        const { notices } = await this.server.call("events.list", { world: id, after: before.number, limit: 2_000 });
        if (notices.length === 0) break;
        const gap = notices[0].params.number - before.number - 1;
        if (gap > 0) {
          before.gone += gap;
          before.lanes.gap(notices[0].params, wasEmpty);
        }
        for (const notice of notices) this.take(notice);
      }
    }
    const queue = this.queue;
    this.queue = null;
    for (const notice of queue) this.take(notice);
    this.become("live");
    await this.refresh();
  }

  take({ method, params }) {
    this.received += 1;
    if (method === "dropped") {
      for (const world of this.worlds.values()) world.gone += params.count;
      this.abort.abort();
      return;
    }
    if (method === "job") {
      this.takeJob(params);
      return;
    }
    const world = this.world(params.world);
    if (params.number <= world.number) return;
    world.number = params.number;
    const t = params.event?.t ?? params.t ?? 0;
    const notice = { method, number: params.number, t, ...(method === "event" ? params.event : params) };
    world.clock(t);
    world.notices.push(notice);
    if (world.notices.length > MOST_NOTICES * 1.1) {
      const count = world.notices.length - MOST_NOTICES;
      world.notices.splice(0, count);
      world.lanes.forget(world.notices[0].t);
      world.gone += count;
    }
    world.lanes.take(notice);
    phase(world.phases, notice);
    this.tell("notice");
    this.refreshSoon();
  }

  takeJob(job) {
    const at = this.jobs.findIndex((known) => known.job === job.job);
    if (at >= 0) this.jobs[at] = job; else this.jobs.push(job);
    this.tell("jobs");
  }

  // Fetches lists at most five times a second.
  refreshSoon(delay = 200) {
    const due = performance.now() + delay;
    if (this.timer && this.due <= due) return;
    clearTimeout(this.timer);
    this.due = due;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.refresh().catch(() => {});
    }, delay);
  }

  async refresh() {
    if (this.isRefreshing) { this.isStale = true; return; }
    this.isRefreshing = true;
    try {
      const [worlds, accessories, apps, jobs, hosts, proxies] = await this.server.batch(
        [["world.list"], ["accessory.list"], ["app.list"], ["job.list"], ["host.list"], ["proxy.list"]]);
      await this.refreshDetails(apps.apps, accessories.accessories);
      const known = new Set(worlds.worlds.map((world) => world.world));
      for (const id of this.worlds.keys()) if (!known.has(id)) this.worlds.delete(id);
      for (const state of worlds.worlds) {
        const world = this.world(state.world);
        world.time = state.time;
        world.clock(state.t);
        world.accessories = accessories.accessories.filter((one) => one.world === state.world);
        world.apps = apps.apps.filter((one) => one.world === state.world);
        world.hosts = hosts.hosts.filter((one) => one.world === state.world);
        world.proxies = proxies.proxies.filter((one) => one.world === state.world);
      }
      this.jobs = jobs.jobs;
      for (const app of apps.apps) this.worlds.get(app.world)?.lanes.sessionsOf(app);
      this.tell("lists");
      this.tell("jobs");
      // Polls the sessions, because notifications do not report how many bytes have been transferred.
      if (apps.apps.some((app) => app.sessions.length > 0)) this.refreshSoon(1_000);
    } finally {
      this.isRefreshing = false;
      if (this.isStale) {
        this.isStale = false;
        this.refreshSoon();
      }
    }
  }

  // Requests the accessories and sessions of each app, and the faults of each accessory. The page shows the lists of a
  // world once all of them have arrived.
  async refreshDetails(apps, accessories) {
    const calls = apps.flatMap((app) => [
      ["app.accessories", { app: app.app }], ...app.sessions.map((session) => ["session.state", { session }]),
    ]);
    const faults = accessories.filter((one) => one.faults.length > 0);
    calls.push(...faults.map((one) => ["fault.list", { accessory: one.accessory }]));
    const results = await this.server.batch(calls);
    let at = 0;
    const now = performance.now() / 1000;
    for (const app of apps) {
      const seen = results[at++];
      app.sees = seen?.accessories ?? [];
      app.states = [];
      for (const id of app.sessions) {
        const state = results[at++];
        if (!state?.session) continue;
        const before = this.rates.get(id);
        const sum = state.bytesRead + state.bytesWritten;
        state.rate = before && now > before.now ? (sum - before.sum) / (now - before.now) : 0;
        this.rates.set(id, { now, sum });
        app.states.push(state);
      }
    }
    for (const one of faults) one.states = results[at++]?.faults ?? [];
  }
}

// The phases of an accessory, derived from its events.
export const PHASES = ["plugged", "link", "authenticated", "identified", "published", "session"];

function phase(phases, notice) {
  if (notice.method !== "event") return;
  const serial = notice.accessory?.serial;
  if (!serial) return;
  const state = phases.get(serial) ?? { name: notice.accessory.name, reached: new Set(), sessions: 0, problem: "" };
  phases.set(serial, state);
  state.name = notice.accessory.name;
  switch (`${notice.side} ${notice.event}`) {
    case "accessory attach":
      state.reached = new Set(["plugged"]);
      state.protocols = notice.accessory.protocols;
      state.sessions = 0;
      state.problem = "";
      break;
    case "accessory detach":
      state.reached = new Set();
      state.sessions = 0;
      break;
    case "accessory link":
      if (notice.up) state.reached.add("link"); else state.reached.delete("link");
      break;
    case "accessory authentication":
      if (/accepted/.test(notice.text)) state.reached.add("authenticated");
      break;
    case "accessory identification":
      if (/accepted/.test(notice.text)) state.reached.add("identified");
      break;
    case "device connect":
      state.reached.add("published");
      state.published = notice.accessory.protocols;
      break;
    case "device disconnect": state.reached.delete("published"); break;
    case "accessory session.open": state.sessions += 1; break;
    case "accessory session.close": state.sessions = Math.max(0, state.sessions - 1); break;
    case "device refused": state.problem = notice.text; break;
    default: break;
  }
  if (state.sessions > 0) state.reached.add("session"); else state.reached.delete("session");
}
