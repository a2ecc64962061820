// Shows the bytes of a packet next to its fields. Selecting bytes highlights their field, and vice versa.
import { h, oneLine, replace } from "./dom.js";

const MOST_BYTES = 4_096;

export class PacketDetail {
  constructor() {
    this.tree = h("div", { class: "tree", role: "tree", "aria-label": "Fields" });
    this.dump = h("div", { class: "dump", role: "group", "aria-label": "Bytes" });
    this.title = h("h3", {}, "Choose a packet to see its fields and bytes.");
    this.halves = h("div", { class: "halves", hidden: true }, this.tree, this.dump);
    this.element = h("div", { class: "detail" }, this.title, this.halves);
    this.tree.addEventListener("pointerover", (event) => this.markField(event.target.closest("[data-offset]")));
    this.tree.addEventListener("focusin", (event) => this.markField(event.target.closest("[data-offset]")));
    this.tree.addEventListener("click", (event) => this.pin(event.target.closest("[data-offset]")));
    this.tree.addEventListener("pointerleave", () => this.mark(this.pinned));
    this.tree.addEventListener("keydown", (event) => this.move(event));
    this.dump.addEventListener("pointerover", (event) => this.markByte(event.target));
    this.dump.addEventListener("click", (event) => { this.markByte(event.target); this.pinned = this.marked; });
    this.dump.addEventListener("pointerleave", () => this.mark(this.pinned));
  }

  show({ packet, fields }) {
    this.halves.hidden = false;
    this.pinned = this.marked = null;
    this.rows = [];
    this.title.textContent = [`Packet ${packet.number}: ${oneLine(packet.text)}`, ...(packet.notes ?? [])].join(" · ");
    const add = (field, depth) => {
      const row = h("div", {
        class: "node", role: "treeitem", "aria-level": depth + 1, tabIndex: this.rows.length === 0 ? 0 : -1,
        dataset: { offset: field.offset, length: field.length }, style: { "--depth": depth },
      }, h("b", {}, oneLine(field.name)), " ", h("span", {}, oneLine(field.value)));
      this.rows.push(row);
      for (const inner of field.fields ?? []) add(inner, depth + 1);
    };
    for (const field of fields) add(field, 0);
    replace(this.tree, this.rows.length ? this.rows : h("p", { class: "hint" }, "These bytes are no packet of the link."));
    const pairs = Array.from(packet.bytes, (byte) => byte.toString(16).padStart(2, "0"));
    const lines = [];
    this.cells = [];
    for (let at = 0; at < Math.min(pairs.length, MOST_BYTES); at += 16) {
      const part = pairs.slice(at, at + 16);
      const hex = [];
      const ascii = [];
      part.forEach((pair, index) => {
        const code = parseInt(pair, 16);
        const both = [h("span", { dataset: { at: at + index } }, pair), h("span", { dataset: { at: at + index } }, code >= 32 && code < 127 ? String.fromCharCode(code) : "·")];
        this.cells[at + index] = both;
        hex.push(both[0], index === 7 ? "  " : " ");
        ascii.push(both[1]);
      });
      const fill = " ".repeat((16 - part.length) * 3 + (part.length <= 7 ? 1 : 0));
      lines.push(h("div", {}, h("i", {}, at.toString(16).padStart(4, "0")), "  ", hex, fill, " ", ascii));
    }
    if (packet.cut > 0) lines.push(h("p", { class: "hint" }, `${packet.cut} more bytes were left out of this trace.`));
    if (pairs.length > MOST_BYTES) lines.push(h("p", { class: "hint" }, `${pairs.length - MOST_BYTES} more bytes are not shown; save the packets to have them.`));
    replace(this.dump, lines);
  }

  rangeOf(row) { return row ? { start: Number(row.dataset.offset), end: Number(row.dataset.offset) + Number(row.dataset.length) } : null; }

  markField(row) { if (row) this.mark(this.rangeOf(row)); }

  pin(row) {
    if (!row) return;
    this.pinned = this.rangeOf(row);
    this.mark(this.pinned);
  }

  // Returns the smallest field that contains a given byte.
  markByte(target) {
    const at = target.dataset?.at;
    if (at === undefined) return;
    let best = null;
    for (const row of this.rows) {
      const range = this.rangeOf(row);
      if (range.start <= at && at < range.end && (!best || range.end - range.start <= best.end - best.start)) best = { ...range, row };
    }
    this.mark(best ?? { start: Number(at), end: Number(at) + 1 });
    best?.row.scrollIntoView({ block: "nearest" });
  }

  mark(range) {
    this.marked = range;
    this.cells?.forEach((both, at) => {
      const isIn = Boolean(range) && at >= range.start && at < range.end;
      for (const cell of both) cell.classList.toggle("marked", isIn);
    });
    for (const row of this.rows ?? []) {
      const own = this.rangeOf(row);
      row.classList.toggle("marked", Boolean(range) && own.start === range.start && own.end === range.end);
    }
  }

  move(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || !this.rows) return;
    event.preventDefault();
    const at = this.rows.indexOf(document.activeElement);
    const next = this.rows[Math.min(Math.max(at + by, 0), this.rows.length - 1)];
    next?.focus();
  }
}
