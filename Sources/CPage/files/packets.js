// The packets of a world, as in Wireshark: a list that follows the traffic, filters, the bytes beside the fields, and
// files.
import { h, oneLine, replace, save, seconds } from "./dom.js";
import { Failure } from "./rpc.js";
import { VirtualList } from "./list.js";
import { PacketDetail } from "./fields.js";
import { pcapng } from "./pcapng.js";

const MOST = 100_000;
const AT_ONCE = 1_000;

export class Packets {
  constructor(desk) {
    this.desk = desk;
    this.all = [];
    this.last = 0;
    this.gone = 0;
    this.detail = new PacketDetail();
    this.list = new VirtualList({
      label: "Packets",
      columns: [
        { name: "No.", class: "number" }, { name: "Time", class: "time" }, { name: "From", class: "from" }, { name: "Cable", class: "cable" },
        { name: "Kind", class: "kind" }, { name: "Seq", class: "small" }, { name: "Ack", class: "small" }, { name: "Bytes", class: "small" },
        { name: "Contents", class: "text" },
      ],
      cells: (one) => [one.number, seconds(one.t, 6), one.from === "accessory" ? "accessory →" : "← device", `${one.accessory}.${one.cable}`,
        one.control ? (one.length > 9 && one.control === "ACK" ? "DATA" : one.control) : one.event, one.seq ?? "", one.ack ?? "", one.length,
        oneLine(`${one.repeated ? "sent again: " : ""}${one.text.replace(/^(DATA|ACK|SYN\S*|EAK\S*|RST\S*) seq=\d+ ack=\d+ ?(session=\d+ )?/, "")}`)],
      kind: (one) => `${one.from}${one.repeated || one.event === "spoiled" || one.event === "skipped" ? " bad" : ""}${one.messages ? " message" : ""}`,
      choose: (one) => this.open(one),
    });
    this.list.followed = (follows) => this.showFollow(follows);
    this.filter = h("input", { type: "search", id: "packet-filter", placeholder: "text, EA00, seq=3, a1, device", autocomplete: "off", spellcheck: false, on: { input: () => this.refilter() } });
    this.kind = h("select", { id: "packet-kind", on: { change: () => this.refilter() } },
      [["", "all packets"], ["messages", "control messages"], ["data", "session data"], ["repeated", "retransmissions"], ["acks", "without acknowledgements"]].map(([value, text]) => h("option", { value }, text)));
    this.session = h("select", { id: "packet-session", on: { change: () => this.refilter() } }, h("option", { value: "" }, "all sessions"));
    this.follow = h("button", { type: "button", "aria-pressed": "true", on: { click: () => this.list.setFollows(!this.list.follows) } }, "Following");
    this.record = h("button", { type: "button", dataset: { action: "record" }, on: { click: () => this.setRecording(!this.isRecording) } }, "Record");
    this.count = h("span", { class: "hint", role: "status" });
    const saver = (name, body) => h("button", { type: "button", dataset: { action: `save-${name}` }, on: { click: () => body() } }, `Save ${name}`);
    this.element = h("section", { class: "packets", "aria-label": "Packets" }, h("h2", { class: "hidden" }, "Packets"),
      h("div", { class: "tools" }, this.record, this.follow,
        h("label", { htmlFor: "packet-filter" }, "Filter"), this.filter,
        h("label", { htmlFor: "packet-kind", class: "hidden" }, "Kind"), this.kind,
        h("label", { htmlFor: "packet-session", class: "hidden" }, "Session"), this.session,
        saver("pcapng", () => this.savePcapng()), saver("text", () => this.saveText()), saver("JSON", () => this.saveJSON()), this.count),
      this.list.element, this.detail.element);
    this.shown = [];
    this.loop();
  }

  // Called when the view is shown: from then on every packet is recorded.
  async opened() {
    this.isOpen = true;
    if (this.isRecording === undefined) await this.setRecording(true);
    this.list.request();
    this.wake?.();
  }

  closed() { this.isOpen = false; }

  async setRecording(isRecording) {
    const results = await this.desk.bar.run([["packet.record", { world: this.desk.world().id, recording: isRecording }]]);
    if (!results) return;
    this.isRecording = isRecording;
    this.record.textContent = isRecording ? "Recording" : "Record";
    this.record.setAttribute("aria-pressed", String(isRecording));
    this.wake?.();
  }

  reset() {
    this.all = [];
    this.last = 0;
    this.gone = 0;
    this.isRecording = undefined;
    this.refilter();
  }

  // Asks for the next packets four times a second, more often while there are many.
  async loop() {
    while (true) {
      let more = false;
      if (this.isOpen && this.desk.store.state === "live") {
        try { more = await this.fetch(); } catch (error) { if (error instanceof Failure) this.reset(); }
      }
      if (!more) {
        await new Promise((done) => {
          this.wake = done;
          setTimeout(done, this.isOpen ? 250 : 2_000);
        });
      }
    }
  }

  async fetch() {
    const world = this.desk.world().id;
    if (this.of !== world) {
      this.of = world;
      this.reset();
      if (this.isOpen) await this.setRecording(true);
    }
    const answer = await this.desk.server.call("packet.list", { world, after: this.last, limit: AT_ONCE });
    if (this.of !== this.desk.world().id) return true;
    this.isRecording = answer.recording;
    if (answer.last < this.last) { this.reset(); return true; }
    const found = answer.packets;
    if (found.length === 0) return false;
    const gap = found[0].number - this.last - 1;
    if (gap > 0) this.gone += gap;
    this.last = found.at(-1).number;
    for (const one of found) this.all.push(one);
    if (this.all.length > MOST) {
      const dropped = this.all.splice(0, this.all.length - MOST).length;
      this.gone += dropped;
      this.refilter();
    } else {
      const passes = this.test();
      for (const one of found) if (passes(one)) this.shown.push(one);
      this.list.show(this.shown, { keep: true });
    }
    this.showSessions(found);
    this.showCount();
    return found.length === AT_ONCE;
  }

  showSessions(found) {
    for (const one of found) {
      if (!one.session || this.session.querySelector(`option[value="${one.session}"]`)) continue;
      this.session.append(h("option", { value: one.session }, `session ${one.session}`));
    }
  }

  test() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kind = this.kind.value;
    const session = this.session.value;
    return (one) => {
      if (kind === "messages" && !one.messages) return false;
      if (kind === "repeated" && !one.repeated && one.event !== "spoiled") return false;
      if (kind === "data" && (one.messages || !one.session)) return false;
      if (kind === "acks" && one.control === "ACK" && one.length <= 9) return false;
      if (session && String(one.session) !== session) return false;
      if (words.length === 0) return true;
      one.search ??= `${one.text} ${one.accessory} ${one.from} ${one.event} ${one.repeated ? "retransmission again" : ""}`.toLowerCase();
      return words.every((word) => one.search.includes(word));
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
    const gone = this.gone > 0 ? `, ${this.gone} older or unrecorded ones are gone` : "";
    replace(this.count, `${this.shown.length} of ${this.all.length} packets${gone}`);
  }

  showFollow(follows) {
    this.follow.setAttribute("aria-pressed", String(follows));
    this.follow.textContent = follows ? "Following" : "Follow";
  }

  async open(one) {
    this.desk.bar.show([["packet.get", { world: this.of, number: one.number }]]);
    try {
      this.detail.show(await this.desk.server.call("packet.get", { world: this.of, number: one.number }));
    } catch (error) {
      this.detail.show({ packet: one, fields: [] });
      this.desk.bar.say(error.message, true);
    }
  }

  // Shows the packets at a given moment.
  async jump(t) {
    await this.opened();
    while (await this.fetch());
    let at = this.shown.findIndex((one) => one.t >= t - 1e-6);
    if (at < 0) at = this.shown.length - 1;
    if (at >= 0) {
      this.list.setFollows(false);
      this.list.select(at);
      this.list.scroller.focus({ preventScroll: true });
    }
    if (this.shown.length === 0 || Math.abs(this.shown[at].t - t) > 0.5) {
      this.desk.bar.say("No packet of this moment was written down: record, and let it happen again.", true);
    }
  }

  // The packets in the list with their bytes, which the page does not keep.
  async whole() {
    const wanted = new Map(this.shown.map((one) => [one.number, one]));
    const found = [];
    let after = (this.shown[0]?.number ?? 1) - 1;
    const end = this.shown.at(-1)?.number ?? 0;
    while (after < end) {
      const { packets } = await this.desk.server.call("packet.list", { world: this.of, after, limit: 500, bytes: true });
      if (packets.length === 0) break;
      for (const one of packets) if (wanted.has(one.number)) found.push(one);
      after = packets.at(-1).number;
    }
    if (found.length < wanted.size) this.desk.bar.say(`${wanted.size - found.length} packets are gone from the server and not in the file.`, true);
    return found;
  }

  async savePcapng() { save("easim.pcapng", "application/octet-stream", [pcapng(await this.whole())]); }

  saveText() {
    save("easim.txt", "text/plain", this.shown.map((one) => `${one.t.toFixed(6)} ${one.from === "accessory" ? "A" : "D"} ${oneLine(one.text)}\n`));
  }

  async saveJSON() { save("easim-packets.json", "application/json", [JSON.stringify(await this.whole(), null, 1)]); }
}
