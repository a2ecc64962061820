// Sources of packets: a server, which may still be recording, or a trace, which already contains all packets. All
// sources have the same methods, so that views work with any source.
import { fromBase64, fromHex } from "./dom.js";

export class LivePackets {
  constructor(desk) {
    this.desk = desk;
    this.isLive = true;
  }

  get isReady() { return this.desk.store.state === "live"; }

  record(recording) { return this.desk.bar.run([["packet.record", { world: this.desk.world().id, recording }]]); }
  list(world, after, limit) { return this.desk.server.call("packet.list", { world, after, limit }); }

  async get(world, number) {
    this.desk.bar.show([["packet.get", { world, number }]]);
    const { packet, fields } = await this.desk.server.call("packet.get", { world, number });
    return { packet: { ...packet, bytes: fromHex(packet.hex) }, fields };
  }

  // Returns packets with their bytes, if the server still has them.
  async whole(world, packets) {
    const wanted = new Set(packets.map((one) => one.number));
    const found = [];
    let after = (packets[0]?.number ?? 1) - 1;
    const end = packets.at(-1)?.number ?? 0;
    while (after < end) {
      const { packets: page } = await this.desk.server.call("packet.list", { world, after, limit: 500, bytes: true });
      if (page.length === 0) break;
      for (const one of page) if (wanted.has(one.number)) found.push({ ...one, bytes: fromHex(one.hex) });
      after = page.at(-1).number;
    }
    return found;
  }
}

const EVENTS = ["packet", "spoiled", "detection", "iap1", "skipped", "transfer", "fault"];
const HEADER = 9;
const CONTROLS = [[0x80, "SYN"], [0x40, "ACK"], [0x20, "EAK"], [0x10, "RST"], [0x08, "SLP"]];

// A packet in a trace. Properties that depend on the packet's bytes are computed only when needed.
class RecordedPacket {
  constructor([time, cable, sender, event, text, base64, cut, more], number, names) {
    this.number = number;
    this.t = time / 1e6;
    this.cable = cable;
    this.accessory = names[cable] ?? "";
    this.from = sender === 0 ? "accessory" : "device";
    this.event = EVENTS[event];
    this.text = text;
    this.base64 = base64;
    this.cut = cut;
    this.length = base64.length / 4 * 3 - (base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0) + cut;
    if (more) Object.assign(this, more);
    if (["packet", "spoiled", "fault"].includes(this.event) && this.length >= HEADER) {
      const header = atob(base64.slice(0, 12));
      if (header.charCodeAt(0) !== 0xff || header.charCodeAt(1) !== 0x5a) return;
      const bits = header.charCodeAt(4);
      this.control = CONTROLS.filter(([bit]) => bits & bit).map(([, name]) => name).join("+") || "none";
      this.seq = header.charCodeAt(5);
      this.ack = header.charCodeAt(6);
      this.session = header.charCodeAt(7);
    }
  }

  get bytes() { return fromBase64(this.base64); }
  get hex() { return Array.from(this.bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""); }

  // The session data in readable form, in the same format as the server's.
  get data() {
    if (this.externalSession === undefined && this.event !== "transfer") return undefined;
    const data = payloadOf(this);
    if (data.length === 0) return undefined;
    const text = data.every((byte) => (byte >= 32 && byte !== 127) || byte === 9 || byte === 10 || byte === 13) ? textOf(data) : null;
    const isCut = this.cut > 0;
    if (text !== null) return `"${text.slice(0, 200)}"${text.length > 200 || isCut ? " …" : ""}`;
    return `${Array.from(data.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join(" ")}${data.length > 16 || isCut ? " …" : ""}`;
  }
}

// Returns a packet's External Accessory session data. The packet's bytes must be known.
export function payloadOf(packet) {
  if (packet.event === "transfer") return packet.bytes;
  return packet.bytes.subarray(HEADER + 2, packet.cut > 0 ? undefined : packet.bytes.length - 1);
}

// Returns the text, or null if the data is not UTF-8.
export function textOf(data) {
  try { return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data); } catch { return null; }
}

export class RecordedPackets {
  constructor({ packets, cables, first }) {
    this.isLive = false;
    this.isReady = true;
    this.first = first;
    this.all = packets.map((row, index) => new RecordedPacket(row, first + index, cables));
  }

  async list(world, after, limit) {
    const start = Math.max(0, after - this.first + 1);
    return { recording: false, last: this.first + this.all.length - 1, packets: this.all.slice(start, start + limit) };
  }

  async get(world, number) {
    const packet = this.all[number - this.first];
    return { packet, fields: packet.fields ?? plainFields(packet) };
  }

  async whole(world, packets) { return packets; }
}

// Returns the fields of acknowledgements and data packets. A trace does not contain these fields.
export function plainFields(packet) {
  const { bytes } = packet;
  if (packet.control === undefined) return [];
  const hex = (at) => bytes[at].toString(16).padStart(2, "0");
  const sum = (from, to) => `${hex(to - 1)}, ${bytes.subarray(from, to).reduce((all, byte) => (all + byte) & 255, 0) === 0 ? "right" : "wrong"}`;
  const field = (name, value, offset, length) => ({ name, value: String(value), offset, length });
  const link = {
    ...field("link header", packet.control, 0, HEADER), fields: [
      field("start", "FF 5A", 0, 2), field("length", bytes[2] << 8 | bytes[3], 2, 2), field("control", packet.control, 4, 1),
      field("sequence number", packet.seq, 5, 1), field("acknowledgement number", packet.ack, 6, 1), field("session", packet.session, 7, 1),
      field("header checksum", sum(0, HEADER), 8, 1),
    ],
  };
  if (packet.externalSession === undefined) return [link];
  const end = packet.length - 1;
  const data = end - HEADER - 2;
  const fields = [link, field("External Accessory session", packet.externalSession, HEADER, 2), field("data", `${data} byte${data === 1 ? "" : "s"}`, HEADER + 2, data)];
  if (packet.cut === 0) fields.push(field("payload checksum", sum(HEADER, packet.length), end, 1));
  return fields;
}
