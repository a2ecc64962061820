// Lists the events in a world: what happened to accessories, cables, the device and apps, and which requests changed
// something.
import { h, oneLine, perFrame, seconds, setText } from "./dom.js";
import { VirtualList } from "./list.js";

export class EventList {
  // `desk` provides the world and the selected range. `chosen` is called when an event is selected, and `jump` is
  // called to show an event's packets.
  constructor(desk, { chosen, jump, follows = true }) {
    this.desk = desk;
    this.filter = h("input", { type: "search", id: "event-filter", placeholder: "connect, fault, name", autocomplete: "off" });
    this.list = new VirtualList({
      label: "Events",
      columns: [{ name: "No.", class: "number" }, { name: "Time", class: "time" }, { name: "Side", class: "from" }, { name: "Event", class: "event" }, { name: "What", class: "text" }],
      cells: (one) => [one.number, seconds(one.t, 6), side(one), one.event ?? one.request, describe(one)],
      kind: (one) => ["fault", "warning", "refused", "alert"].includes(one.event) || (one.event === "result" && !one.passed) ? "bad" : one.event === "connect" || one.event === "result" ? "message" : "",
      choose: (one) => { if (!this.list.follows) chosen(one); },
    });
    if (!follows) this.list.setFollows(false);
    this.count = h("span", { class: "hint" });
    this.request = perFrame(() => this.update());
    this.filter.addEventListener("input", () => { this.list.chosen = -1; this.request(); });
    const packets = h("button", { type: "button", dataset: { action: "packets-of-event" }, on: { click: () => {
      const one = this.list.rows[this.list.chosen];
      if (one) jump(one.t); else desk.say("Choose an event in the list first.", true);
    } } }, "Packets of the chosen event");
    this.element = h("section", { class: "events", "aria-label": "Events" }, h("h2", { class: "hidden" }, "Events"), h("div", { class: "tools" },
      h("label", { htmlFor: "event-filter" }, "Filter events"), this.filter, packets, this.count), this.list.element);
  }

  update() {
    const world = this.desk.world();
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const { range } = this.desk;
    const rows = words.length === 0 && !range ? world.notices : world.notices.filter((one) => {
      if (range && (one.t < range.t0 || one.t > range.t1)) return false;
      const text = `${side(one)} ${one.event ?? one.request} ${describe(one)}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    this.list.show(rows, { keep: true });
    setText(this.count, `${rows.length} events${world.gone ? `, ${world.gone} older ones are gone` : ""}`);
  }

  // Selects the first event at or after a given time.
  reveal(t) {
    const at = this.list.rows.findIndex((one) => one.t >= t - 1e-6);
    if (at >= 0) {
      this.list.setFollows(false);
      this.list.select(at);
    }
  }
}

function side(one) { return one.request ? "request" : one.side ?? one.app ?? one.session ?? ""; }

export function describe(one) {
  if (one.request) {
    const all = Object.entries({ ...one.params, ...one.result });
    return oneLine(all.map(([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`).join(" "));
  }
  if (one.event === "message") return oneLine(`${one.direction === "sent" ? "→" : "←"} ${one.id} ${one.name ?? ""} ${(one.parameters ?? []).map((part) => `${part.name ?? part.id}=${part.value ?? part.hex ?? "…"}`).join(" ")}`.slice(0, 300));
  const name = one.accessory?.name ?? "";
  const protocols = one.accessory?.protocols;
  const what = one.text ?? one.reason ?? (["connect", "disconnect", "attach"].includes(one.event) && protocols ? (protocols.length ? protocols.join(", ") : "no protocols") : one.protocol ?? one.on ?? "");
  const counts = one.bytesRead !== undefined ? ` · ${one.bytesRead} bytes read, ${one.bytesWritten} written` : "";
  return oneLine([name, what].filter(Boolean).join(" · ") + counts);
}
