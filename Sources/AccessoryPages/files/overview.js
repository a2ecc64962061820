// Shows accessories, the device and apps as cards. Lines between the cards represent sessions.
import { bytes, h, keyed, perFrame, replace, setText, svg, oneLine } from "./dom.js";
import { PHASES } from "./store.js";
import { asWords, chooser, fromOptionText, optionText, sliderScale } from "./forms.js";
import { SessionBox, accessoryOf } from "./sessions.js";

const MOST_FLOWS = 6;
// The values for parameters that have no default, so that a new fault takes effect immediately.
const FIRST = { Duration: "50ms", Chance: "10%" };

export class Overview {
  constructor(desk) {
    this.desk = desk;
    this.accessories = h("div", { class: "cards", id: "accessories" });
    this.device = h("div", { class: "card device" },
      h("h3", {}, "Apple device"), this.flows = h("ul", { class: "plain flows", "aria-label": "Bytes of sessions" }), this.deviceText = h("p", {}), this.hosts = h("ul", { class: "plain" }), this.proxies = h("ul", { class: "plain" }));
    this.apps = h("div", { class: "cards", id: "apps" });
    this.lines = svg("svg", { class: "lines", "aria-hidden": "true" });
    this.noAccessory = h("p", { class: "hint" }, "No accessory. Add one with the form above.");
    this.noApp = h("p", { class: "hint" }, "No app. Launch one with the form above.");
    this.element = h("section", { class: "overview", "aria-label": "Overview" }, this.lines,
      h("div", { class: "column" }, h("h2", {}, "Accessories"), this.noAccessory, this.accessories),
      h("div", { class: "column" }, h("h2", {}, "Device"), this.device),
      h("div", { class: "column" }, h("h2", {}, "Apps"), this.noApp, this.apps));
    this.request = perFrame(() => this.update());
    desk.store.addEventListener("lists", this.request);
    desk.store.addEventListener("notice", this.request);
    new ResizeObserver(() => this.drawLines()).observe(this.element);
    // If there are many cards, the box that contains them scrolls, and the lines must be redrawn.
    const lines = perFrame(() => this.drawLines());
    for (const box of [this.accessories, this.apps]) box.addEventListener("scroll", lines);
  }

  update() {
    const world = this.desk.world();
    this.noAccessory.hidden = world.accessories.length > 0;
    this.noApp.hidden = world.apps.length > 0;
    keyed(this.accessories, world.accessories, (one) => one.accessory, () => new AccessoryCard(this.desk));
    keyed(this.apps, world.apps, (one) => one.app, () => new AppCard(this.desk));
    const published = [...world.phases.values()].filter((one) => one.reached.has("published")).length;
    setText(this.deviceText, `${published} accessor${published === 1 ? "y" : "ies"} published, ${world.apps.length} app${world.apps.length === 1 ? "" : "s"}`);
    keyed(this.hosts, world.hosts, (one) => one.host, () => new HostRow(this.desk));
    keyed(this.proxies, world.proxies, (one) => one.proxy, () => new ProxyRow(this.desk));
    this.drawLines();
  }

  // Draws each session as a line from its accessory, through the device, to its app.
  drawLines() {
    const world = this.desk.world();
    const box = this.element.getBoundingClientRect();
    const parts = [];
    this.labels = [];
    const middle = this.device.getBoundingClientRect();
    let count = 0;
    for (const app of world.apps) {
      const to = seen(this.apps, this.apps.keyed?.get(app.app)?.element);
      if (!to || to.left <= middle.right) continue;
      for (const session of app.states ?? []) {
        const accessory = accessoryOf(world, session);
        const from = seen(this.accessories, this.accessories.keyed?.get(accessory?.accessory)?.element);
        if (!from) continue;
        const y1 = from.top + 24 + 6 * count - box.top;
        const y2 = to.top + 24 + 6 * count - box.top;
        const y = middle.top + 10 + 8 * count - box.top;
        const points = [[from.right - box.left, y1], [middle.left - box.left, y], [middle.right - box.left, y], [to.left - box.left, y2]];
        const total = `${bytes(session.bytesRead + session.bytesWritten)}${session.rate > 0 ? `, ${bytes(Math.round(session.rate))}/s` : ""}`;
        if (count < MOST_FLOWS) this.labels.push(h("li", {}, `${session.session}: ${total}`));
        parts.push(svg("polyline", { points: points.map((point) => point.join(",")).join(" "), "data-session": session.session, "data-accessory": accessory.accessory }));
        count += 1;
      }
    }
    if (count > MOST_FLOWS) this.labels.push(h("li", {}, `+${count - MOST_FLOWS} more`));
    replace(this.lines, parts);
    replace(this.flows, this.labels);
  }
}

// Returns the position of a card if the card is visible in the box that contains it.
function seen(box, card) {
  if (!card) return null;
  const [outer, inner] = [box.getBoundingClientRect(), card.getBoundingClientRect()];
  return inner.top + 24 < outer.top || inner.top + 24 > outer.bottom ? null : inner;
}

class HostRow {
  constructor(desk) {
    this.desk = desk;
    this.text = h("span", {});
    this.element = h("li", {}, this.text, " ", desk.bar.button("Remove host", () => [["host.remove", { host: this.state.host }]]));
  }

  update(state) {
    this.state = state;
    setText(this.text, `${state.host}: ${state.address ?? ""}`);
  }
}

class ProxyRow {
  constructor(desk) {
    this.text = h("span", {});
    this.element = h("li", {}, this.text, " ", desk.bar.button("Remove proxy", () => [["proxy.remove", { proxy: this.state.proxy }]]));
  }

  update(state) {
    this.state = state;
    const link = state.hasDevice ? "connected" : state.hasAccessory ? "waits for a device" : "waits for the accessory";
    setText(this.text, `${state.proxy}: ${state.device} ⇄ ${state.accessory}, ${link}${state.faults.map((one) => `, ${one}`).join("")}`);
  }
}

class AccessoryCard {
  constructor(desk) {
    this.desk = desk;
    const one = () => ({ accessory: this.state.accessory });
    this.title = h("h3", {});
    this.facts = h("p", { class: "facts" });
    this.phases = h("ol", { class: "phases", "aria-label": "State" }, PHASES.map((phase) => h("li", { dataset: { phase } }, phase)));
    this.problem = h("p", { class: "problem", hidden: true });
    const button = (label, make, options) => desk.bar.button(label, make, options);
    this.buttons = h("div", { class: "buttons" },
      this.plug = button("Plug", () => [["accessory.plug", one()]]),
      this.unplug = button("Unplug", () => [["accessory.unplug", one()]], { title: "Bytes on the way are still delivered" }),
      this.pull = button("Pull", () => [["accessory.pull", one()]], { title: "Bytes on the way are lost" }),
      button("Flicker", () => this.flicker(), { title: "Plug in as real accessories do: without protocols, gone, back with all" }));
    this.more = h("div", { class: "buttons" },
      button("Pull unnoticed", () => [["accessory.pull", { ...one(), unnoticed: true }]], { title: "The device goes on as if it were there" }),
      button("Restart", () => [["accessory.restart", one()]], { title: "It disappears, and comes back after 2 s" }),
      button("Reset link", () => [["accessory.resetLink", one()]]),
      button("Close sessions", () => [["accessory.closeSessions", one()]]),
      button("Forget sessions", () => [["accessory.forgetSessions", one()]]),
      button("Remove", () => [["accessory.remove", one()]], { name: "remove-accessory" }));
    this.faults = h("div", { class: "faults" });
    this.addFault = this.faultMenu();
    this.addQuirk = chooser(desk.schemas.kinds("Quirk"), { title: "quirk" });
    this.element = h("article", { class: "card accessory" }, this.title, this.facts, this.phases, this.problem, this.buttons,
      h("details", {}, h("summary", {}, this.faultCount = h("span", {}, "Faults")), this.faults, this.addFault),
      h("details", {}, h("summary", {}, "Quirks"), this.quirks = h("div", { class: "buttons" }), this.addQuirk.element,
        button("Add quirks", () => [["accessory.quirk", { ...one(), add: this.addQuirk.texts() }]], { done: () => this.addQuirk.clear() })),
      h("details", {}, h("summary", {}, "More"), this.more));
  }

  // A fault takes effect with its default values as soon as it is chosen. The fault's sliders then change its
  // parameters.
  faultMenu() {
    const { desk } = this;
    const option = (name, text) => h("option", { value: name, title: text }, name);
    const menu = h("select", {
      "aria-label": "Add a fault", dataset: { action: "add-fault" },
      on: {
        change: () => {
          const kind = desk.schemas.kinds("Fault").find((one) => one.name === menu.value);
          const missing = kind?.properties.filter((one) => one.isRequired).map((one) => [one.key, FIRST[one.kind] ?? one.minimum]) ?? [];
          const fault = optionText(menu.value, Object.fromEntries(missing));
          menu.value = "";
          if (fault) desk.bar.run([["fault.add", { accessory: this.state.accessory, fault }]]);
        },
      },
    }, h("option", { value: "" }, "Add a fault…"),
    h("optgroup", { label: "links" }, desk.library.linkPresets.map((one) => option(one.linkPreset, one.summary))),
    h("optgroup", { label: "faults" }, desk.schemas.kinds("Fault").map((kind) => option(kind.name, kind.description))));
    return menu;
  }

  // Makes the accessory flicker. If the accessory is not plugged in, it is given the flicker quirk and then plugged in.
  flicker() {
    const accessory = this.state.accessory;
    if (this.state.plugged) return [["accessory.flicker", { accessory }]];
    return [["accessory.quirk", { accessory, add: ["flicker"] }], ["accessory.plug", { accessory }]];
  }

  update(state) {
    this.state = state;
    this.element.dataset.accessory = state.accessory;
    setText(this.title, oneLine(unambiguous(state.name, state.serial, this.desk.world().accessories)));
    const facts = [state.accessory, state.profile, state.serial, `in sessions: ${behaviorText(state.behavior)}`];
    if (state.on) facts.push(`on ${state.on}`);
    if (state.taken) facts.push("sessions taken by a client");
    setText(this.facts, facts.map(oneLine).join(" · "));
    const phase = this.desk.world().phases.get(state.serial);
    for (const item of this.phases.children) {
      const isReached = (item.dataset.phase === "plugged" ? state.plugged : state.plugged && phase?.reached.has(item.dataset.phase)) ?? false;
      item.classList.toggle("reached", isReached);
      item.setAttribute("aria-label", `${item.dataset.phase}: ${isReached ? "yes" : "no"}`);
      if (item.dataset.phase === "published") {
        setText(item, isReached && phase?.published?.length === 0 ? "published without protocols" : "published");
      }
      if (item.dataset.phase === "session") setText(item, phase?.sessions > 1 ? `${phase.sessions} sessions` : "session");
    }
    this.problem.hidden = !phase?.problem;
    setText(this.problem, phase?.problem ?? "");
    this.plug.disabled = state.plugged;
    this.unplug.disabled = !state.plugged;
    this.pull.disabled = !state.plugged;
    setText(this.faultCount, state.faults.length ? `Faults (${state.faults.length})` : "Faults");
    if (state.states || state.faults.length === 0) {
      keyed(this.faults, state.faults.length ? state.states : [], (fault) => fault.fault, () => new FaultRow(this.desk));
    }
    const quirks = state.quirks.map((quirk) => typeof quirk === "string" ? quirk : quirk.name);
    keyed(this.quirks, quirks, (quirk) => quirk, (quirk) => {
      const name = fromOptionText(quirk).name;
      const element = this.desk.bar.button(`Remove ${quirk}`, () => [["accessory.quirk", { accessory: state.accessory, remove: [name] }]], { name: `remove-quirk-${name}` });
      return { element, update() {} };
    });
  }
}

// Returns the accessory's name. If another accessory has the same name, the serial number is appended.
function unambiguous(name, serial, all) {
  return all.filter((one) => one.name === name).length > 1 ? `${name} ${serial}` : name;
}

function behaviorText(behavior) { return typeof behavior === "string" ? behavior : behavior?.type ?? ""; }

// Shows a fault with a slider for each parameter. Moving a slider changes the fault while traffic is flowing.
export class FaultRow {
  constructor(desk) {
    this.desk = desk;
    this.text = h("code", {});
    this.counts = h("span", { class: "hint" });
    // Slider values that have not been sent yet.
    this.moved = new Map();
    this.sliders = h("div", { class: "sliders" });
    this.element = h("div", { class: "fault" }, h("div", { class: "buttons" }, this.text, this.counts,
      desk.bar.button("Remove fault", () => [["fault.remove", { fault: this.state.fault }]])), this.sliders);
  }

  update(state) {
    this.state = state;
    this.element.dataset.fault = state.fault;
    setText(this.text, `${state.fault} ${state.text}`);
    setText(this.counts, ` ${state.hits} hit${state.hits === 1 ? "" : "s"}, ${bytes(state.bytes)}`);
    const { name, values } = fromOptionText(state.text);
    const properties = this.desk.schemas.kinds("Fault").find((one) => one.name === name)?.properties ?? [];
    const shown = properties.filter((one) => (!["after", "for", "capacity"].includes(one.key) || one.key in values) && sliderScale(one));
    keyed(this.sliders, shown.map((property) => ({ property, value: values[property.key] })), ({ property }) => `${name} ${property.key}`,
      ({ property }) => this.slider(name, property));
  }

  // Unless the user is moving it, the slider shows the fault's current value, including changes made by other clients.
  slider(name, property) {
    const scale = sliderScale(property);
    const output = h("output", {});
    const slider = h("input", {
      type: "range", min: scale.min, max: scale.max, step: scale.step, dataset: { key: property.key },
      "aria-label": `${name} ${property.key}`, title: property.description,
      on: {
        input: () => {
          this.moved.set(property.key, scale.toText(Number(slider.value)));
          show(this.moved.get(property.key));
          this.change();
        },
      },
    });
    const show = (text) => {
      setText(output, text);
      slider.setAttribute("aria-valuetext", text);
    };
    return {
      element: h("label", {}, h("span", {}, asWords(property.key)), slider, output),
      update: ({ value }) => {
        if (this.moved.has(property.key) || slider.matches(":active")) return;
        const text = value ?? String(property.default ?? "");
        slider.value = scale.fromText(text);
        show(text);
      },
    };
  }

  // Sends one request at a time, which changes only the values whose sliders were moved.
  async change() {
    if (this.isChanging) return;
    this.isChanging = true;
    const { fault } = this.state;
    while (this.moved.size > 0) {
      const sent = new Map(this.moved);
      const { name, values } = fromOptionText((await this.now(fault)).text);
      await this.desk.bar.run([["fault.change", { fault, to: optionText(name, { ...values, ...Object.fromEntries(sent) }) }]]);
      for (const [key, value] of sent) if (this.moved.get(key) === value) this.moved.delete(key);
    }
    this.isChanging = false;
  }

  // Fetches the fault again, because another client may have changed it in the meantime.
  async now(fault) {
    const { accessory } = this.desk.world().accessories.find((one) => one.faults.includes(fault)) ?? {};
    const { faults } = await this.desk.server.call("fault.list", { accessory }).catch(() => ({ faults: [] }));
    return faults.find((one) => one.fault === fault) ?? this.state;
  }
}

class AppCard {
  constructor(desk) {
    this.desk = desk;
    const one = () => ({ app: this.state.app });
    const button = (label, method, options) => desk.bar.button(label, () => [[method, one()]], options);
    this.title = h("h3", {});
    this.chip = h("span", { class: "chip" });
    this.facts = h("p", { class: "facts" });
    this.sees = h("ul", { class: "plain sees" });
    this.sessions = h("div", { class: "sessions" });
    this.misuses = h("ul", { class: "problem" });
    this.element = h("article", { class: "card app" }, h("div", { class: "head" }, this.title, this.chip), this.facts,
      h("h4", {}, "connectedAccessories"), this.sees, this.sessions, this.misuses,
      h("div", { class: "buttons" }, this.foreground = button("Foreground", "app.foreground"), this.background = button("Background", "app.background"),
        this.suspend = button("Suspend", "app.suspend"), button("Kill", "app.kill")),
      h("details", {}, h("summary", {}, "More"), h("div", { class: "buttons" },
        button("Register", "app.register"), button("Unregister", "app.unregister"), button("Crash", "app.crash"))));
  }

  update(state) {
    this.state = state;
    this.element.dataset.app = state.app;
    this.element.dataset.state = state.state;
    setText(this.title, oneLine(state.name));
    setText(this.chip, state.state);
    setText(this.facts, `${state.app} · ${state.registrations > 0 ? "registered for notifications" : "not registered"}`);
    this.foreground.disabled = state.state === "foreground";
    this.background.disabled = state.state === "background";
    this.suspend.disabled = state.state === "suspended";
    keyed(this.sees, (state.sees ?? []).length ? state.sees : [{ connectionID: 0 }], (seen) => seen.connectionID, () => new SeenRow(this.desk, this));
    keyed(this.sessions, state.states ?? [], (session) => session.session, () => new SessionBox(this.desk));
    keyed(this.misuses, state.misuses.map((text, index) => ({ text, index })), (misuse) => misuse.index, () => {
      const element = h("li", {});
      return { element, update: ({ text }) => setText(element, text) };
    });
  }
}

class SeenRow {
  constructor(desk, card) {
    Object.assign(this, { desk, card });
    this.text = h("span", {});
    this.buttons = h("span", { class: "buttons" });
    this.element = h("li", {}, this.text, " ", this.buttons);
  }

  update(seen) {
    if (!seen.connectionID) return setText(this.text, "none");
    setText(this.text, `${oneLine(unambiguous(seen.name, seen.serialNumber, this.card.state.sees))} ${seen.protocols.length ? "" : "without protocols"}`);
    keyed(this.buttons, seen.protocols, (name) => name, (protocol) => ({
      element: this.desk.bar.button(`Open ${protocol}`, () => [["app.open", { app: this.card.state.app, protocol, connectionID: seen.connectionID }]],
        { name: "open", done: ([session]) => SessionBox.mine.add(session.session) }),
      update() {},
    }));
  }
}
