// Shows a LaneModel as a picture that follows the current time, with a time axis that is always visible. Users can
// zoom, scroll and select a time range. The shapes that were drawn last are kept in a list, which is used to find the
// shape under the pointer and to compare the picture with the events.
import { h, perFrame, plain, oneLine, seconds, stillness } from "./dom.js";
import { AXIS, BAR, GAP, LanePainter, PHASE, cut, same } from "./lanepaint.js";

const SHORTEST = 0.001;
const LONGEST = 24 * 3600;
const MOST_ROWS = 6;
const MOST_OPEN_ROWS = 100;
// If there are more than this many lanes, each lane is shown as a single line until the user opens it.
const MOST_TALL = 12;
const TALLEST = 440;

export class LaneView {
  constructor({ model, now, label, jump, ranged, isLive = true }) {
    Object.assign(this, { model, now, jump, ranged, isLive });
    this.span = 10;
    this.end = 0;
    this.follows = isLive;
    this.drawn = [];
    this.opened = new Set();
    this.range = null;
    this.cursor = null;
    this.canvas = h("canvas", { class: "lanes", tabIndex: 0, role: "img", "aria-label": label });
    this.space = h("div", {});
    this.scroller = h("div", { class: "lane-scroll" }, this.canvas, this.space);
    this.tip = h("div", { class: "tip", role: "status", hidden: true });
    this.text = h("output", { class: "span", "aria-live": "off" });
    const button = (name, title, body) => h("button", { type: "button", title, "aria-label": title, on: { click: body } }, name);
    this.pauseButton = isLive ? button("Pause", "Pause or follow (space)", () => this.follow(!this.follows)) : null;
    this.selectButton = ranged ? button("Select", "Select a range of time: drag, or drag with shift (R: what is shown)", () => this.setSelecting(!this.isSelecting)) : null;
    this.clearButton = ranged ? button("Clear", "Clear the range (escape)", () => this.select(null)) : null;
    this.filter = h("input", { type: "search", placeholder: "lanes by name", "aria-label": "Filter lanes", autocomplete: "off", hidden: true, on: { input: () => this.request() } });
    this.openButton = button("Open all", "Open or close all lanes", () => this.openAll());
    this.tools = h("div", { class: "tools", role: "toolbar", "aria-label": "Time axis" },
      this.pauseButton,
      button("−", "Zoom out (-)", () => this.zoom(2)), button("+", "Zoom in (+)", () => this.zoom(0.5)),
      button("◀", "Back (left arrow)", () => this.scroll(-0.5)), button("▶", "Forward (right arrow)", () => this.scroll(0.5)),
      button("All", "Show everything (A)", () => this.all()), this.selectButton, this.clearButton, this.filter, this.openButton, this.text);
    this.element = h("div", { class: "lane-view" }, this.tools, h("div", { class: "lane-frame" }, this.scroller, this.tip));
    this.request = perFrame(() => this.draw());
    if (ranged) this.clearButton.hidden = true;
    this.listen();
    this.scroller.addEventListener("scroll", () => { this.hover(null); this.request(); });
    new ResizeObserver(() => this.request()).observe(this.scroller);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.request());
  }

  show(model) {
    if (this.model === model) return;
    this.model = model;
    this.follows = this.isLive;
    this.opened.clear();
    this.cursor = null;
    this.select(null);
    this.request();
  }

  listen() {
    const at = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    let drag = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      const point = at(event);
      drag = { x: event.clientX, end: this.rightEdge(), moved: false, point, selects: this.ranged && (event.shiftKey || this.isSelecting) };
      if (drag.selects) drag.t = this.timeAt(point.x);
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const by = event.clientX - drag.x;
        if (Math.abs(by) > 4) drag.moved = true;
        if (drag.moved && drag.selects) {
          this.follow(false);
          const t = this.timeAt(at(event).x);
          this.range = { t0: Math.min(t, drag.t), t1: Math.max(t, drag.t) };
          this.request();
        } else if (drag.moved) {
          this.follow(false);
          this.end = drag.end - by / this.plotWidth() * this.span;
          this.request();
        }
      }
      this.hover(at(event));
    });
    this.canvas.addEventListener("pointerup", (event) => {
      const last = drag;
      drag = null;
      if (last?.moved && last.selects) return this.select(this.range);
      if (last?.moved) return;
      const point = at(event);
      if (this.openAt(point)) return;
      const shape = this.shapeAt(point);
      if (shape?.number || shape?.packet) this.jump?.(shape);
    });
    this.canvas.addEventListener("pointerleave", () => { if (!drag) this.hover(null); });
    this.canvas.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        this.zoom(Math.exp(event.deltaY / 200), at(event).x);
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        this.scroll((event.deltaX || event.deltaY) / 600);
      }
    }, { passive: false });
    this.canvas.addEventListener("keydown", (event) => {
      const actions = {
        ArrowLeft: () => this.scroll(-0.1), ArrowRight: () => this.scroll(0.1), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5),
        "-": () => this.zoom(2), " ": () => this.follow(!this.follows), a: () => this.all(), A: () => this.all(),
        End: () => this.follow(true), Home: () => this.toStart(), ArrowDown: () => this.step(1), ArrowUp: () => this.step(-1),
        Enter: () => { if (this.chosen?.number || this.chosen?.packet) this.jump?.(this.chosen); },
        Escape: () => { this.hover(null); this.select(null); },
        r: () => { if (this.ranged) this.select({ t0: this.rightEdge() - this.span, t1: this.rightEdge() }); },
      };
      const action = actions[event.key];
      if (!action || event.altKey || event.metaKey || event.ctrlKey) return;
      event.preventDefault();
      action();
    });
  }

  // Moves to the next or previous bar or mark, for keyboard users.
  step(by) {
    const shapes = this.drawn.filter((shape) => shape.text).sort((a, b) => a.t0 - b.t0 || (a.number ?? 0) - (b.number ?? 0));
    if (shapes.length === 0) return;
    let at = shapes.findIndex((shape) => same(shape, this.chosen));
    at = at < 0 ? (by > 0 ? 0 : shapes.length - 1) : Math.min(Math.max(at + by, 0), shapes.length - 1);
    const shape = shapes[at];
    this.hover({ x: shape.x + Math.min(shape.w / 2, 20), y: shape.y + shape.h / 2 }, shape);
  }

  // Ranges

  setSelecting(isSelecting) {
    this.isSelecting = isSelecting;
    this.selectButton.setAttribute("aria-pressed", String(isSelecting));
    this.canvas.classList.toggle("selects", isSelecting);
  }

  select(range) {
    if (!this.ranged) return;
    this.range = range;
    this.clearButton.hidden = !range;
    this.setSelecting(false);
    this.ranged(range);
    this.request();
  }

  // Time and position

  plotWidth() { return Math.max(50, this.canvas.clientWidth - this.labels()); }
  // On narrow screens, titles appear above the bars.
  labels() { return this.canvas.clientWidth < 560 ? 0 : 150; }
  rightEdge() { return this.follows ? Math.max(this.now(), this.span * 0.25) + this.span * 0.04 : this.end; }
  timeAt(x) { return this.rightEdge() - this.span + (x - this.labels()) / this.plotWidth() * this.span; }

  follow(follows) {
    if (!this.isLive && follows) return;
    if (!follows && this.follows) this.end = this.rightEdge();
    this.follows = follows;
    if (this.pauseButton) {
      this.pauseButton.textContent = follows ? "Pause" : "Follow";
      this.pauseButton.setAttribute("aria-pressed", String(!follows));
    }
    this.request();
  }

  zoom(factor, x) {
    const width = this.plotWidth();
    const part = x === undefined ? (this.follows ? 1 : 0.5) : Math.min(Math.max((x - this.labels()) / width, 0), 1);
    const fixed = this.rightEdge() - this.span * (1 - part);
    this.span = Math.min(Math.max(this.span * factor, SHORTEST), LONGEST);
    this.end = fixed + this.span * (1 - part);
    this.request();
  }

  scroll(part) {
    this.follow(false);
    this.end += this.span * part;
    this.request();
  }

  toStart() {
    this.follow(false);
    this.end = (this.model.first ?? 0) + this.span * 0.96;
    this.request();
  }

  all() {
    const first = this.model.first ?? 0;
    const last = this.isLive ? Math.max(this.now(), this.model.last) : this.model.last;
    this.span = Math.min(Math.max((last - first) * 1.06, 0.01), LONGEST);
    this.follow(false);
    this.end = last + this.span * 0.03;
    this.request();
  }

  // Marks a time and scrolls to it.
  showTime(t) {
    this.cursor = t;
    this.follow(false);
    const right = this.rightEdge();
    if (t < right - this.span || t > right) this.end = t + this.span / 2;
    this.request();
  }

  // The pointer

  shapeAt(point) {
    let best = null;
    for (const shape of this.drawn) {
      if (!shape.text || point.y < shape.y - 3 || point.y > shape.y + shape.h + 3) continue;
      const left = shape.mark ? shape.x - 6 : shape.x - 2;
      const right = shape.mark ? shape.x + 6 : shape.x + Math.max(shape.w, 3) + 2;
      if (point.x < left || point.x > right) continue;
      // Shapes that are drawn later cover earlier ones, and marks cover bars.
      if (!best || shape.mark || !best.mark) best = shape;
    }
    return best;
  }

  hover(point, given) {
    const shape = given ?? (point ? this.shapeAt(point) : null);
    const wasChosen = this.chosen;
    this.chosen = shape;
    this.tip.hidden = !shape;
    const isTitle = point && this.titleAt(point);
    this.canvas.classList.toggle("points", Boolean((shape?.number || shape?.packet) && this.jump) || Boolean(isTitle));
    if (shape) {
      const time = shape.mark ? `at ${seconds(shape.t0, 6)}`
        : shape.t1 === null ? `since ${seconds(shape.t0, 6)}` : `${seconds(shape.t0, 6)} to ${seconds(shape.t1, 6)}, ${seconds(shape.t1 - shape.t0)}`;
      const more = [shape.owner ? `serial number ${shape.owner}` : "", shape.protocols?.length ? shape.protocols.join(", ") : "", shape.end ? `ended: ${shape.end}` : "", shape.packet ? "click: the packet" : ""].filter(Boolean);
      this.tip.textContent = [plain(shape.text), time, ...more.map(plain)].join("\n");
      const width = this.canvas.clientWidth;
      this.tip.style.setProperty("left", `${Math.max(0, Math.min(point.x + 10, width - 260))}px`);
      this.tip.style.setProperty("top", `${point.y + 16}px`);
    }
    if (!same(wasChosen, shape)) this.request();
  }

  titleAt({ x, y }) {
    if (!this.rows || this.labels() === 0 || x > this.labels() || y < AXIS) return null;
    return this.rows.find((row) => row.canOpen && y >= row.top - 4 && y < row.top + Math.max(row.height, BAR));
  }

  // Opens or closes the lane whose title is at the given point.
  openAt(point) {
    const row = this.titleAt(point);
    if (!row) return false;
    if (!this.opened.delete(row.lane.id)) this.opened.add(row.lane.id);
    this.request();
    return true;
  }

  openAll() {
    const all = this.shownLanes();
    if (this.opened.size > 0) this.opened.clear(); else for (const lane of all) this.opened.add(lane.id);
    this.request();
  }

  colors() {
    const style = getComputedStyle(this.canvas);
    const color = (name) => style.getPropertyValue(name).trim();
    return {
      text: color("--text"), faint: color("--faint"), line: color("--line"), bare: color("--bare"), whole: color("--whole"),
      session: color("--session"), link: color("--link"), plug: color("--plug"), fault: color("--bad"), warning: color("--warn"),
      info: color("--faint"), end: color("--bad"), hit: color("--bad"), focus: color("--focus"), card: color("--card"),
    };
  }

  // Drawing

  shownLanes() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const isAlways = (lane) => this.isLive && (lane.kind === "cable" || lane.kind === "device");
    return this.model.ordered.filter((lane) => (isAlways(lane) || this.isShown(lane))
      && words.every((word) => `${lane.title ?? ""} ${lane.id}`.toLowerCase().includes(word)));
  }

  draw() {
    if (!this.canvas.isConnected || this.scroller.clientWidth === 0) return;
    const width = this.scroller.clientWidth;
    const narrow = this.labels() === 0;
    const lanes = this.shownLanes();
    const right = this.rightEdge();
    const from = right - this.span;
    const layout = this.layout(lanes, narrow, from, right);
    const height = Math.min(layout.height, TALLEST);
    this.resize(width, height, layout.height);
    const ratio = devicePixelRatio || 1;
    const pen = this.canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const left = this.labels();
    const colors = this.colors();
    const painter = new LanePainter(pen, colors, {
      left, width, height, from, right, until: this.isLive ? Math.min(this.now(), right) : this.model.last,
      place: (t) => left + (t - from) / this.span * (width - left), timeAt: (x) => from + (x - left) / (width - left) * this.span,
    });
    painter.axis();
    const scrolled = this.scroller.scrollTop;
    this.rows = layout.rows.map((row) => ({ ...row, top: row.top - scrolled })).filter((row) => row.top + row.height > AXIS - BAR && row.top < height + BAR);
    pen.save();
    pen.beginPath();
    pen.rect(left, AXIS, width - left, height - AXIS);
    pen.clip();
    this.gaps(painter);
    for (const row of this.rows) painter.lane(row, this.model);
    pen.restore();
    pen.save();
    pen.beginPath();
    pen.rect(0, AXIS, width, height - AXIS);
    pen.clip();
    for (const row of this.rows) this.title(pen, colors, row, narrow, left, width);
    pen.restore();
    painter.selection(this.range, this.cursor);
    if (this.chosen) painter.ring(this.chosen);
    this.drawn = painter.drawn;
    this.text.textContent = `${spanText(this.span)} shown`;
    this.keepMoving(from);
  }

  resize(width, height, whole) {
    const ratio = devicePixelRatio || 1;
    if (this.canvas.width === Math.round(width * ratio) && this.canvas.height === Math.round(height * ratio) && this.whole === whole) return;
    this.whole = whole;
    this.scroller.style.setProperty("height", `${height}px`);
    this.space.style.setProperty("height", `${whole - height}px`);
    this.canvas.style.setProperty("height", `${height}px`);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
  }

  gaps({ pen, colors, from, right, place, height, drawn }) {
    for (const t of this.model.gaps) {
      if (t < from || t > right) continue;
      drawn.push({ lane: "", mark: true, kind: "gap", t0: t, t1: t, text: "events before this moment are gone", x: place(t), y: AXIS, w: 0, h: height - AXIS });
      pen.strokeStyle = colors.warning;
      pen.setLineDash([4, 4]);
      pen.beginPath();
      pen.moveTo(place(t), AXIS);
      pen.lineTo(place(t), height);
      pen.stroke();
      pen.setLineDash([]);
    }
  }

  title(pen, colors, { lane, top, title, note, canOpen, height }, narrow, left, width) {
    const sign = canOpen ? (this.opened.has(lane.id) ? "▾ " : "▸ ") : "";
    pen.fillStyle = colors.text;
    pen.font = "600 12px system-ui, sans-serif";
    pen.fillText(cut(pen, sign + title, narrow ? width - 8 : left - 12), 4, narrow ? top - 14 : top + BAR / 2);
    pen.font = "12px system-ui, sans-serif";
    if (narrow || !note || height < BAR + 16) return;
    pen.fillStyle = colors.faint;
    pen.fillText(cut(pen, note, left - 12), 4, top + BAR / 2 + 16);
  }

  // Hides the lane of an accessory or app that has ended, once all the lane's bars and marks are out of view.
  isShown(lane) {
    const right = this.rightEdge();
    const from = right - this.span;
    if (lane.open.size > 0) return true;
    const { bars, marks } = lane;
    if (bars.length === 0 && marks.length === 0) return lane.state !== undefined;
    return bars.some((bar) => bar.t0 <= right && (bar.t1 ?? right) >= from) || marks.some((mark) => mark.t >= from && mark.t <= right);
  }

  layout(lanes, narrow, from, right) {
    const rows = [];
    let top = AXIS + GAP;
    const names = {};
    for (const lane of lanes) if (lane.kind === "accessory") names[lane.title] = (names[lane.title] ?? 0) + 1;
    // If there are many lanes, a filter may hide most of them.
    const isMany = lanes.length > MOST_TALL || (this.filter.value !== "" && this.model.lanes.size > MOST_TALL);
    this.openButton.hidden = !isMany;
    this.filter.hidden = !isMany && !this.filter.value;
    for (const lane of lanes) {
      if (narrow) top += 20;
      const isCompact = isMany && !this.opened.has(lane.id);
      const hasSessions = lane.kind === "accessory" || lane.kind === "app";
      const rowHeight = hasSessions && !isCompact ? BAR * 2 + 6 : BAR + 4;
      const hasPhases = !isCompact && this.model.phases.some((one) => one.lane === lane.id && one.t0 <= right && one.t1 >= from);
      const used = new Set([0]);
      if (!isCompact) for (const bar of lane.bars) if (bar.t0 <= right && (bar.t1 ?? right) >= from) used.add(bar.row);
      const limit = isMany ? MOST_OPEN_ROWS : MOST_ROWS;
      const highest = Math.max(...used);
      const most = highest < limit ? limit : limit - 1;
      const more = [...used].filter((row) => row >= most).length;
      const height = rowHeight * ((more > 0 ? most : highest) + 1) + (hasPhases ? PHASE : 0);
      // Serial numbers distinguish accessories that have the same name.
      const serial = names[lane.title] > 1 ? lane.id.slice("accessory ".length) : "";
      const title = lane.title ?? lane.id;
      rows.push({
        lane, top, height, title: oneLine((narrow || isCompact) && serial ? `${title} ${serial}` : title), note: oneLine(serial || (lane.kind === "app" && lane.state) || ""),
        hasSessions, rowHeight, most, more, isCompact, hasPhases, canOpen: isMany,
      });
      top += height + (isCompact ? 2 : GAP);
    }
    return { rows, height: Math.max(top + 4, 120) };
  }

  // Keeps the picture moving while anything in it is active. If nothing is active, the picture is redrawn only when
  // something changes.
  keepMoving(from) {
    if (!this.isLive || !this.follows || this.isWaiting) return;
    const moves = [...this.model.lanes.values()].some((lane) =>
      lane.open.size > 0 || lane.marks.at(-1)?.t > from || lane.bars.at(-1)?.t0 > from || lane.bars.at(-1)?.t1 > from);
    if (!moves || this.isStill?.()) return;
    this.isWaiting = true;
    // Draws no more than one frame per pixel of movement.
    const frame = Math.max(16, Math.min(1_000, this.span / this.plotWidth() * 1_000));
    setTimeout(() => { this.isWaiting = false; this.request(); }, stillness.matches ? 1_000 : frame);
  }
}

function spanText(span) {
  if (span < 1) return `${(span * 1_000).toPrecision(3)} ms`;
  if (span < 120) return `${Number(span.toPrecision(3))} s`;
  return `${(span / 60).toFixed(1)} min`;
}

export function legend() {
  const key = (kind, text) => h("span", { class: `key ${kind}` }, text);
  return h("p", { class: "legend" }, key("whole", "with its protocols"), key("bare", "without protocols"), key("session", "session and its throughput"),
    key("linked", "link"), key("fault", "fault"), key("hit", "packet that a fault acted on"), key("warning", "warning"));
}
