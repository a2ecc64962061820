// Shows a world's packets the way Wireshark does: a list that follows the traffic, filters, bytes next to fields, and
// export to files.
import { bytes, duration, h, oneLine, replace, save, seconds } from "./dom.js";
import { VirtualList } from "./list.js";
import { PacketDetail } from "./fields.js";
import { Dialogue } from "./dialogue.js";
import { pcapng } from "./pcapng.js";

const MOST = 100_000;
const AT_ONCE = 1_000;
// The effect of each fault on a packet.
const DEEDS = { loss: "lost by", duplicate: "sent twice by", corrupt: "changed by", noise: "noise in front of it by", reorder: "delivered late by" };

export class Packets {
  // `desk` provides the world, the selected time range, and the accessory on a packet's cable.
  constructor(desk, source) {
    this.desk = desk;
    this.source = source;
    this.all = [];
    this.last = 0;
    this.gone = 0;
    this.newest = new Map();
    this.detail = new PacketDetail();
    this.dialogue = new Dialogue();
    this.list = new VirtualList({
      label: "Packets",
      columns: [
        { name: "No.", class: "number" }, { name: "Time", class: "time" }, { name: "Δ", class: "delta" }, { name: "From", class: "from" },
        { name: "Cable", class: "cable" }, { name: "Session", class: "session" }, { name: "Kind", class: "kind" }, { name: "Seq", class: "small" },
        { name: "Ack", class: "small" }, { name: "Bytes", class: "bytes" }, { name: "Contents", class: "text" },
      ],
      cells: (one, at) => [one.number, seconds(one.t, 6), at > 0 ? duration(one.t - this.shown[at - 1].t) : "", one.from === "accessory" ? "accessory →" : "← device",
        source.isLive ? `${one.accessory}.${one.cable}` : `${one.cable} ${oneLine(one.accessory)}`, this.sessionName(one), kindOf(one), one.seq ?? "", one.ack ?? "", one.length, contents(one)],
      kind: (one) => `${one.from}${one.repeated || one.lostBy || ["fault", "spoiled", "skipped"].includes(one.event) ? " bad" : ""}${one.messages ? " message" : ""}`,
      choose: (one) => this.open(one),
    });
    this.list.followed = (follows) => this.showFollow(follows);
    this.filter = h("input", { type: "search", id: "packet-filter", placeholder: "hello, EA00, seq=3, a1, lost", autocomplete: "off", spellcheck: false, on: { input: () => this.refilter() } });
    this.kind = h("select", { id: "packet-kind", on: { change: () => this.refilter() } },
      [["", "all packets"], ["messages", "control messages"], ["data", "session data"], ["repeated", "retransmissions"], ["faults", "faults"], ["acks", "without acknowledgements"]].map(([value, text]) => h("option", { value }, text)));
    this.session = h("select", { id: "packet-session", on: { change: () => this.refilter() } }, h("option", { value: "" }, "all sessions"));
    this.sessions = [];
    this.follow = source.isLive ? h("button", { type: "button", "aria-pressed": "true", on: { click: () => this.list.setFollows(!this.list.follows) } }, "Following") : null;
    this.record = source.isLive ? h("button", { type: "button", dataset: { action: "record" }, on: { click: () => this.setRecording(!this.isRecording) } }, "Record") : null;
    if (!source.isLive) this.list.setFollows(false);
    this.count = h("span", { class: "hint", role: "status" });
    const button = (text, action, body) => h("button", { type: "button", dataset: { action }, on: { click: () => body() } }, text);
    this.element = h("section", { class: "packets", "aria-label": "Packets" }, h("h2", { class: "hidden" }, "Packets"),
      h("div", { class: "tools" }, this.record, this.follow,
        h("label", { htmlFor: "packet-filter" }, "Filter"), this.filter,
        h("label", { htmlFor: "packet-kind", class: "hidden" }, "Kind"), this.kind,
        h("label", { htmlFor: "packet-session", class: "hidden" }, "Session"), this.session,
        button("Follow session", "follow-session", () => this.followSession()),
        button("Save pcapng", "save-pcapng", () => this.savePcapng()), button("Save text", "save-text", () => this.saveText()),
        button("Save JSON", "save-JSON", () => this.saveJSON()), this.count),
      this.list.element, this.detail.element);
    this.shown = [];
    this.loop();
  }

  // Called when the view is shown. Once the view has been shown, the server records every packet.
  async opened() {
    this.isOpen = true;
    if (this.source.isLive && this.isRecording === undefined) await this.setRecording(true);
    this.list.request();
    this.wake?.();
  }

  closed() { this.isOpen = false; }

  async setRecording(isRecording) {
    if (!await this.source.record(isRecording)) return;
    this.isRecording = isRecording;
    this.record.textContent = isRecording ? "Recording" : "Record";
    this.record.setAttribute("aria-pressed", String(isRecording));
    this.wake?.();
  }

  reset() {
    this.all = [];
    this.last = 0;
    this.gone = 0;
    this.newest.clear();
    this.sessions = [];
    replace(this.session, h("option", { value: "" }, "all sessions"));
    this.isRecording = undefined;
    this.refilter();
  }

  // Fetches packets four times a second, or more often if there are many. While the view is closed, fetches packets
  // once a second, because the lanes show the effects of faults.
  async loop() {
    while (true) {
      let more = false;
      if (this.source.isReady) {
        try { more = await this.fetch(); } catch { /* The connection reports the failure, or the world is gone. */ }
      }
      if (!more) {
        if (!this.source.isLive) return;
        await new Promise((done) => {
          this.wake = done;
          setTimeout(done, this.isOpen ? 250 : 1_000);
        });
      }
    }
  }

  // Only one fetch is in progress at a time.
  fetch() {
    this.fetching = (this.fetching ?? Promise.resolve()).catch(() => {}).then(() => this.fetchNext());
    return this.fetching;
  }

  async fetchNext() {
    const world = this.desk.world().id;
    if (this.of !== world) {
      this.of = world;
      this.reset();
      if (this.isOpen && this.source.isLive) await this.setRecording(true);
    }
    const answer = await this.source.list(world, this.last, this.source.isLive ? AT_ONCE : MOST);
    if (this.of !== this.desk.world().id) return true;
    if (this.source.isLive && this.isRecording !== undefined) this.isRecording = answer.recording;
    if (answer.last < this.last) { this.reset(); return true; }
    const found = answer.packets;
    if (found.length === 0) return false;
    const gap = found[0].number - this.last - 1;
    if (gap > 0) this.gone += gap;
    this.last = found.at(-1).number;
    for (const one of found) {
      this.take(one);
      this.all.push(one);
    }
    if (this.all.length > MOST) {
      this.gone += this.all.splice(0, this.all.length - MOST).length;
      this.refilter();
    } else {
      const passes = this.test();
      for (const one of found) if (passes(one)) this.shown.push(one);
      this.list.show(this.shown, { keep: true });
    }
    this.showCount();
    return this.source.isLive ? found.length === AT_ONCE : found.length === MOST;
  }

  // Links a packet to the packet that it repeats, to the fault that changed or lost it, and to its session.
  take(one) {
    const lanes = this.desk.world().lanes;
    if (one.seq !== undefined) {
      const key = `${one.cable} ${one.from} ${one.seq} ${one.length}`;
      const before = this.newest.get(key);
      if (one.event === "fault") {
        const isIt = before && one.t - before.t < 0.5;
        const [name] = one.fault.split(",");
        one.note = `${DEEDS[name] ?? "changed by"} ${this.desk.faultName?.(one.fault) ?? one.fault}`;
        if (isIt) {
          before.lostBy = one.note;
          one.of = before.number;
        }
        lanes.hit(one, `${one.note}: ${isIt ? `packet ${before.number}, ` : ""}${oneLine(one.text)}`);
      } else if (one.repeated && before) {
        one.first = before.first ?? before;
        one.note = `sent again: first was #${one.first.number}, ${duration(one.t - one.first.t)} before`;
        this.newest.set(key, one);
      } else {
        if (one.repeated) one.note = "sent again";
        this.newest.set(key, one);
      }
    } else if (one.event === "fault") {
      one.note = `${DEEDS[one.fault.split(",")[0]] ?? "changed by"} ${this.desk.faultName?.(one.fault) ?? one.fault}`;
      lanes.hit(one, `${one.note}: ${oneLine(one.text)}`);
    }
    if (one.externalSession === undefined) return;
    const session = this.sessionOf(one);
    if (session && !one.repeated && one.event === "packet") lanes.addFlow(session, one.t, Math.max(0, one.length - 12));
  }

  sessionOf(one) {
    if (one.externalSession === undefined) return undefined;
    if (!one.record) {
      one.record = this.desk.world().lanes.sessionOf(one, this.desk.accessoryOf?.(one));
      if (one.record && !this.sessions.includes(one.record)) this.sessions.push(one.record);
    }
    return one.record;
  }

  sessionName(one) { return one.externalSession === undefined ? "" : this.sessionOf(one)?.name ?? one.externalSession; }

  // Updates the list of sessions. Sessions have the same names as elsewhere on the page.
  showSessions() {
    this.sessions.forEach((session, index) => {
      const text = `${session.name}: ${session.protocol}`;
      const option = this.session.options[index + 1];
      if (!option) this.session.append(h("option", { value: index }, text));
      else if (option.textContent !== text) option.textContent = text;
    });
  }

  test() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kind = this.kind.value;
    const session = this.session.value === "" ? null : this.sessions[this.session.value];
    const { range } = this.desk;
    return (one) => {
      if (range && (one.t < range.t0 || one.t > range.t1)) return false;
      if (kind === "messages" && !one.messages) return false;
      if (kind === "repeated" && !one.repeated && one.event !== "spoiled") return false;
      if (kind === "faults" && one.event !== "fault" && !one.lostBy) return false;
      if (kind === "data" && (one.messages || !one.session)) return false;
      if (kind === "acks" && one.control === "ACK" && one.length <= 9) return false;
      if (session && this.sessionOf(one) !== session) return false;
      if (words.length === 0) return true;
      one.search ??= `${one.text} ${one.data ?? ""} ${one.accessory} ${one.from} ${one.event} ${one.repeated ? "retransmission again" : ""}`.toLowerCase();
      return words.every((word) => one.search.includes(word) || one.lostBy?.includes(word) || one.note?.includes(word));
    };
  }

  refilter() {
    const chosen = this.list.rows[this.list.chosen];
    this.shown = this.all.filter(this.test());
    this.list.show(this.shown);
    if (chosen) this.list.chosen = this.shown.indexOf(chosen);
    this.showCount();
  }

  showCount() {
    this.showSessions();
    const gone = this.gone > 0 ? `, ${this.gone} older or unrecorded ones are gone` : "";
    replace(this.count, `${this.shown.length} of ${this.all.length} packets${gone}`);
  }

  // Returns statistics about the packets in a time range.
  figures({ t0, t1 }) {
    const found = this.all.filter((one) => one.t >= t0 && one.t <= t1 && one.event !== "fault");
    const data = found.reduce((sum, one) => sum + (one.externalSession !== undefined && !one.repeated ? Math.max(0, one.length - 12) : 0), 0);
    const again = found.filter((one) => one.repeated).length;
    const struck = this.all.filter((one) => one.event === "fault" && one.t >= t0 && one.t <= t1).length;
    const rate = t1 > t0 ? `, ${bytes(Math.round(data / (t1 - t0)))}/s` : "";
    return `${found.length} packets, ${bytes(data)} of data${rate}, ${again} sent again, ${struck} hit${struck === 1 ? "" : "s"} of faults`;
  }

  showFollow(follows) {
    if (!this.follow) return;
    this.follow.setAttribute("aria-pressed", String(follows));
    this.follow.textContent = follows ? "Following" : "Follow";
  }

  async open(one) {
    this.desk.showTime?.(one.t);
    try {
      const { packet, fields } = await this.source.get(this.of, one.number);
      this.detail.show({ packet: { ...packet, text: packet.text, bytes: packet.bytes, notes: [one.note, one.lostBy].filter(Boolean) }, fields });
    } catch (error) {
      this.detail.show({ packet: { ...one, bytes: new Uint8Array() }, fields: [] });
      this.desk.say(error.message, true);
    }
  }

  // Shows a packet, or the packets around a given time.
  async jump({ number, t }) {
    await this.opened();
    while (await this.fetch());
    const find = () => number ? this.shown.findIndex((one) => one.number === number) : this.shown.findIndex((one) => one.t >= t - 1e-6);
    let at = find();
    if (at < 0 && this.shown.length < this.all.length) {
      this.filter.value = this.kind.value = this.session.value = "";
      this.refilter();
      at = find();
    }
    if (at < 0 && !number) at = this.shown.length - 1;
    if (at >= 0) {
      this.list.setFollows(false);
      this.list.select(at);
      this.list.scroller.focus({ preventScroll: true });
    }
    if (at < 0 || (!number && Math.abs(this.shown[at].t - t) > 0.5)) {
      this.desk.say(this.source.isLive ? "No packet of this moment was written down: record, and let it happen again." : "No packet passed at this moment.", true);
    }
  }

  // Shows the session that is selected in the list of sessions. If no session is selected in the list, shows the
  // session of the selected packet.
  async followSession() {
    const chosen = this.list.rows[this.list.chosen];
    const session = this.session.value !== "" ? this.sessions[this.session.value] : chosen ? this.sessionOf(chosen) : this.sessions.length === 1 ? this.sessions[0] : undefined;
    if (!session) return this.desk.say("Choose a session, or one of its packets, first.", true);
    const packets = await this.source.whole(this.of, this.all.filter((one) => this.sessionOf(one) === session));
    this.dialogue.show(`${session.name}: ${session.protocol}`, packets, (number) => this.jump({ number }));
  }

  // Returns the listed packets with all their bytes, and fetches bytes that the page does not have yet.
  async whole() {
    const found = await this.source.whole(this.of, this.shown);
    if (found.length < this.shown.length) this.desk.say(`${this.shown.length - found.length} packets are gone from the server and not in the file.`, true);
    return found;
  }

  async savePcapng() { save("easim.pcapng", "application/octet-stream", [pcapng((await this.whole()).filter((one) => one.event !== "fault"))]); }

  saveText() {
    save("easim.txt", "text/plain", this.shown.map((one) => `${one.t.toFixed(6)} ${one.from === "accessory" ? "A" : "D"} ${one.note ? `${oneLine(one.note)}: ` : ""}${oneLine(one.text)}\n`));
  }

  async saveJSON() {
    const rows = (await this.whole()).map(({ number, t, cable, accessory, from, event, control, seq, ack, session, externalSession, length, repeated, text, data, fault, messages, hex }) =>
      ({ number, t, cable, accessory, from, event, control, seq, ack, session, externalSession, length, repeated, text, data, fault, messages, hex }));
    save("easim-packets.json", "application/json", [JSON.stringify(rows, null, 1)]);
  }
}

function kindOf(one) {
  if (one.event === "fault" || one.event === "spoiled" || !one.control) return one.event;
  return one.length > 9 && one.control === "ACK" ? "DATA" : one.control;
}

function contents(one) {
  const text = one.data ?? one.text.replace(/^(DATA|ACK|SYN\S*|EAK\S*|RST\S*) seq=\d+ ack=\d+ ?(session=\d+ )?/, "");
  return oneLine([one.note, one.lostBy].filter(Boolean).map((note) => `${note} · `).join("") + text);
}
