// Paints the lanes of a LaneModel on a canvas. `drawn` contains the painted shapes, which are used to find the shape
// under the pointer and to compare the picture with the events.
import { duration, oneLine, seconds } from "./dom.js";

export const AXIS = 22;
export const BAR = 14;
export const GAP = 8;
export const PHASE = 15;

export class LanePainter {
  // `frame` has the properties left, width, height, from, right and until, and the functions place and timeAt.
  constructor(pen, colors, frame) {
    Object.assign(this, frame);
    Object.assign(this, { pen, colors, drawn: [] });
  }

  lane(row, model) {
    const { pen, colors, left, width } = this;
    pen.strokeStyle = colors.line;
    pen.beginPath();
    pen.moveTo(left, row.top + BAR + 0.5);
    pen.lineTo(width, row.top + BAR + 0.5);
    pen.stroke();
    for (const shade of model.shades) if (shade.lane === row.lane.id) this.shade(row, shade);
    this.bars(row);
    if (row.hasPhases) this.phases(row, model.phases);
    if (row.more > 0) this.more(row);
    this.marks(row);
  }

  bars({ lane, top, hasSessions, rowHeight, most, isCompact }) {
    const { pen, colors, left, width } = this;
    const covered = [];
    for (const bar of lane.bars) {
      const t1 = bar.t1 ?? this.until;
      if (t1 < this.from || bar.t0 > this.right || (!isCompact && bar.row >= most)) continue;
      const x = Math.max(this.place(bar.t0), left - 2);
      const w = Math.max(Math.min(this.place(t1), width + 2) - x, 1.5);
      const isSession = bar.kind === "session";
      const isThin = bar.kind === "link";
      const rowTop = isCompact ? top : top + bar.row * rowHeight;
      const y = isSession && hasSessions ? rowTop + (isCompact ? BAR - 5 : BAR + 3) : isThin ? rowTop + 4 : rowTop;
      const height = isCompact && isSession ? 5 : isThin ? BAR - 8 : BAR;
      // If several bars lie within a pixel, draws only one, because thousands of bars there would look like a single
      // bar anyway.
      const track = (isCompact ? 0 : bar.row * 4) + (isSession ? 1 : isThin ? 2 : 0);
      if (w < 3 && x + w <= (covered[track] ?? -1) + 0.7) continue;
      covered[track] = Math.max(covered[track] ?? -1, x + w);
      pen.fillStyle = colors[bar.kind] ?? colors.whole;
      if (bar.kind === "bare" && w >= 5) this.hatch(x, y, w, height); else pen.fillRect(x, y, w, height);
      this.drawn.push({ ...bar, t1: bar.t1, x, y, w, h: height, mark: false });
      let labelled = 0;
      if (w > 70 && !isThin && bar.kind !== "plug" && !(isCompact && (isSession || hasSessions))) {
        pen.fillStyle = bar.kind === "bare" ? colors.text : colors.card;
        const text = cut(pen, oneLine(barText(bar)), w - 8);
        pen.fillText(text, x + 4, y + height / 2 + 0.5);
        labelled = pen.measureText(text).width + 10;
      }
      if (isSession && bar.record?.flow.length > 1) this.flow(bar.record.flow, x + labelled, y, w - labelled, height);
    }
  }

  // Paints the data rate over time as a line inside a session's bar.
  flow(flow, x, y, w, h) {
    if (w < 12) return;
    const { pen, colors } = this;
    const step = 2;
    const rates = [];
    let before = totalAt(flow, this.timeAt(x));
    for (let at = x + step; at <= x + w; at += step) {
      const total = totalAt(flow, this.timeAt(at));
      rates.push(total - before);
      before = total;
    }
    const most = Math.max(...rates);
    if (most <= 0) return;
    pen.strokeStyle = colors.card;
    pen.lineWidth = 1.5;
    pen.beginPath();
    rates.forEach((rate, index) => pen.lineTo(x + index * step, y + h - 4 - rate / most * Math.max(1, h - 7)));
    pen.stroke();
    pen.lineWidth = 1;
  }

  shade({ top, height }, shade) {
    const t1 = shade.t1 ?? this.until;
    if (t1 < this.from || shade.t0 > this.right) return;
    const { pen, colors, left, width } = this;
    const x = Math.max(this.place(shade.t0), left);
    const w = Math.max(Math.min(this.place(t1), width) - x, 1.5);
    pen.fillStyle = colors.fault;
    pen.globalAlpha = 0.16;
    pen.fillRect(x, top - 4, w, height);
    pen.globalAlpha = 1;
    pen.fillRect(x, top - 4, w, 2);
    this.drawn.push({ ...shade, kind: "shade", text: `fault ${shade.text}`, x, y: top - 4, w, h: height, mark: false });
  }

  // Writes the names of phases below the bars if there is enough room.
  phases({ lane, top, height }, phases) {
    const { pen, colors, left, width } = this;
    const y = top + height - PHASE;
    let end = -1;
    pen.font = "11px system-ui, sans-serif";
    for (const phase of phases) {
      if (phase.lane !== lane.id || phase.t1 < this.from || phase.t0 > this.right) continue;
      const x = Math.max(this.place(phase.t0), left);
      const w = Math.max(Math.min(this.place(phase.t1), width) - x, 1.5);
      const wide = pen.measureText(phase.text).width;
      pen.strokeStyle = pen.fillStyle = colors.faint;
      pen.beginPath();
      pen.moveTo(x + 0.5, y - 2);
      pen.lineTo(x + 0.5, y + 2);
      pen.lineTo(x + w - 0.5, y + 2);
      pen.lineTo(x + w - 0.5, y - 2);
      pen.stroke();
      this.drawn.push({ ...phase, kind: "phase", x, y: y - 2, w, h: 5, mark: false });
      const from = Math.min(x, width - wide - 4);
      if (from > end) {
        pen.fillText(phase.text, from, y + 9);
        end = from + wide + 8;
      }
    }
    pen.font = "12px system-ui, sans-serif";
  }

  more({ lane, top, most, more, rowHeight }) {
    const { pen, colors, left } = this;
    const text = `+${more} more`;
    const y = top + most * rowHeight;
    pen.fillStyle = colors.faint;
    pen.fillText(text, left + 4, y + BAR / 2);
    this.drawn.push({ lane: lane.id, kind: "more", text: `${text} than fit`, t0: this.from, t1: this.right, x: left + 4, y, w: 60, h: BAR, mark: true });
  }

  marks({ lane, top }) {
    let last = -100;
    for (const mark of lane.marks) {
      if (mark.t < this.from || mark.t > this.right) continue;
      const x = this.place(mark.t);
      if (x - last < 0.5 && ["info", "hit"].includes(mark.kind)) continue;
      last = x;
      this.markShape(mark.kind, x, top);
      this.drawn.push({ ...mark, t0: mark.t, t1: mark.t, x, y: top - 4, w: 0, h: BAR + 4, mark: true });
    }
  }

  hatch(x, y, w, height) {
    const { pen, colors } = this;
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

  // Different kinds of marks differ in shape as well as in color.
  markShape(kind, x, top) {
    const { pen, colors } = this;
    pen.fillStyle = colors[kind] ?? colors.info;
    pen.beginPath();
    if (kind === "fault") {
      pen.moveTo(x, top - 5);
      pen.lineTo(x + 5, top + 4);
      pen.lineTo(x - 5, top + 4);
    } else if (kind === "hit") {
      // A cross marks a packet that was lost or changed.
      pen.strokeStyle = colors.hit;
      pen.lineWidth = 2;
      pen.moveTo(x - 4, top - 4);
      pen.lineTo(x + 4, top + 4);
      pen.moveTo(x + 4, top - 4);
      pen.lineTo(x - 4, top + 4);
      pen.stroke();
      pen.lineWidth = 1;
      return;
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

  axis() {
    const { pen, colors, left, width, height, from, right } = this;
    const span = right - from;
    const raw = span / Math.max(2, (width - left) / 90);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= raw) ?? raw;
    const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step))));
    pen.strokeStyle = colors.line;
    pen.fillStyle = colors.faint;
    pen.beginPath();
    for (let t = Math.ceil(from / step) * step; t <= right; t += step) {
      const x = Math.round(this.place(t)) + 0.5;
      pen.moveTo(x, AXIS - 4);
      pen.lineTo(x, height);
      const label = seconds(Math.abs(t) < step / 2 ? 0 : t, digits);
      if (t >= -step / 2 && x + pen.measureText(label).width + 4 < width) pen.fillText(label, x + 3, AXIS / 2);
    }
    pen.stroke();
  }

  // Paints the selected time range, and marks the time of the entry that is selected in a list.
  selection(range, cursor) {
    const { pen, colors, left, width, height } = this;
    if (range) {
      const x = Math.max(this.place(range.t0), left);
      const w = Math.min(this.place(range.t1), width) - x;
      if (w > 0) {
        pen.fillStyle = colors.focus;
        pen.globalAlpha = 0.13;
        pen.fillRect(x, 0, w, height);
        pen.globalAlpha = 1;
        pen.fillRect(x, 0, w, 2);
        const text = duration(range.t1 - range.t0);
        if (w > pen.measureText(text).width + 8) pen.fillText(text, x + 4, AXIS + 2);
      }
    }
    if (cursor !== null && cursor >= this.from && cursor <= this.right) {
      pen.fillStyle = colors.focus;
      pen.fillRect(this.place(cursor) - 0.5, AXIS - 6, 1.5, height);
    }
  }

  ring(chosen) {
    const shape = this.drawn.find((one) => same(one, chosen));
    if (!shape) return;
    const { pen, colors } = this;
    pen.strokeStyle = colors.focus;
    pen.lineWidth = 2;
    pen.strokeRect(shape.x - (shape.mark ? 6 : 1), shape.y - 2, (shape.mark ? 12 : shape.w + 2), shape.h + 4);
    pen.lineWidth = 1;
  }
}

// Returns true if two shapes that were drawn at different times represent the same bar or mark.
export function same(a, b) {
  return Boolean(a && b) && a.number === b.number && a.packet === b.packet && a.lane === b.lane && a.mark === b.mark && a.t0 === b.t0;
}

function barText(bar) {
  if (bar.kind === "session") return bar.text.replace(/^session \S+ /, "");
  if (bar.kind === "bare") return "no protocols";
  return bar.protocols?.join(", ") || bar.text;
}

// Returns how many bytes had been transferred by a given time. `flow` contains pairs of a time and the total at that
// time.
function totalAt(flow, t) {
  let low = 0;
  let high = flow.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (flow[middle][0] <= t) low = middle + 1; else high = middle;
  }
  return low > 0 ? flow[low - 1][1] : 0;
}

export function cut(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle; else high = middle - 1;
  }
  return low > 0 ? `${text.slice(0, low)}…` : "";
}
