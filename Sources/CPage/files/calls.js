// Every control of the page sends a request of the control protocol. The bar shows the request that a control sends, as
// JSON-RPC and as a shell command, to copy, and the result of the last one.
import { h, oneLine, plain, replace } from "./dom.js";
import { asCommand, asJSON, Failure } from "./rpc.js";

export class CallBar {
  constructor(server, store) {
    Object.assign(this, { server, store });
    this.history = [];
    const copy = (name, of) => h("button", {
      type: "button", title: `Copy ${name}`, "aria-label": `Copy ${name}`,
      on: { click: () => this.copy(of().textContent) },
    }, "Copy");
    this.json = h("code", { id: "call-json", tabIndex: 0 });
    this.command = h("code", { id: "call-command", tabIndex: 0 });
    this.result = h("p", { id: "call-result", role: "status" });
    this.element = h("section", { class: "calls", "aria-label": "The same by a program" },
      h("div", {}, h("span", { class: "tag" }, "shell"), this.command, copy("the command", () => this.command)),
      h("div", {}, h("span", { class: "tag" }, "JSON-RPC"), this.json, copy("the request", () => this.json)),
      this.result);
    this.show([["accessory.add", { profile: "lawk-view" }]]);
  }

  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.say("Copied.");
    } catch {
      this.say("The browser does not allow copying here: select the text instead.", true);
    }
  }

  show(calls) {
    const filled = calls.map(([method, params]) => [method, typeof params === "function" ? params([]) : params]);
    this.json.textContent = filled.map(([method, params]) => oneLine(asJSON(method, params))).join("\n");
    this.command.textContent = filled.map(([method, params]) => oneLine(asCommand(method, params))).join("\n");
  }

  say(text, isProblem = false) {
    this.result.className = isProblem ? "problem" : "";
    replace(this.result, text);
  }

  // Sends requests, one after another. `params` may be a function of the results so far.
  async run(calls) {
    const results = [];
    this.show(calls);
    try {
      const sent = [];
      for (const [method, params] of calls) {
        const whole = typeof params === "function" ? params(results) : params;
        sent.push([method, whole]);
        this.show(sent);
        results.push(await this.server.call(method, whole));
      }
      const last = results.at(-1);
      const text = JSON.stringify(last);
      this.say(`${calls.at(-1)[0]}: ${text === "{}" ? "done" : plain(text.length > 300 ? `${text.slice(0, 300)}…` : text)}`);
      return results;
    } catch (error) {
      if (error instanceof Failure) {
        const more = [...error.problems.map((one) => one.message ?? JSON.stringify(one)), error.advice].filter(Boolean);
        this.say([error.message, ...more].join(" · "), true);
      } else {
        this.say(String(error.message ?? error), true);
      }
      return null;
    } finally {
      this.store.refresh().catch(() => {});
    }
  }

  // A button that sends what `make` returns, and shows the request when the button gets the focus or the pointer.
  button(label, make, { title, name, before, done, class: kind } = {}) {
    const preview = () => { const calls = make(); if (calls) this.show(calls); };
    const button = h("button", {
      type: "button", title, class: kind, dataset: { action: name ?? label.toLowerCase().replaceAll(" ", "-") },
      on: {
        focus: preview, pointerenter: preview,
        click: async () => {
          const calls = make();
          if (!calls) return;
          before?.();
          const results = await this.run(calls);
          if (results) done?.(results);
        },
      },
    }, label);
    return button;
  }
}
