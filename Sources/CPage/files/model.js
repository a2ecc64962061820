// The lanes of a world as bars and marks on its time axis, derived only from notices: one lane for each accessory, one
// for the cables, one for the device, one for each app. The lines of a scenario give the same picture.

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

  // A bar that continues until `end` is called with the same key. Accessories that are present at the same time are
  // shown below each other: all bars of one `owner` are in one row.
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

  // Accessories, the cable, the device and apps, in the order of their connection.
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
    this.first = before;
  }

  take(notice) {
    this.version += 1;
    if (this.first === null) this.first = notice.t;
    this.last = Math.max(this.last, notice.t);
    if (notice.method === "app") this.takeApp(notice);
    else if (notice.method === "event") this.takeEvent(notice);
    else if (notice.request === "app.launch" && notice.result) this.lane(`app ${notice.result.app}`, "app").launched = notice.t;
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
        return;
      case "accessory link":
        if (notice.up) cable.begin(`link ${serial}`, { t0: t, number, kind: "link", owner: serial, text: `${subject?.name}: link` });
        else cable.end(`link ${serial}`, t, notice.text, number);
        return;
      case "device connect":
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
          t0: t, number, kind: "session", text: `session ${notice.session} ${notice.protocol}`,
        });
        return;
      case "device session.open": {
        const bar = {
          t0: t, number, kind: "session", text: `session ${notice.session} ${notice.protocol}`,
          owner: serial, connectionID: subject?.connectionID, protocol: notice.protocol, session: notice.session,
        };
        // A scenario has one app; in other worlds, the app's list of sessions shows which app a session belongs to.
        if (this.lanes.has("app")) this.lanes.get("app").begin(`s${notice.session} ${subject?.connectionID}`, bar);
        this.waitingSessions.push(bar);
        if (this.waitingSessions.length > 100) this.waitingSessions.shift();
        return;
      }
      case "accessory session.close":
      case "device session.close": {
        const why = `${notice.reason}, ${notice.bytesRead} bytes read, ${notice.bytesWritten} written`;
        if (side === "accessory") accessory?.end(`s${notice.session} ${notice.protocol}`, t, why, number);
        else this.endSession(notice, why);
        return;
      }
      default: break;
    }
    const lane = accessory ?? (side === "cable" ? cable : side === "app" ? this.appLane() : device);
    const known = { fault: "fault", warning: "warning", refused: "warning", alert: "warning" }[event];
    if (known || ["authentication", "identification"].includes(event)) {
      lane.mark({ t, number, kind: known ?? "info", text: `${event}: ${notice.text ?? notice.reason ?? ""}` });
    }
  }

  appLane() {
    const apps = [...this.lanes.values()].filter((lane) => lane.kind === "app");
    return apps.length === 1 ? apps[0] : this.lane("device", "device");
  }

  endSession(notice, why) {
    this.waitingSessions = this.waitingSessions.filter((bar) => {
      const isIt = bar.session === notice.session && bar.connectionID === notice.accessory?.connectionID;
      if (isIt) { bar.closed = notice.t; bar.why = why; }
      return !isIt;
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

  // Adds to an app what no notice reports: its sessions, and the accessories that were there before it was launched or
  // that it is not notified of.
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
    lane.shown ??= new Set();
    for (const state of app.states ?? []) {
      if (lane.shown.has(state.session)) continue;
      const at = this.waitingSessions.findIndex((bar) => bar.connectionID === state.connectionID && bar.protocol === state.protocol);
      if (at < 0) continue;
      const [bar] = this.waitingSessions.splice(at, 1);
      lane.shown.add(state.session);
      lane.begin(`s${bar.session} ${bar.connectionID}`, { ...bar, row: lane.row(bar.owner), text: `session ${state.session} ${bar.protocol}` });
      this.version += 1;
    }
  }
}
