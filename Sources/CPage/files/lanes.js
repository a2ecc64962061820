// Draws a LaneModel on a canvas: bars and marks on a time axis in seconds. The drawn items are kept as a list, for the
// pointer and for tests that compare the picture with the events.
import { h, perFrame, plain, oneLine, seconds, stillness } from "./dom.js";

const AXIS = 22;
const BAR = 14;
const GAP = 8;
const SHORTEST = 0.001;
const LONGEST = 24 * 3600;
// The height of one lane, and of a group of lanes.
const MOST_ROWS = 6;
const MOST_LANES = 40;

export class LaneView {
  constructor({ model, now, label, jump, isLive = true }) {
    Object.assign(this, { model, now, jump, isLive });
    this.span = 10;
    this.end = 0;
    this.follows = isLive;
    this.drawn = [];
    this.canvas = h("canvas", { class: "lanes", tabIndex: 0, role: "img", "aria-label": label });
    this.tip = h("div", { class: "tip", role: "status", hidden: true });
    this.text = h("output", { class: "span", "aria-live": "off" });
    const button = (name, title, body) => h("button", { type: "button", title, "aria-label": title, on: { click: body } }, name);
    this.pauseButton = isLive ? button("Pause", "Pause or follow (space)", () => this.follow(!this.follows)) : null;
    this.tools = h("div", { class: "tools", role: "toolbar", "aria-label": "Time axis" },
      this.pauseButton,
      button("−", "Zoom out (-)", () => this.zoom(2)), button("+", "Zoom in (+)", () => this.zoom(0.5)),
      button("◀", "Back (left arrow)", () => this.scroll(-0.5)), button("▶", "Forward (right arrow)", () => this.scroll(0.5)),
      button("All", "Show everything (A)", () => this.all()), this.text);
    this.element = h("div", { class: "lane-view" }, this.tools, h("div", { class: "lane-frame" }, this.canvas, this.tip));
    this.request = perFrame(() => this.draw());
    this.listen();
    new ResizeObserver(() => this.request()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.request());
  }

  show(model) {
    if (this.model === model) return;
    this.model = model;
    this.follows = this.isLive;
    this.request();
  }

  listen() {
    const at = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    let drag = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, end: this.rightEdge(), moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const by = event.clientX - drag.x;
        if (Math.abs(by) > 4) drag.moved = true;
        if (drag.moved) {
          this.follow(false);
          this.end = drag.end - by / this.plotWidth() * this.span;
          this.request();
        }
      }
      this.hover(at(event));
    });
    this.canvas.addEventListener("pointerup", (event) => {
      const moved = drag?.moved;
      drag = null;
      if (moved) return;
      const shape = this.shapeAt(at(event));
      if (shape?.number) this.jump?.(shape);
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
        Enter: () => { if (this.chosen?.number) this.jump?.(this.chosen); }, Escape: () => this.hover(null),
      };
      const action = actions[event.key];
      if (!action || event.altKey || event.metaKey || event.ctrlKey) return;
      event.preventDefault();
      action();
    });
  }

  // Moves from one drawn bar or mark to the next, for the keyboard.
  step(by) {
    const shapes = this.drawn.filter((shape) => shape.text).sort((a, b) => a.t0 - b.t0 || a.number - b.number);
    if (shapes.length === 0) return;
    let at = shapes.findIndex((shape) => shape.number === this.chosen?.number && shape.lane === this.chosen?.lane);
    at = at < 0 ? (by > 0 ? 0 : shapes.length - 1) : Math.min(Math.max(at + by, 0), shapes.length - 1);
    const shape = shapes[at];
    this.hover({ x: shape.x + Math.min(shape.w / 2, 20), y: shape.y + shape.h / 2 }, shape);
  }

  plotWidth() { return Math.max(50, this.canvas.clientWidth - this.labels()); }
  // On narrow screens, the titles are above the bars.
  labels() { return this.canvas.clientWidth < 560 ? 0 : 150; }
  rightEdge() { return this.follows ? Math.max(this.now(), this.span * 0.25) + this.span * 0.04 : this.end; }

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

  // Scrolls so that a time is in the middle.
  showTime(t) {
    this.follow(false);
    this.end = t + this.span / 2;
    this.request();
  }

  shapeAt(point) {
    let best = null;
    for (const shape of this.drawn) {
      if (!shape.text || point.y < shape.y - 3 || point.y > shape.y + shape.h + 3) continue;
      const left = shape.mark ? shape.x - 6 : shape.x - 2;
      const right = shape.mark ? shape.x + 6 : shape.x + Math.max(shape.w, 3) + 2;
      if (point.x < left || point.x > right) continue;
      // Later ones are drawn on top; marks on top of bars.
      if (!best || shape.mark || !best.mark) best = shape;
    }
    return best;
  }

  hover(point, given) {
    const shape = given ?? (point ? this.shapeAt(point) : null);
    const wasChosen = this.chosen;
    this.chosen = shape;
    this.tip.hidden = !shape;
    this.canvas.classList.toggle("points", Boolean(shape?.number && this.jump));
    if (shape) {
      const time = shape.mark ? `at ${seconds(shape.t0, 6)}`
        : shape.t1 === null ? `since ${seconds(shape.t0, 6)}` : `${seconds(shape.t0, 6)} to ${seconds(shape.t1, 6)}, ${seconds(shape.t1 - shape.t0)}`;
      const more = [shape.owner ? `serial number ${shape.owner}` : "", shape.protocols?.length ? shape.protocols.join(", ") : "", shape.end ? `ended: ${shape.end}` : ""].filter(Boolean);
      this.tip.textContent = [plain(shape.text), time, ...more.map(plain)].join("\n");
      const width = this.canvas.clientWidth;
      this.tip.style.setProperty("left", `${Math.max(0, Math.min(point.x + 10, width - 260))}px`);
      this.tip.style.setProperty("top", `${point.y + 16}px`);
    }
    if (wasChosen !== shape) this.request();
  }

  colors() {
    const style = getComputedStyle(this.canvas);
    const color = (name) => style.getPropertyValue(name).trim();
    return {
      text: color("--text"), faint: color("--faint"), line: color("--line"), bare: color("--bare"), whole: color("--whole"),
      session: color("--session"), link: color("--link"), plug: color("--plug"), fault: color("--bad"), warning: color("--warn"),
      info: color("--faint"), end: color("--bad"), focus: color("--focus"), card: color("--card"),
    };
  }

  draw() {
    if (!this.canvas.isConnected || this.canvas.clientWidth === 0) return;
    const narrow = this.labels() === 0;
    const lanes = this.model.ordered.filter((lane) => lane.kind !== "accessory" && lane.kind !== "app" || this.isShown(lane));
    const right = this.rightEdge();
    const from = right - this.span;
    const layout = this.layout(lanes, narrow, from, right);
    const width = this.canvas.clientWidth;
    const height = layout.height;
    const ratio = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.style.setProperty("height", `${height}px`);
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const colors = this.colors();
    const left = this.labels();
    const place = (t) => left + (t - from) / this.span * (width - left);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    this.axis(pen, colors, { left, width, height, from, right, place });
    this.drawn = [];
    const until = this.isLive ? Math.min(this.now(), right) : this.model.last;
    pen.save();
    pen.beginPath();
    pen.rect(left, AXIS, width - left, height - AXIS);
    pen.clip();
    for (const t of this.model.gaps) {
      if (t < from || t > right) continue;
      this.drawn.push({ lane: "", mark: true, kind: "gap", t0: t, t1: t, text: "events before this moment are gone", x: place(t), y: AXIS, w: 0, h: height - AXIS });
      pen.strokeStyle = colors.warning;
      pen.setLineDash([4, 4]);
      pen.beginPath();
      pen.moveTo(place(t), AXIS);
      pen.lineTo(place(t), height);
      pen.stroke();
      pen.setLineDash([]);
    }
    this.rows = layout.rows;
    for (const row of layout.rows) if (row.lane) this.drawLane(pen, colors, row, { from, right, until, place, left });
    pen.restore();
    pen.fillStyle = colors.text;
    for (const { top, title, note } of layout.rows) {
      pen.fillStyle = colors.text;
      pen.font = "600 12px system-ui, sans-serif";
      pen.fillText(cut(pen, title, narrow ? width - 8 : left - 12), 4, narrow ? top - 14 : top + BAR / 2);
      pen.font = "12px system-ui, sans-serif";
      if (!narrow && note) {
        pen.fillStyle = colors.faint;
        pen.fillText(cut(pen, note, left - 12), 4, top + BAR / 2 + 16);
      }
    }
    if (this.chosen) this.ring(pen, colors);
    this.text.textContent = `${spanText(this.span)} shown`;
    this.keepMoving(from, right);
  }

  // Accessories and apps that have ended disappear from the picture once nothing of theirs is visible.
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
    const counts = {};
    const names = {};
    for (const lane of lanes) {
      counts[lane.kind] = (counts[lane.kind] ?? 0) + 1;
      if (lane.kind === "accessory") names[lane.title] = (names[lane.title] ?? 0) + 1;
    }
    const shown = {};
    for (const lane of lanes) {
      shown[lane.kind] = (shown[lane.kind] ?? 0) + 1;
      if (shown[lane.kind] > MOST_LANES + 1) continue;
      if (narrow) top += 20;
      if (shown[lane.kind] > MOST_LANES) {
        rows.push({ top, title: `+${counts[lane.kind] - MOST_LANES} more` });
        top += BAR + 4 + GAP;
        continue;
      }
      const hasSessions = lane.kind === "accessory" || lane.kind === "app";
      const rowHeight = hasSessions ? BAR * 2 + 6 : BAR + 4;
      const used = new Set([0]);
      for (const bar of lane.bars) if (bar.t0 <= right && (bar.t1 ?? right) >= from) used.add(bar.row);
      const most = Math.max(...used) < MOST_ROWS ? MOST_ROWS : MOST_ROWS - 1;
      const more = [...used].filter((row) => row >= most).length;
      const last = more > 0 ? most : Math.max(...used);
      // Accessories with the same name are distinguished by serial number.
      const serial = names[lane.title] > 1 ? lane.id.slice("accessory ".length) : "";
      const title = lane.title ?? lane.id;
      rows.push({
        lane, top, title: oneLine(narrow && serial ? `${title} ${serial}` : title), note: oneLine(serial || (lane.kind === "app" && lane.state) || ""),
        hasSessions, rowHeight, most, more,
      });
      top += rowHeight * (last + 1) + GAP;
    }
    return { rows, height: Math.max(top + 4, 120) };
  }

  drawLane(pen, colors, { lane, top, hasSessions, rowHeight, most, more }, { from, right, until, place, left }) {
    pen.strokeStyle = colors.line;
    pen.beginPath();
    pen.moveTo(left, top + BAR + 0.5);
    pen.lineTo(this.canvas.clientWidth, top + BAR + 0.5);
    pen.stroke();
    const covered = [];
    for (const bar of lane.bars) {
      const t1 = bar.t1 ?? until;
      if (t1 < from || bar.t0 > right || bar.row >= most) continue;
      const x = Math.max(place(bar.t0), left - 2);
      const end = Math.min(place(t1), this.canvas.clientWidth + 2);
      const isSession = bar.kind === "session";
      const isThin = bar.kind === "link";
      const rowTop = top + bar.row * rowHeight;
      const y = isSession && hasSessions ? rowTop + BAR + 3 : isThin ? rowTop + 4 : rowTop;
      const height = isThin ? BAR - 8 : BAR;
      const w = Math.max(end - x, 1.5);
      // Thousands of bars in one pixel look like one.
      const track = bar.row * 4 + (isSession ? 1 : isThin ? 2 : 0);
      if (w < 3 && x + w <= (covered[track] ?? -1) + 0.7) continue;
      covered[track] = Math.max(covered[track] ?? -1, x + w);
      pen.fillStyle = colors[bar.kind] ?? colors.whole;
      if (bar.kind === "bare" && w >= 5) this.hatch(pen, colors, x, y, w, height);
      else pen.fillRect(x, y, w, height);
      this.drawn.push({ ...bar, t1: bar.t1, x, y, w, h: height, mark: false });
      if (w > 70 && !isThin && bar.kind !== "plug") {
        pen.fillStyle = bar.kind === "bare" ? colors.text : colors.card;
        pen.fillText(cut(pen, oneLine(this.barText(bar)), w - 8), x + 4, y + height / 2 + 0.5);
      }
    }
    if (more > 0) {
      const text = `+${more} more`;
      const y = top + most * rowHeight;
      pen.fillStyle = colors.faint;
      pen.fillText(text, left + 4, y + BAR / 2);
      this.drawn.push({ lane: lane.id, kind: "more", text: `${text} than fit`, t0: from, t1: right, x: left + 4, y, w: 60, h: BAR, mark: true });
    }
    let lastMark = -100;
    for (const mark of lane.marks) {
      if (mark.t < from || mark.t > right) continue;
      const x = place(mark.t);
      if (x - lastMark < 0.5 && mark.kind === "info") continue;
      lastMark = x;
      this.markShape(pen, colors, mark.kind, x, top);
      this.drawn.push({ ...mark, t0: mark.t, t1: mark.t, x, y: top - 4, w: 0, h: BAR + 4, mark: true });
    }
  }

  barText(bar) {
    if (bar.kind === "session") return bar.text.replace(/^session \S+ /, "");
    if (bar.kind === "bare") return "no protocols";
    return bar.protocols?.join(", ") || bar.text;
  }

  hatch(pen, colors, x, y, w, height) {
    pen.save();
    pen.beginPath();
    pen.rect(x, y, w, height);
    pen.clip();
    pen.fillStyle = colors.bare;
    pen.fillRect(x, y, w, height);
    pen.strokeStyle = colors.whole;
    pen.lineWidth = 1;
    const start = Math.max(x, 0) - height;
    pen.beginPath();
    for (let at = start - start % 6; at < x + w; at += 6) {
      pen.moveTo(at, y + height);
      pen.lineTo(at + height, y);
    }
    pen.globalAlpha = 0.35;
    pen.stroke();
    pen.globalAlpha = 1;
    pen.strokeRect(x + 0.5, y + 0.5, Math.max(w - 1, 0.5), height - 1);
    pen.restore();
  }

  // Each kind of mark has its own shape as well as its own colour.
  markShape(pen, colors, kind, x, top) {
    pen.fillStyle = colors[kind] ?? colors.info;
    pen.beginPath();
    if (kind === "fault") {
      pen.moveTo(x, top - 5);
      pen.lineTo(x + 5, top + 4);
      pen.lineTo(x - 5, top + 4);
    } else if (kind === "warning") {
      pen.moveTo(x, top - 6);
      pen.lineTo(x + 5, top);
      pen.lineTo(x, top + 6);
      pen.lineTo(x - 5, top);
    } else if (kind === "end") {
      pen.rect(x - 2, top - 4, 4, BAR + 8);
    } else {
      pen.arc(x, top - 2, 2.5, 0, 7);
    }
    pen.fill();
  }

  ring(pen, colors) {
    const shape = this.drawn.find((one) => one.number === this.chosen.number && one.lane === this.chosen.lane && one.mark === this.chosen.mark);
    if (!shape) return;
    pen.strokeStyle = colors.focus;
    pen.lineWidth = 2;
    pen.strokeRect(shape.x - (shape.mark ? 6 : 1), shape.y - 2, (shape.mark ? 12 : shape.w + 2), shape.h + 4);
    pen.lineWidth = 1;
  }

  axis(pen, colors, { left, width, height, from, right, place }) {
    const most = Math.max(2, (width - left) / 90);
    const raw = this.span / most;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= raw) ?? raw;
    const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step))));
    pen.strokeStyle = colors.line;
    pen.fillStyle = colors.faint;
    pen.beginPath();
    for (let t = Math.ceil(from / step) * step; t <= right; t += step) {
      const x = Math.round(place(t)) + 0.5;
      pen.moveTo(x, AXIS - 4);
      pen.lineTo(x, height);
      const label = seconds(Math.abs(t) < step / 2 ? 0 : t, digits);
      if (t >= -step / 2 && x + pen.measureText(label).width + 4 < width) pen.fillText(label, x + 3, AXIS / 2);
    }
    pen.stroke();
  }

  // While something is going on, the picture moves; otherwise it is redrawn only when something changes.
  keepMoving(from, right) {
    if (!this.isLive || !this.follows || this.isWaiting) return;
    const moves = [...this.model.lanes.values()].some((lane) =>
      lane.open.size > 0 || lane.marks.at(-1)?.t > from || lane.bars.at(-1)?.t0 > from || lane.bars.at(-1)?.t1 > from);
    if (!moves || this.isStill?.()) return;
    this.isWaiting = true;
    // A pixel of movement is enough for a frame.
    const frame = Math.max(16, Math.min(1_000, this.span / this.plotWidth() * 1_000));
    setTimeout(() => { this.isWaiting = false; this.request(); }, stillness.matches ? 1_000 : frame);
  }
}

function cut(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle; else high = middle - 1;
  }
  return low > 0 ? `${text.slice(0, low)}…` : "";
}

function spanText(span) {
  if (span < 1) return `${(span * 1_000).toPrecision(3)} ms`;
  if (span < 120) return `${Number(span.toPrecision(3))} s`;
  return `${(span / 60).toFixed(1)} min`;
}
