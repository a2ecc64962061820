// Derives a world's lanes, with their bars and marks on a time axis, from event notifications, such as a scenario's
// event lines. There is a lane for each accessory, one for the cables, one for the device, and one for each app.
// Packets, if they are known, add the sessions' traffic and the effects of faults.
import { bytes, duration } from "./dom.js";

const MOST_OF_A_LANE = 20_000;

class Lane {
  constructor(id, kind, title) {
    this.id = id;
    this.kind = kind;
    this.title = title;
    this.bars = [];
    this.marks = [];
    this.open = new Map();
  }

  // Begins a bar that ends when `end` is called with the same key. Each `owner` has its own row, so accessories that
  // are connected at the same time appear one below the other.
  begin(key, bar) {
    this.end(key, bar.t0);
    const whole = { lane: this.id, t1: null, end: "", row: this.row(bar.owner), ...bar };
    this.bars.push(whole);
    this.open.set(key, whole);
    if (this.bars.length > MOST_OF_A_LANE * 1.1) this.bars.splice(0, this.bars.length - MOST_OF_A_LANE);
  }

  row(owner) {
    const taken = new Set();
    for (const bar of this.open.values()) {
      if (bar.owner === owner) return bar.row;
      taken.add(bar.row);
    }
    let row = 0;
    while (taken.has(row)) row += 1;
    return row;
  }

  end(key, t, why = "", number = 0) {
    const bar = this.open.get(key);
    if (!bar) return;
    bar.t1 = t;
    bar.end = why;
    bar.last = number;
    this.open.delete(key);
  }

  endAll(t, why, number) { for (const key of [...this.open.keys()]) this.end(key, t, why, number); }

  mark(mark) {
    this.marks.push({ lane: this.id, ...mark });
    if (this.marks.length > MOST_OF_A_LANE * 1.1) this.marks.splice(0, this.marks.length - MOST_OF_A_LANE);
  }
}

export class LaneModel {
  constructor() {
    this.lanes = new Map();
    this.lane("cable", "cable", "Cable");
    this.lane("device", "device", "Apple device");
    this.gaps = [];
    this.waitingSessions = [];
    // All sessions, oldest first. A packet belongs to the newest session that has the session number in the packet.
    this.sessions = [];
    // Named periods in a lane, and periods during which a fault is active.
    this.phases = [];
    this.shades = [];
    this.began = new Map();
    this.named = [];
    this.first = null;
    this.last = 0;
    this.version = 0;
  }

  lane(id, kind, title) {
    let lane = this.lanes.get(id);
    if (!lane) {
      lane = new Lane(id, kind, title);
      this.lanes.set(id, lane);
    }
    if (title) lane.title = title;
    return lane;
  }

  // The lanes of accessories, the cables, the device and apps, in this order. Lanes of the same kind are in the order
  // they were added.
  get ordered() {
    const rank = { accessory: 0, cable: 1, device: 2, app: 3 };
    return [...this.lanes.values()].sort((a, b) => rank[a.kind] - rank[b.kind]);
  }

  gap(params, isStart) {
    const t = params.event?.t ?? params.t ?? 0;
    if (!isStart) this.gaps.push(t);
    this.version += 1;
  }

  forget(before) {
    for (const lane of this.lanes.values()) {
      lane.bars = lane.bars.filter((bar) => bar.t1 === null || bar.t1 >= before);
      lane.marks = lane.marks.filter((mark) => mark.t >= before);
    }
    this.gaps = this.gaps.filter((t) => t >= before);
    this.sessions = this.sessions.filter((one) => one.t1 === null || one.t1 >= before);
    this.phases = this.phases.filter((one) => one.t1 >= before);
    this.shades = this.shades.filter((one) => one.t1 === null || one.t1 >= before);
    this.first = before;
  }

  take(notice) {
    this.version += 1;
    if (this.first === null) this.first = notice.t;
    this.last = Math.max(this.last, notice.t);
    if (notice.method === "app") this.takeApp(notice);
    else if (notice.method === "event") this.takeEvent(notice);
    else if (notice.method === "session") this.takeSession(notice);
    else if (notice.request) this.takeRequest(notice);
  }

  takeRequest({ request, params, result, t }) {
    if (request === "app.launch" && result) this.lane(`app ${result.app}`, "app", params?.name).launched = t;
    if (request === "app.open" && result) this.takeSession({ event: "opened", protocol: params.protocol, ...result });
    if (request === "fault.add") for (const fault of result?.faults ?? []) this.beginFault(fault, params.fault, t);
    if (request === "fault.remove") this.endFault(params.fault, t);
    if (request === "fault.change") {
      this.endFault(params.fault, t);
      this.beginFault(params.fault, typeof params.to === "string" ? params.to : params.to?.name ?? "", t);
    }
    if (request === "accessory.add") for (const fault of params?.faults ?? []) this.beginFault("", fault, t);
  }

  // Adds a fault. The fault's `after` and `for` times are measured from now.
  beginFault(fault, text, t) {
    const own = (key) => { const found = new RegExp(`[,=]?${key}=([0-9.]+)(ms|s|m)`).exec(text); return found ? Number(found[1]) * { ms: 1e-3, s: 1, m: 60 }[found[2]] : null; };
    const t0 = t + (own("after") ?? 0);
    const length = own("for");
    this.shades.push({ lane: "cable", fault, text: `${fault ? `${fault}: ` : ""}${text}`, t0, t1: length ? t0 + length : null });
  }

  endFault(fault, t) {
    for (const shade of this.shades) if (shade.fault === fault && (shade.t1 === null || shade.t1 > t)) shade.t1 = t;
  }

  // Records which app a session belongs to, as reported by the server.
  takeSession(notice) {
    if (notice.event !== "opened" || !notice.app) return;
    // The server may report a session's app before the device reports the session.
    this.named.push(notice);
    if (this.named.length > 100) this.named.shift();
    this.giveNamed();
  }

  giveNamed() {
    this.named = this.named.filter(({ app, session, protocol }) => {
      const lane = this.lane(`app ${app}`, "app");
      this.give(lane, session, (bar) => bar.closed === undefined && bar.protocol === protocol);
      return !lane.shown.has(session);
    });
  }

  give(lane, name, isIt) {
    lane.shown ??= new Set();
    if (lane.shown.has(name)) return;
    const at = this.waitingSessions.findIndex(isIt);
    if (at < 0) return;
    const [bar] = this.waitingSessions.splice(at, 1);
    lane.shown.add(name);
    bar.record.name = name;
    const key = `s${bar.session} ${bar.connectionID}`;
    lane.begin(key, { ...bar, row: lane.row(bar.owner), text: `session ${name} ${bar.protocol}` });
    if (bar.closed !== undefined) lane.end(key, bar.closed, bar.why);
    this.version += 1;
  }

  // Finds or creates the record of a session. A session is reported by both sides.
  openSession({ session: id, protocol, accessory, t }) {
    const known = this.sessions.findLast((one) => one.id === id && one.serial === accessory?.serial && one.t1 === null);
    if (known && t - known.t0 < 1) return known;
    const made = { id, name: String(id), protocol, serial: accessory?.serial, accessory: accessory?.name, t0: t, t1: null, flow: [], total: 0 };
    this.sessions.push(made);
    return made;
  }

  closeSession({ session: id, accessory, t }) {
    const known = this.sessions.findLast((one) => one.id === id && one.serial === accessory?.serial);
    if (known && known.t1 === null) known.t1 = t;
  }

  // Returns the session that a packet belongs to. `accessory` is the serial number or name of the accessory on the
  // packet's cable, if known.
  sessionOf(packet, accessory) {
    if (packet.externalSession === undefined) return undefined;
    return this.sessions.findLast((one) => one.id === packet.externalSession && one.t0 <= packet.t + 0.05 && (one.t1 === null || packet.t <= one.t1 + 5)
      && (!accessory || one.serial === accessory || one.accessory === accessory));
  }

  // Adds `count` bytes at time `t` to a session's traffic.
  addFlow(session, t, count) {
    session.total += count;
    const last = session.flow.at(-1);
    if (last && t - last[0] < 0.002) last[1] = session.total; else session.flow.push([t, session.total]);
    if (session.flow.length > MOST_OF_A_LANE) session.flow = session.flow.filter((_, index) => index % 2 === 1);
  }

  // Marks a packet that was affected by a fault.
  hit(packet, text) {
    this.lane("cable", "cable").mark({ t: packet.t, packet: packet.number, kind: "hit", text });
    this.version += 1;
  }

  phase(lane, t0, t1, name) {
    // Phases without a duration, which occur in virtual time, are not shown.
    if (t1 - t0 < 1e-6) return;
    this.phases.push({ lane, t0, t1, text: `${name}, ${duration(t1 - t0)}` });
    if (this.phases.length > MOST_OF_A_LANE * 1.1) this.phases.splice(0, this.phases.length - MOST_OF_A_LANE);
  }

  // Adds the phases of a connection: the handshake, and the flicker between the first connect and the connect with
  // protocols.
  takePhase(kind, serial, t) {
    const began = (name) => { const at = this.began.get(`${name} ${serial}`); this.began.delete(`${name} ${serial}`); return at; };
    const link = began("link");
    if (link !== undefined) this.phase("cable", link, t, "handshake");
    if (kind === "bare") {
      if (!this.began.has(`flicker ${serial}`)) this.began.set(`flicker ${serial}`, t);
      return;
    }
    const flicker = began("flicker");
    if (flicker !== undefined) this.phase("device", flicker, t, "flicker");
  }

  takeApp(notice) {
    const lane = this.lane(`app ${notice.app}`, "app", null);
    if (!lane.title) lane.title = notice.app;
    const t = notice.t;
    const number = notice.number;
    switch (notice.event) {
      case "connect":
        lane.begin(notice.accessory.connectionID, {
          t0: t, number, kind: notice.accessory.protocols.length ? "whole" : "bare", text: `sees ${notice.accessory.name}`,
          owner: notice.accessory.serialNumber, protocols: notice.accessory.protocols,
        });
        break;
      case "disconnect":
        lane.end(notice.accessory.connectionID, t, "disconnect", number);
        for (const key of [...lane.open.keys()]) {
          if (String(key).startsWith("s") && lane.open.get(key).connectionID === notice.accessory.connectionID) {
            lane.end(key, t, "disconnect", number);
          }
        }
        break;
      case "delegateDisconnect": break;
      case "ended":
        lane.endAll(t, notice.reason, number);
        lane.mark({ t, number, kind: "end", text: `ended: ${notice.reason}` });
        break;
      default: lane.mark({ t, number, kind: "info", text: notice.event });
    }
  }

  takeEvent(notice) {
    const { side, event, t, number } = notice;
    const subject = notice.accessory;
    const serial = subject?.serial;
    const accessory = serial && side === "accessory" ? this.lane(`accessory ${serial}`, "accessory", subject.name) : null;
    const device = this.lane("device", "device");
    const cable = this.lane("cable", "cable");
    const kind = subject?.protocols?.length ? "whole" : "bare";
    switch (`${side} ${event}`) {
      case "accessory attach":
        accessory?.begin("plug", {
          t0: t, number, kind, text: subject.protocols.length ? "plugged in" : "plugged in without protocols",
          protocols: subject.protocols,
        });
        cable.begin(serial, { t0: t, number, kind: "plug", owner: serial, text: `${subject?.name}: plugged in` });
        return;
      case "accessory detach":
        accessory?.endAll(t, notice.reason, number);
        cable.end(serial, t, notice.reason, number);
        cable.end(`link ${serial}`, t, notice.reason, number);
        this.began.delete(`link ${serial}`);
        return;
      case "accessory link":
        if (notice.up) this.began.set(`link ${serial}`, t);
        if (notice.up) cable.begin(`link ${serial}`, { t0: t, number, kind: "link", owner: serial, text: `${subject?.name}: link` });
        else cable.end(`link ${serial}`, t, notice.text, number);
        return;
      case "device attach":
      case "device detach":
      case "device link":
        if (this.isDeviceAlone) this.takeDeviceCable(notice);
        return;
      case "device connect":
        this.takePhase(kind, serial, t);
        device.begin(subject.connectionID, {
          t0: t, number, kind, owner: serial, text: `connect ${subject.name}`, protocols: subject.protocols,
        });
        return;
      case "device disconnect":
        device.end(subject.connectionID, t, "disconnect", number);
        for (const lane of this.lanes.values()) if (lane.open.get(subject.connectionID)?.isSeen) lane.end(subject.connectionID, t, "disconnect", number);
        return;
      case "app connect":
        this.lane("app", "app", "App").begin(subject.connectionID, {
          t0: t, number, kind, owner: serial, text: `sees ${subject.name}`, protocols: subject.protocols,
        });
        return;
      case "app disconnect": this.lanes.get("app")?.end(subject.connectionID, t, "disconnect", number); return;
      case "accessory session.open":
        accessory?.begin(`s${notice.session} ${notice.protocol}`, {
          t0: t, number, kind: "session", text: `session ${notice.session} ${notice.protocol}`, record: this.openSession(notice),
        });
        return;
      case "device session.open": {
        const bar = {
          t0: t, number, kind: "session", text: `session ${notice.session} ${notice.protocol}`,
          owner: serial, connectionID: subject?.connectionID, protocol: notice.protocol, session: notice.session,
          record: this.openSession(notice),
        };
        // A scenario has only one app. In other worlds, the lists of each app's sessions show which app a session
        // belongs to.
        if (this.lanes.has("app")) this.lanes.get("app").begin(`s${notice.session} ${subject?.connectionID}`, bar);
        this.waitingSessions.push(bar);
        if (this.waitingSessions.length > 100) this.waitingSessions.shift();
        this.giveNamed();
        return;
      }
      case "accessory session.close":
      case "device session.close": {
        const why = `${notice.reason}, ${bytes(notice.bytesRead)} read, ${bytes(notice.bytesWritten)} written`;
        this.closeSession(notice);
        if (side === "accessory") accessory?.end(`s${notice.session} ${notice.protocol}`, t, why, number);
        else this.endSession(notice, why);
        return;
      }
      default: break;
    }
    const lane = accessory ?? (side === "cable" ? cable : side === "app" ? this.appLane() : device);
    const known = { fault: "fault", warning: "warning", refused: "warning", alert: "warning" }[event];
    if (event === "fault") this.takeStall(notice);
    if (known || ["authentication", "identification"].includes(event)) {
      lane.mark({ t, number, kind: known ?? "info", text: `${event}: ${notice.text ?? notice.reason ?? ""}` });
    }
  }

  // Whether all events come from the device, and none from an accessory.
  get isDeviceAlone() { return ![...this.lanes.values()].some((lane) => lane.kind === "accessory"); }

  takeDeviceCable({ event, t, number, up, text, reason, on }) {
    const cable = this.lane("cable", "cable");
    if (event === "attach") cable.begin("device", { t0: t, number, kind: "plug", owner: "device", text: `cable at ${on}` });
    if (event === "link" && up) {
      this.began.set("link device", t);
      cable.begin("link device", { t0: t, number, kind: "link", owner: "device", text: "link" });
    } else if (event === "link") cable.end("link device", t, text, number);
    if (event !== "detach") return;
    cable.end("link device", t, reason, number);
    cable.end("device", t, reason, number);
  }

  // Adds the sessions whose app is unknown to the lane of the only app.
  giveRest() {
    const waiting = this.waitingSessions;
    this.waitingSessions = [];
    for (const bar of waiting) {
      const lane = this.lane("app", "app", "App");
      const key = `s${bar.session} ${bar.connectionID}`;
      lane.begin(key, { ...bar, row: lane.row(bar.owner) });
      if (bar.closed !== undefined) lane.end(key, bar.closed, bar.why);
    }
  }

  // Handles the events that mark the beginning and end of a fault that stops all traffic.
  takeStall({ text, t }) {
    const name = text.split(" (")[0];
    if (/from now on$/.test(text)) this.shades.push({ lane: "cable", fault: name, text, t0: t, t1: null, isStall: true });
    else if (/bytes pass again/.test(text)) for (const shade of this.shades) if (shade.isStall && shade.fault === name && shade.t1 === null) shade.t1 = t;
  }

  appLane() {
    const apps = [...this.lanes.values()].filter((lane) => lane.kind === "app");
    return apps.length === 1 ? apps[0] : this.lane("device", "device");
  }

  endSession(notice, why) {
    this.waitingSessions = this.waitingSessions.filter((bar) => {
      const isIt = bar.session === notice.session && bar.connectionID === notice.accessory?.connectionID;
      if (isIt && bar.closed === undefined) { bar.closed = notice.t; bar.why = why; }
      return true;
    });
    for (const lane of this.lanes.values()) {
      if (lane.kind !== "app") continue;
      for (const [key, bar] of [...lane.open]) {
        if (bar.session === notice.session && bar.connectionID === notice.accessory?.connectionID) {
          lane.end(key, notice.t, why, notice.number);
        }
      }
    }
  }

  // Adds what notifications do not report about an app: its sessions, accessories that were already connected when the
  // app was launched, and accessories for which the app receives no notifications.
  sessionsOf(app) {
    const lane = this.lane(`app ${app.app}`, "app", app.name);
    lane.state = app.state;
    for (const seen of app.sees ?? []) {
      const bar = this.lanes.get("device").open.get(seen.connectionID);
      const isTold = app.registrations > 0 && bar?.t0 >= lane.launched;
      if (!bar || isTold || lane.open.has(seen.connectionID)) continue;
      lane.begin(seen.connectionID, { ...bar, lane: lane.id, t0: Math.max(bar.t0, lane.launched ?? bar.t0), text: `sees ${seen.name}`, isSeen: true, row: lane.row(bar.owner) });
      this.version += 1;
    }
    for (const state of app.states ?? []) {
      this.give(lane, state.session, (bar) => bar.closed === undefined && bar.connectionID === state.connectionID && bar.protocol === state.protocol);
    }
  }
}
