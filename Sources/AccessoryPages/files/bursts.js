// Shows load tests: throughput and latency during a run, a report when the run has ended, and a history in which users
// can compare two runs.
import { bytes, duration, h, keyed, oneLine, perFrame, plain, replace, save, setText, svg } from "./dom.js";
import { field, values } from "./forms.js";
import { FaultRow } from "./overview.js";

const MOST_POINTS = 2_000;

export class Bursts {
  constructor(desk) {
    this.desk = desk;
    this.series = new Map();
    // The throughput over time of runs that have ended, taken from their reports.
    this.slices = new Map();
    // The latencies over time of runs that have ended, taken from their reports.
    this.maps = new Map();
    // The goals of runs that were started on this page. Charts show goals as lines.
    this.goals = new Map();
    this.compared = [];
    const accessory = h("select", { id: "burst-accessory" });
    this.accessory = accessory;
    const titles = { duration: "time, instead of a number of bursts" };
    this.fields = desk.schemas.fields("burst.run", ["bursts", "duration", "size", "sessions", "inFlight", "rate", "verify", "timeout", "reconnects"])
      .map((one) => field(one, { title: titles[one.key] }));
    this.goal = goalField();
    const make = () => {
      const params = values(this.fields);
      if (this.goal.text()) params.failIf = [this.goal.text()];
      if (params.duration) delete params.bursts;
      if (accessory.value) params.accessory = accessory.value;
      if (desk.world().id !== "main") params.world = desk.world().id;
      return [["burst.run", params]];
    };
    this.rate = chart("Throughput", "kB/s");
    this.latency = chart("Latency of a burst", "ms");
    this.figures = h("dl", { class: "figures" });
    this.faults = h("div", { class: "faults" });
    this.noFaults = h("p", { class: "hint" }, "The accessory has no fault: add one in its card, and change it here while bursts run.");
    this.report = h("pre", { class: "report", tabIndex: 0, "aria-label": "Report" });
    this.forms = h("div", { class: "buttons" });
    this.title = h("h3", {}, "No load test yet");
    this.history = h("tbody", {});
    this.comparison = h("div", { class: "comparison" });
    this.element = h("section", { class: "bursts", "aria-label": "Load tests" }, h("h2", { class: "hidden" }, "Load tests"),
      h("div", { class: "form card" }, h("div", { class: "fields" },
        h("div", { class: "field" }, h("label", { htmlFor: "burst-accessory" }, "accessory"), accessory, h("small", {}, "if empty, the first that connects")),
        this.fields.map((one) => one.element), this.goal.element),
      h("div", { class: "buttons" }, desk.bar.button("Start", () => {
        if ([...this.fields, this.goal].every((one) => one.isValid)) return make();
        this.element.querySelector(":invalid")?.focus();
        return null;
      }, {
        name: "start-burst", class: "main", done: ([made]) => { this.goals.set(made.job, this.goal.line()); this.watch(made.job); },
      }), this.stop = desk.bar.button("Stop", () => this.job ? [["job.cancel", { job: this.job }]] : null, { name: "stop-burst" }))),
      h("div", { class: "card" }, this.title, this.figures, h("div", { class: "charts" }, this.rate.element, this.latency.element),
        h("h4", {}, "Faults of the accessory"), this.noFaults, this.faults, this.forms, this.report),
      h("div", { class: "card" }, h("h3", {}, "History"),
        h("div", { class: "scrolls", tabIndex: 0, role: "region", "aria-label": "History of load tests" }, h("table", {}, h("thead", {}, h("tr", {}, ["compare", "run", "what", "state", "bursts", "kB/s", "p50", "p95", "p99", "longest", "errors"].map((name) => h("th", { scope: "col" }, name)))), this.history)),
        this.comparison));
    desk.store.addEventListener("lists", () => this.update());
    desk.store.addEventListener("jobs", () => this.update());
    this.request = perFrame(() => this.draw());
    setInterval(() => this.poll(), 250);
  }

  // Forgets all runs, because the page has connected to another server.
  reset() {
    for (const known of [this.series, this.slices, this.maps, this.goals]) known.clear();
    this.reported?.clear();
    this.compared = [];
    this.job = undefined;
    for (const part of [this.report, this.forms]) replace(part);
    this.update();
  }

  watch(job) {
    this.job = job;
    this.series.set(job, this.series.get(job) ?? []);
    replace(this.report);
    replace(this.forms);
    this.poll();
  }

  get jobs() { return this.desk.store.jobs.filter((job) => job.kind === "burst"); }

  async poll() {
    if (this.desk.store.state !== "live" || this.isPolling) return;
    const running = this.jobs.filter((job) => job.state === "running");
    const ids = new Set(running.map((job) => job.job));
    if (this.job && !this.reported?.has(this.job)) ids.add(this.job);
    if (ids.size === 0) return;
    this.isPolling = true;
    try {
      for (const state of await this.desk.server.batch([...ids].map((job) => ["job.state", { job }]))) {
        if (state.job) this.take(state);
      }
    } catch { /* The connection reports the failure. */ } finally { this.isPolling = false; }
    this.request();
  }

  take(state) {
    const known = this.desk.store.jobs.findIndex((job) => job.job === state.job);
    if (known >= 0) this.desk.store.jobs[known] = state; else this.desk.store.jobs.push(state);
    const points = this.series.get(state.job) ?? [];
    this.series.set(state.job, points);
    const figures = state.figures;
    const last = points.at(-1);
    if (figures && (!last || figures.seconds > last.seconds)) {
      const span = figures.seconds - (last?.seconds ?? 0);
      points.push({ ...figures, rate: span > 0 ? (figures.bytes - (last?.bytes ?? 0)) / span : 0, newErrors: figures.errors - (last?.errors ?? 0), newReconnections: figures.reconnections - (last?.reconnections ?? 0) });
      // Drops every second point if there are too many.
      if (points.length > MOST_POINTS) this.series.set(state.job, points.filter((_, index) => index % 2 === 1));
    }
    if (state.state !== "running" && state.job === this.job && !this.reported?.has(state.job)) this.showReport(state);
  }

  async showReport(state) {
    this.reported = (this.reported ?? new Set()).add(state.job);
    const job = state.job;
    try {
      const [text, json] = await this.desk.server.batch([["job.report", { job, form: "text" }], ["job.report", { job }]]);
      if (this.job !== job) return;
      if (text instanceof Error) throw text;
      this.report.textContent = plain(text.report);
      const { series, latencyMap } = JSON.parse(json.report);
      const slice = series.sliceNanoseconds / 1e9;
      this.slices.set(job, series.slices.map(([, count, errors], index) => ({ seconds: (index + 0.5) * slice, rate: count / slice, errors })));
      this.maps.set(job, latencies(latencyMap));
      while (this.maps.size > 100) this.maps.delete(this.maps.keys().next().value);
      while (this.slices.size > 100) this.slices.delete(this.slices.keys().next().value);
      this.request();
      const download = (form, type) => h("button", {
        type: "button", dataset: { action: `report-${form}` }, on: {
          click: async () => {
            const results = await this.desk.bar.run([["job.report", { job, form }]]);
            if (results) save(`easim-${job}.${form}`, type, [results[0].report]);
          },
        },
      }, `Save ${form}`);
      replace(this.forms, download("json", "application/json"), download("html", "text/html"), download("xml", "application/xml"), download("text", "text/plain"));
    } catch (error) { this.desk.bar.say(error.message, true); }
  }

  update() {
    const world = this.desk.world();
    const before = this.accessory.value;
    const wanted = ["", ...world.accessories.map((one) => one.accessory)];
    if ([...this.accessory.options].map((one) => one.value).join() !== wanted.join()) {
      replace(this.accessory, wanted.map((id) => h("option", { value: id }, id ? oneLine(`${id} ${world.accessories.find((one) => one.accessory === id).name}`) : "")));
      this.accessory.value = wanted.includes(before) ? before : "";
    }
    if (!this.job && this.jobs.length > 0) this.watch(this.jobs.at(-1).job);
    const faults = world.accessories.filter((one) => !this.accessory.value || one.accessory === this.accessory.value)
      .flatMap((one) => one.faults.length ? one.states ?? [] : []);
    this.noFaults.hidden = faults.length > 0;
    keyed(this.faults, faults, (fault) => fault.fault, () => new FaultRow(this.desk));
    keyed(this.history, [...this.jobs].reverse(), (job) => job.job, (job) => this.row(job));
    this.showComparison();
    this.request();
  }

  row(job) {
    const box = h("input", { type: "checkbox", "aria-label": `Compare ${job.job}`, on: { change: () => this.compare(job.job, box.checked) } });
    const cells = Array.from({ length: 9 }, () => h("td", {}));
    const link = h("button", { type: "button", class: "link", on: { click: () => { this.reported?.delete(job.job); this.watch(job.job); this.request(); } } }, job.job);
    const element = h("tr", { dataset: { job: job.job } }, h("td", {}, box), h("td", {}, link), cells);
    return {
      element,
      update(state) {
        const f = state.figures;
        const texts = f ? [state.title, state.state, f.bursts, kbps(f), duration(f.latency.p50), duration(f.latency.p95), duration(f.latency.p99), duration(f.latency.maximum), f.errors] : [state.title, state.state];
        cells.forEach((cell, index) => setText(cell, texts[index] ?? ""));
      },
    };
  }

  compare(job, isChosen) {
    this.compared = this.compared.filter((one) => one !== job);
    if (isChosen) this.compared.push(job);
    while (this.compared.length > 2) {
      const [oldest] = this.compared.splice(0, 1);
      const box = this.history.querySelector(`[data-job="${oldest}"] input`);
      if (box) box.checked = false;
    }
    this.showComparison();
  }

  // Whichever of the two runs was selected first, the earlier one is the baseline.
  showComparison() {
    const [a, b] = this.jobs.filter((one) => this.compared.includes(one.job));
    if (!b) return replace(this.comparison);
    if (!a.figures || !b.figures) return replace(this.comparison, h("p", { class: "hint" }, "One of the two has no figures."));
    const lines = [
      ["bytes per second", (f) => f.seconds > 0 ? f.bytes / f.seconds : 0, (x) => `${bytes(Math.round(x))}/s`, true],
      ["p50", (f) => f.latency.p50, duration], ["p95", (f) => f.latency.p95, duration], ["p99", (f) => f.latency.p99, duration],
      ["longest", (f) => f.latency.maximum, duration], ["errors", (f) => f.errors, String],
    ];
    const name = (one) => `${one.job}: ${one.title}, ${one.state}`;
    replace(this.comparison, h("h4", {}, `${b.job} compared with ${a.job}`), h("table", {},
      h("thead", {}, h("tr", {}, ["", `${name(a)} (base)`, name(b), `change from ${a.job}`].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, lines.map(([name, of, text, moreIsBetter]) => {
        const [x, y] = [of(a.figures), of(b.figures)];
        return h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, text(x)), h("td", {}, text(y)),
          h("td", { class: y === x ? "" : (y > x) === Boolean(moreIsBetter) ? "better" : "worse" },
            x > 0 ? `${y >= x ? "+" : "−"}${Math.abs((y / x - 1) * 100).toFixed(1)} %` : y === x ? "0 %" : `+${text(y)}`));
      }))));
  }

  draw() {
    const job = this.jobs.find((one) => one.job === this.job);
    const part = job && job.fraction < 1 ? ` ${job.state === "running" ? "" : "after "}${(job.fraction * 100).toFixed(0)} %` : "";
    setText(this.title, job ? `${job.job}: ${job.title}, ${job.state}${part}${job.text ? `: ${job.text}` : ""}` : "No load test yet");
    this.stop.disabled = job?.state !== "running";
    const f = job?.figures;
    replace(this.figures, f ? [["bursts", f.bursts], ["throughput", kbps(f) + " kB/s"], ["p50", duration(f.latency.p50)], ["p95", duration(f.latency.p95)],
      ["p99", duration(f.latency.p99)], ["longest", duration(f.latency.maximum)], ["errors", f.errors], ["reconnections", f.reconnections]].map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))) : []);
    if (!this.element.isConnected || this.element.hidden) return;
    const points = this.series.get(this.job) ?? [];
    const errors = points.filter((point) => point.newErrors > 0).map((point) => point.seconds);
    const breaks = points.filter((point) => point.newReconnections > 0).map((point) => point.seconds);
    const slices = this.slices.get(this.job);
    const rates = slices?.length > 1 ? slices : points;
    const failed = slices?.length > 1 ? slices.filter((slice) => slice.errors > 0).map((slice) => slice.seconds) : errors;
    const goal = this.goals.get(this.job);
    this.rate.draw([{ name: "throughput", values: rates.map((point) => [point.seconds, point.rate / 1000]) }], failed, breaks, goal?.kbps ? { ...goal, at: goal.kbps } : null);
    // The report of a short run contains more points than the page has polled.
    const map = this.maps.get(this.job);
    const times = map?.length > points.length ? map : points;
    this.latency.draw(["p50", "p95", "p99"].map((name) => ({ name, values: times.map((point) => [point.seconds, point.latency[name] * 1000]) })), times === map ? failed : errors, breaks, goal?.ms ? { ...goal, at: goal.ms } : null);
  }
}

// The goals that users can choose. A goal becomes a --fail-if condition and a line in the charts.
const GOALS = [["", "none"], ["p50>", "p50 at most"], ["p99>", "p99 at most"], ["max>", "the longest at most"], ["rate<", "throughput at least"], ["errors>", "errors at most"]];

function goalField() {
  const kind = h("select", { id: "goal-kind", on: { change: () => show() } }, GOALS.map(([value, text]) => h("option", { value }, text)));
  const input = h("input", { type: "text", id: "goal-value", "aria-label": "Value of the goal", autocomplete: "off", spellcheck: false, disabled: true, on: { input: () => judge() } });
  const problem = h("small", { class: "problem", role: "alert", hidden: true });
  const forms = { ">": [/^[0-9.]+(us|ms|s)$/, "50ms", "a time such as 50ms"], "<": [/^[0-9.]+([kM]?B)?\/s$/, "100kB/s", "a rate such as 100kB/s, or 20/s for bursts"], errors: [/^[0-9.]+%?$/, "0", "a number such as 0, or 0.1%"] };
  const form = () => forms[kind.value === "errors>" ? "errors" : kind.value.at(-1)];
  const judge = () => {
    const wrong = kind.value !== "" && !form()[0].test(input.value.trim());
    input.setCustomValidity(wrong ? `write ${form()[2]}` : "");
    problem.hidden = !wrong;
    problem.textContent = input.validationMessage;
  };
  const show = () => {
    input.disabled = kind.value === "";
    input.value = input.disabled ? "" : form()[1];
    judge();
  };
  const value = () => input.value.trim();
  return {
    element: h("div", { class: "field" }, h("label", { htmlFor: "goal-kind" }, "goal"), kind, input, problem, h("small", {}, "the test fails if it is missed")),
    get isValid() { return input.validity.valid; },
    text: () => kind.value === "" ? "" : `${kind.value}${value()}`,
    line() {
      if (kind.value === "") return null;
      const number = parseFloat(value());
      const text = `${kind.selectedOptions[0].textContent} ${value()}`;
      if (kind.value === "rate<") return value().includes("B") ? { text, kbps: number * (value().includes("MB") ? 1e3 : value().includes("kB") ? 1 : 1e-3) } : null;
      return kind.value === "errors>" ? null : { text, ms: number * (value().endsWith("ms") ? 1 : value().endsWith("us") ? 1e-3 : 1e3) };
    },
  };
}

function kbps(figures) { return figures.seconds > 0 ? (figures.bytes / figures.seconds / 1000).toFixed(1) : "0.0"; }

// Returns the latencies in each time slice of a report's latency map. Each latency is assumed to lie in the middle of
// its row.
function latencies(map) {
  const columns = new Map();
  for (const [column, row, count] of map.cells) columns.set(column, [...(columns.get(column) ?? []), [row, count]]);
  const lowest = (row) => (4 + row % 4) * 2 ** (Math.floor(row / 4) + 8) / 1e9;
  return [...columns].sort(([a], [b]) => a - b).map(([column, rows]) => {
    rows.sort(([a], [b]) => a - b);
    const total = rows.reduce((sum, [, count]) => sum + count, 0);
    const at = (part) => {
      let seen = 0;
      const [row] = rows.find(([, count]) => (seen += count) >= part * total) ?? rows.at(-1);
      return (lowest(row) + lowest(row + 1)) / 2;
    };
    return { seconds: (column + 0.5) * map.sliceNanoseconds / 1e9, latency: { p50: at(0.5), p95: at(0.95), p99: at(0.99) } };
  });
}

// A line chart that marks errors. The horizontal axis shows seconds.
function chart(title, unit) {
  const picture = svg("svg", { class: "chart", viewBox: "0 0 480 200", role: "img", "aria-label": `${title} in ${unit} over time` });
  const legend = h("p", { class: "legend" });
  const left = 56;
  const [width, height, top, bottom] = [480, 200, 10, 28];
  return {
    element: h("figure", {}, h("figcaption", {}, `${title}, ${unit}`), picture, legend),
    draw(lines, errors, breaks, goal) {
      const all = lines.flatMap((line) => line.values);
      if (all.length === 0) {
        replace(legend);
        return replace(picture, svg("text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "No figures yet"));
      }
      const until = Math.max(0.001, ...all.map(([x]) => x));
      const highest = nice(Math.max(1e-6, ...all.map(([, y]) => y), goal?.at ?? 0));
      const x = (t) => left + t / until * (width - left - 8);
      const y = (value) => height - bottom - value / highest * (height - top - bottom);
      const parts = [];
      for (let step = 0; step <= 4; step += 1) {
        const value = highest * step / 4;
        parts.push(svg("line", { class: "grid", x1: left, x2: width - 8, y1: y(value), y2: y(value) }),
          svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, short(value)));
        const t = until * step / 4;
        if (step % 2 === 0) parts.push(svg("text", { x: x(t), y: height - 8, "text-anchor": step === 4 ? "end" : step === 0 ? "start" : "middle" }, `${short(t)} s`));
      }
      lines.forEach((line, index) => {
        const points = thin(line.values, 480).map(([t, value]) => `${x(t).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
        parts.push(svg("polyline", { class: `line line${index}`, points }));
        if (line.values.length === 1) parts.push(svg("circle", { class: `dot line${index}`, cx: x(line.values[0][0]), cy: y(line.values[0][1]), r: 3 }));
      });
      for (const t of errors) parts.push(svg("path", { class: "error", d: `M${x(t)} ${height - bottom - 6} l4 8 h-8 z` }, svg("title", {}, `error at ${t.toFixed(2)} s`)));
      for (const t of breaks) parts.push(svg("line", { class: "break", x1: x(t), x2: x(t), y1: top, y2: height - bottom }, svg("title", {}, `reconnection before ${t.toFixed(2)} s`)));
      if (goal) {
        parts.push(svg("line", { class: "goal", x1: left, x2: width - 8, y1: y(goal.at), y2: y(goal.at) }, svg("title", {}, goal.text)),
          svg("text", { x: width - 10, y: y(goal.at) + (y(goal.at) < top + 16 ? 13 : -4), "text-anchor": "end" }, goal.text));
      }
      replace(picture, parts);
      replace(legend, lines.map((line, index) => h("span", { class: `key line${index}` }, line.name)), errors.length ? h("span", { class: "key error" }, "error") : null,
        breaks.length ? h("span", { class: "key warning" }, "reconnection") : null);
    },
  };
}

function thin(values, most) {
  if (values.length <= most) return values;
  const step = values.length / most;
  return Array.from({ length: most }, (_, index) => values[Math.floor(index * step)]);
}

function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].map((factor) => factor * power).find((one) => one >= value) ?? value;
}

function short(value) {
  if (value === 0) return "0";
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (value >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  return String(Number(value.toPrecision(3)));
}
