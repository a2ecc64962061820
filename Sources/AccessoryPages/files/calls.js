// Sends the requests of all buttons and forms on the page. Each result is shown near the control that was used, and
// users can copy the last request as a shell command.
import { h, oneLine } from "./dom.js";
import { asCommand, asJSON, Failure } from "./rpc.js";
import { toast } from "./toast.js";

export class CallBar {
  constructor(server, store) {
    Object.assign(this, { server, store });
    this.json = h("code", { id: "call-json", hidden: true });
    this.command = h("code", { id: "call-command", tabIndex: 0 });
    this.element = h("section", { class: "calls", "aria-label": "The same by a program" },
      h("button", { type: "button", title: "Copy the request of the control that was used last, as a command", dataset: { action: "copy-command" }, on: { click: () => this.copy(this.command.textContent) } }, "Copy as command"),
      this.command, this.json);
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

  say(text, isProblem = false) { toast(text, isProblem); }

  // Sends requests one at a time. `params` can be a function that receives the results so far.
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
      this.say(said(calls.at(-1)[0], results.at(-1)));
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

  // Creates a button that sends the request returned by `make`. While the button is focused or the pointer is over it,
  // the page shows the request that the button would send.
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

// Describes what a request did.
function said(method, result) {
  if (typeof result?.plugged === "boolean") return `${oneLine(result.name ?? result.accessory)} is ${result.plugged ? "" : "not "}plugged in.`;
  const made = ["accessory", "app", "session", "fault", "host", "job", "world"].map((key) => result?.[key]).filter((id) => typeof id === "string");
  const ids = result?.accessories ?? result?.faults;
  const names = Array.isArray(ids) && ids.every((id) => typeof id === "string") ? ids : made.slice(0, 1);
  const [what, verb] = method.split(".");
  const deed = verb.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return `Done: ${what} ${deed}${names.length ? `, ${names.join(", ")}` : ""}`;
}
