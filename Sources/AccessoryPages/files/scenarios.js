// Shows a scenario with the robust and the naive client, and the lanes of both runs side by side.
import { h, oneLine, replace, save, setText } from "./dom.js";
import { LaneModel } from "./model.js";
import { LaneView } from "./lanes.js";

export class Scenarios {
  constructor(desk) {
    this.desk = desk;
    const search = h("input", { type: "search", id: "scenario-search", placeholder: "name or words", autocomplete: "off" });
    const select = h("select", { id: "scenario", size: 8 });
    this.select = select;
    const about = h("p", { class: "hint" });
    const show = () => {
      const one = desk.library.scenarios.find((found) => found.scenario === select.value);
      setText(about, one ? `${one.summary}. It takes ${one.seconds} s of virtual time.${one.naive ? ` It breaks ${one.naive}.` : ""}` : "No scenario has these words.");
      this.naive.disabled = !one?.naive;
      this.both.disabled = !one?.naive;
    };
    const list = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = desk.library.scenarios.filter((one) => words.every((word) => `${one.scenario} ${one.summary}`.toLowerCase().includes(word)));
      const before = select.value || "flicker";
      replace(select, found.map((one) => h("option", { value: one.scenario }, oneLine(`${one.scenario}: ${one.summary}`))));
      select.value = found.some((one) => one.scenario === before) ? before : found[0]?.scenario ?? "";
      show();
    };
    const seed = h("input", { type: "number", id: "scenario-seed", min: 0, step: 1, placeholder: "its own" });
    const call = (client) => ["scenario.run", { scenario: select.value, ...(client ? { client } : {}), ...(seed.value ? { seed: Number(seed.value) } : {}) }];
    const finish = (names) => (results) => results.forEach((made, index) => this.watch(made.job, names[index]));
    this.robust = desk.bar.button("Run the robust client", () => [call()], { name: "run-robust", class: "main", done: finish(["robust client"]) });
    this.naive = desk.bar.button("Run the naive client", () => [call("naive")], { name: "run-naive", done: finish(["naive client"]) });
    this.both = desk.bar.button("Run both", () => [call(), call("naive")], { name: "run-both", done: finish(["robust client", "naive client"]) });
    this.app = h("select", { id: "scenario-app" });
    this.live = desk.bar.button("Run against the app", () => [["scenario.play", { scenario: select.value, ...(this.app.value ? { app: this.app.value } : {}), ...(desk.world().id === "main" ? {} : { world: desk.world().id }) }]],
      { name: "run-live", title: "The scenario's accessories appear in this world, in its time", done: ([made]) => this.watch(made.job, "your app") });
    this.stop = desk.bar.button("Stop", () => this.liveJob ? [["job.cancel", { job: this.liveJob }]] : null, { name: "stop-live" });
    this.noApp = h("small", { class: "hint" }, "No app runs in this world: launch one in the Live view, or connect yours.");
    desk.store.addEventListener("lists", () => this.update());
    search.addEventListener("input", list);
    select.addEventListener("change", () => { show(); desk.bar.show([call()]); });
    this.all = h("button", { type: "button", dataset: { action: "run-all" }, on: { click: () => this.runAll() } }, "Run all");
    this.table = h("tbody", {});
    this.sum = h("p", { role: "status" });
    this.results = h("div", { class: "card all-runs", hidden: true }, this.sum, h("div", { class: "scrolls", tabIndex: 0, role: "region", "aria-label": "All scenarios" }, h("table", {}, this.table)));
    this.runs = h("div", { class: "runs" });
    list();
    this.element = h("section", { class: "scenarios", "aria-label": "Scenarios" }, h("h2", { class: "hidden" }, "Scenarios"), h("div", { class: "form card" },
      h("div", { class: "field" }, h("label", { htmlFor: "scenario-search" }, "Search scenarios"), search),
      h("div", { class: "field" }, h("label", { htmlFor: "scenario" }, "Scenario"), select, about),
      h("div", { class: "buttons" }, h("label", { htmlFor: "scenario-seed" }, "Seed"), seed, this.robust, this.naive, this.both, this.all),
      h("div", { class: "buttons" }, h("label", { htmlFor: "scenario-app" }, "App"), this.app, this.live, this.stop, this.noApp)), this.results, this.runs);
  }

  // Updates the list of the world's apps, from which users choose an app for a scenario.
  update() {
    const { apps } = this.desk.world();
    const before = this.app.value;
    if ([...this.app.options].map((one) => one.value).join() !== apps.map((one) => one.app).join()) {
      replace(this.app, apps.map((one) => h("option", { value: one.app }, oneLine(`${one.app} ${one.name}`))));
      if (apps.some((one) => one.app === before)) this.app.value = before;
    }
    this.noApp.hidden = apps.length > 0;
    this.live.disabled = this.app.disabled = apps.length === 0;
    this.liveJob = this.desk.store.jobs.find((one) => one.kind === "scenario" && one.state === "running" && one.title.includes(" with "))?.job;
    this.stop.disabled = !this.liveJob;
  }

  reset() {
    replace(this.runs);
    replace(this.table);
    this.results.hidden = true;
  }

  // Runs every scenario with the robust client, and shows one line for each.
  async runAll() {
    this.all.disabled = true;
    this.results.hidden = false;
    replace(this.table);
    const { scenarios } = this.desk.library;
    const count = { passed: 0, failed: 0 };
    try {
      for (const [index, { scenario }] of scenarios.entries()) {
        setText(this.sum, `${index} of ${scenarios.length} scenarios, ${count.failed} failed`);
        const { job } = await this.desk.server.call("scenario.run", { scenario });
        const state = await this.desk.server.call("job.wait", { job, limit: "10m" });
        count[state.state === "passed" ? "passed" : "failed"] += 1;
        const show = h("button", { type: "button", class: "link", on: { click: () => { this.select.value = scenario; this.watch(job, "robust client"); } } }, scenario);
        this.table.append(h("tr", { dataset: { state: state.state } }, h("td", { class: state.state }, state.state === "passed" ? "✓ passed" : "✗ failed"), h("td", {}, show), h("td", {}, oneLine(state.text ?? ""))));
      }
      setText(this.sum, count.failed === 0 ? `All ${count.passed} scenarios passed.` : `${count.failed} of ${scenarios.length} scenarios failed.`);
    } catch (error) { this.desk.bar.say(error.message, true); } finally { this.all.disabled = false; }
  }

  async watch(job, name) {
    const title = h("h3", {}, `${this.select.value}, ${name}: running`);
    const verdict = h("p", { role: "status" });
    const card = h("article", { class: "card run", dataset: { job } }, title, verdict);
    this.runs.prepend(card);
    while (this.runs.children.length > 8) this.runs.lastChild.remove();
    try {
      const state = await this.desk.server.call("job.wait", { job, limit: "10m" });
      card.dataset.state = state.state;
      title.textContent = `${oneLine(state.title)}, ${name}: ${state.state}`;
      verdict.textContent = state.text ?? "";
      const { report } = await this.desk.server.call("job.report", { job });
      const model = new LaneModel();
      JSON.parse(report).forEach((event, index) => model.take({ method: "event", number: index + 1, ...event }));
      const view = new LaneView({ model, now: () => model.last, label: `Lanes of ${state.title} with the ${name}`, isLive: false });
      const keep = h("button", { type: "button", dataset: { action: "save-trace" }, on: { click: async () => {
        const [made] = await this.desk.bar.run([["trace.get", { job }]]) ?? [];
        if (made) save(`easim-${job}.html`, "text/html", [made.html]);
      } } }, "Save trace");
      card.append(view.element, h("div", { class: "buttons" }, keep));
      card.lanes = view;
      view.all();
    } catch (error) {
      verdict.textContent = error.message;
      verdict.className = "problem";
    }
  }
}
