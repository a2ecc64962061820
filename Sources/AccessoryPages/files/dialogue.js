// Shows a session as a dialog: what the app sent is on one side, and what the accessory sent is on the other side.
import { bytes, h, oneLine, plain, replace, save, seconds } from "./dom.js";
import { payloadOf, textOf } from "./source.js";

const MOST_BYTES = 200_000;
const MOST_PARTS = 2_000;

export class Dialogue {
  constructor() {
    this.title = h("h2", {});
    this.note = h("p", { class: "hint" });
    this.parts = h("ol", { class: "plain dialogue", tabIndex: 0, "aria-label": "What both sides sent" });
    this.form = h("button", { type: "button", "aria-pressed": "false", on: { click: () => this.setHex(!this.isHex) } }, "Hex");
    this.element = h("dialog", { class: "card conversation", "aria-label": "Session" }, this.title, h("div", { class: "buttons" }, this.form,
      h("button", { type: "button", dataset: { action: "save-session" }, on: { click: () => this.save() } }, "Save text"),
      h("button", { type: "button", class: "main", dataset: { action: "close-dialogue" }, on: { click: () => this.element.close() } }, "Close")), this.note, this.parts);
  }

  // `packets` must include the packets' bytes; `jump` is called to show a packet.
  show(name, packets, jump) {
    this.turns = turnsOf(packets);
    this.name = name;
    this.jump = jump;
    const sums = { device: 0, accessory: 0 };
    for (const packet of packets) if (!packet.repeated) sums[packet.from] += packet.length - 12;
    this.title.textContent = `Session ${oneLine(name)}`;
    this.note.textContent = `The app sent ${bytes(Math.max(0, sums.device))}, the accessory ${bytes(Math.max(0, sums.accessory))}.`;
    this.draw();
    if (!this.element.isConnected) document.body.append(this.element);
    this.element.showModal();
  }

  setHex(isHex) {
    this.isHex = isHex;
    this.form.setAttribute("aria-pressed", String(isHex));
    this.draw();
  }

  text({ data }) {
    const text = this.isHex ? null : textOf(data);
    if (text !== null && !/[\u0000-\u0008\u000e-\u001f]/.test(text)) return plain(text);
    return Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  }

  draw() {
    let left = MOST_BYTES;
    const shown = [];
    for (const turn of this.turns.slice(0, MOST_PARTS)) {
      if (left <= 0) break;
      left -= turn.data.length;
      shown.push(h("li", { class: turn.from },
        h("button", { type: "button", class: "link", on: { click: () => { this.element.close(); this.jump(turn.number); } } },
          `${turn.from === "device" ? "app" : "accessory"}, ${seconds(turn.t, 3)}, ${bytes(turn.data.length)}`),
        h("pre", {}, this.text(turn))));
    }
    if (shown.length < this.turns.length) shown.push(h("li", { class: "hint" }, `${this.turns.length - shown.length} more turns are not shown; save the packets to have them.`));
    replace(this.parts, shown);
  }

  save() {
    save("easim-session.txt", "text/plain", this.turns.map((turn) => `${turn.from === "device" ? "app" : "accessory"} ${turn.t.toFixed(6)}\n${this.text(turn)}\n\n`));
  }
}

// Combines consecutive packets from the same side into one turn, and omits retransmissions.
function turnsOf(packets) {
  const turns = [];
  for (const packet of packets) {
    if (packet.repeated || packet.event === "fault" || packet.event === "spoiled") continue;
    const data = payloadOf(packet);
    const last = turns.at(-1);
    if (last?.from === packet.from && last.size < 65_536) {
      last.pieces.push(data);
      last.size += data.length;
    } else {
      turns.push({ from: packet.from, t: packet.t, number: packet.number, pieces: [data], size: data.length });
    }
  }
  for (const turn of turns) {
    turn.data = new Uint8Array(turn.size);
    let at = 0;
    for (const piece of turn.pieces) {
      turn.data.set(piece, at);
      at += piece.length;
    }
  }
  return turns;
}
