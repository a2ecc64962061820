// The forms for adding an accessory, launching an app, connecting to an address, creating a world and advancing virtual
// time.
import { h, replace, setText, oneLine, toBase64 } from "./dom.js";
import { chooser, field, values } from "./forms.js";

// Requests are limited to 4 MiB, including files in base64.
const MOST_CAPTURE = 3_000_000;

export class Controls {
  constructor(desk) {
    this.desk = desk;
    this.element = h("section", { class: "controls", "aria-label": "Controls" }, h("h2", { class: "hidden" }, "Controls"),
      this.time(), h("details", { id: "add-accessory" }, h("summary", {}, "Add an accessory"), this.accessory()),
      h("details", { id: "launch-app" }, h("summary", {}, "Launch an app"), this.app()),
      h("details", { id: "replay-capture" }, h("summary", {}, "Replay a capture"), this.replay()),
      h("details", { id: "add-host" }, h("summary", {}, "Connect to an address"), this.host()),
      h("details", { id: "add-proxy" }, h("summary", {}, "Add a proxy"), this.proxy()),
      h("details", { id: "new-world" }, h("summary", {}, "Make a world"), this.world()));
    desk.store.addEventListener("lists", () => this.update());
  }

  update() {
    const world = this.desk.world();
    const isVirtual = world.time === "virtual";
    // When a world is first shown, opens the forms for adding an accessory and launching an app if the world has none.
    if (!this.wasSeen) {
      this.wasSeen = true;
      for (const [id, all] of [["add-accessory", world.accessories], ["launch-app", world.apps]]) this.element.querySelector(`#${id}`).open = all.length === 0;
    }
    if (this.clock.hidden === isVirtual) this.clock.hidden = !isVirtual;
    setText(this.clockText, `The time of ${world.id} is virtual: it passes only here.`);
    this.removeWorld.disabled = world.id === "main";
  }

  time() {
    const by = h("input", { type: "text", value: "1s", id: "advance-by", pattern: "[0-9]+(\\.[0-9]+)?(ms|s|m|h)", size: 6, autocomplete: "off" });
    this.clock = h("div", { class: "card virtual", hidden: true }, this.clockText = h("p", {}), h("div", { class: "buttons" },
      h("label", { htmlFor: "advance-by" }, "Advance by"), by,
      this.desk.bar.button("Advance", () => [["time.advance", { world: this.desk.world().id, by: by.value }]]),
      this.desk.bar.button("Run until connect", () => [["time.runUntil", { world: this.desk.world().id, event: "connect", side: "device", limit: "1m" }]])));
    return this.clock;
  }

  accessory() {
    const { desk } = this;
    const search = h("input", { type: "search", id: "profile-search", placeholder: "name, maker, protocol", autocomplete: "off" });
    const select = h("select", { id: "profile", size: 6 });
    const list = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const before = select.value || "lawk-view";
      const found = desk.library.profiles.filter((one) => {
        const text = [one.profile, one.summary, one.name, one.manufacturer, ...(one.protocols ?? [])].join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
      });
      replace(select, found.map((one) => h("option", { value: one.profile, disabled: Boolean(one.problem), title: one.problem ?? one.summary },
        oneLine(`${one.profile}: ${one.problem ?? one.summary}`))));
      select.value = found.some((one) => one.profile === before) ? before : found[0]?.profile ?? "";
      show();
    };
    const preview = () => desk.bar.show(make());
    const about = h("p", { class: "hint" });
    const show = () => {
      const one = desk.library.profiles.find((profile) => profile.profile === select.value);
      setText(about, one ? oneLine(`${one.name}, ${one.manufacturer}: ${(one.protocols ?? []).join(", ")}`) : "No profile has these words.");
    };
    search.addEventListener("input", list);
    select.addEventListener("change", () => { show(); preview(); });
    this.quirks = chooser(desk.schemas.kinds("Quirk"), { title: "quirk", changed: preview });
    this.faults = chooser(desk.schemas.kinds("Fault"), { title: "fault", presets: desk.library.linkPresets, changed: preview });
    const fields = desk.schemas.fields("accessory.add", ["count", "serial", "on"]).map((one) => field(one, { changed: preview }));
    const plugs = h("input", { type: "checkbox", id: "plugs", checked: true });
    const serial = fields.find((one) => one.schema.key === "serial");
    const make = () => {
      const params = { profile: select.value };
      if (desk.world().id !== "main") params.world = desk.world().id;
      if (this.quirks.texts().length) params.quirks = this.quirks.texts();
      if (this.faults.texts().length) params.faults = this.faults.texts();
      Object.assign(params, values(fields));
      // Apps would mistake two accessories with the same serial number for a single accessory.
      if (!params.serial && !params.count) {
        const used = new Set(desk.world().accessories.map((one) => one.serial));
        const twins = desk.world().accessories.filter((one) => one.profile === select.value);
        if (twins.length > 0) {
          let number = twins.length + 1;
          while (used.has(`${twins[0].serial}-${number}`)) number += 1;
          params.serial = `${twins[0].serial}-${number}`;
        }
      }
      const calls = [["accessory.add", params]];
      if (plugs.checked) {
        for (let index = 0; index < (params.count ?? 1); index += 1) {
          calls.push(["accessory.plug", (results) => ({ accessory: results[0]?.accessories?.[index] ?? "a1" })]);
        }
      }
      return calls;
    };
    const add = desk.bar.button("Add", () => {
      if (!fields.every((one) => one.isValid) || !this.quirks.isValid || !this.faults.isValid) {
        this.element.querySelector("input:invalid")?.focus();
        return null;
      }
      return make();
    }, { name: "add-accessory", class: "main", done: () => { this.quirks.clear(); this.faults.clear(); serial.set(""); } });
    list();
    return h("div", { class: "form" },
      h("div", { class: "field" }, h("label", { htmlFor: "profile-search" }, "Search profiles"), search),
      h("div", { class: "field" }, h("label", { htmlFor: "profile" }, "Profile"), select, about),
      this.quirks.element, this.faults.element,
      h("details", {}, h("summary", {}, "More"), h("div", { class: "fields" }, fields.map((one) => one.element))),
      h("div", { class: "buttons" }, h("label", { class: "check" }, plugs, " plug it in"), add));
  }

  app() {
    const { desk } = this;
    const name = h("input", { type: "text", id: "app-name", value: "Demo", autocomplete: "off" });
    const protocols = h("input", { type: "text", id: "app-protocols", placeholder: "all", autocomplete: "off", spellcheck: false, "aria-describedby": "app-protocols-hint" });
    const background = h("input", { type: "checkbox", id: "app-background" });
    const registered = h("input", { type: "checkbox", id: "app-registered", checked: true });
    const make = () => {
      const params = {};
      if (desk.world().id !== "main") params.world = desk.world().id;
      if (name.value) params.name = name.value;
      const all = protocols.value.split(/[\s,]+/).filter(Boolean);
      if (all.length) params.protocols = all;
      if (background.checked) params.backgroundModes = ["external-accessory"];
      if (!registered.checked) params.registered = false;
      return [["app.launch", params]];
    };
    return h("div", { class: "form" },
      h("div", { class: "fields" },
        h("div", { class: "field" }, h("label", { htmlFor: "app-name" }, "Name"), name),
        h("div", { class: "field" }, h("label", { htmlFor: "app-protocols" }, "Protocols"), protocols,
          h("small", { id: "app-protocols-hint" }, "UISupportedExternalAccessoryProtocols, with commas"))),
      h("div", { class: "buttons" },
        h("label", { class: "check" }, registered, " registered for notifications"),
        h("label", { class: "check" }, background, " background mode external-accessory"),
        desk.bar.button("Launch", make, { name: "launch-app", class: "main" })));
  }

  // The form for playing back the accessory from a capture. Users can also drop a capture file anywhere on the page.
  replay() {
    const input = h("input", { type: "file", id: "capture-file", on: { change: () => { if (input.files[0]) this.replayFile(input.files[0]); input.value = ""; } } });
    this.replayProblem = h("p", { class: "problem", role: "alert", hidden: true });
    const drag = (isOver) => (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      document.body.classList.toggle("dropping", isOver);
    };
    addEventListener("dragover", drag(true));
    addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
    addEventListener("drop", (event) => {
      drag(false)(event);
      const [file] = event.dataTransfer?.files ?? [];
      if (file) this.replayFile(file);
    });
    return h("div", { class: "form" }, h("p", { class: "hint" }, "Drop a capture anywhere on this page: its accessory is added and plugged in, and answers apps as it did when it was recorded."),
      h("div", { class: "drop" }, h("label", { htmlFor: "capture-file" }, "Capture file "), input), this.replayProblem);
  }

  async replayFile(file) {
    const { desk } = this;
    const world = desk.world().id === "main" ? {} : { world: desk.world().id };
    const tell = (text) => {
      this.element.querySelector("#replay-capture").open = true;
      this.replayProblem.hidden = text === "";
      this.replayProblem.textContent = text;
    };
    if (file.size > MOST_CAPTURE) return tell(`${file.name} has more than 3 MB: play it with 'easim replay ${file.name}'.`);
    try {
      const recordingData = toBase64(new Uint8Array(await file.arrayBuffer()));
      const { accessories: [accessory] } = await desk.server.call("accessory.add", { recordingData, ...world });
      const { name } = await desk.server.call("accessory.plug", { accessory });
      tell("");
      desk.bar.show([["accessory.add", { recording: file.name, ...world }], ["accessory.plug", { accessory }]]);
      desk.say(`${oneLine(name)} of ${file.name} is plugged in.`);
      desk.store.refresh().catch(() => {});
    } catch (error) { tell(`${file.name}: ${error.message}`); }
  }

  host() {
    const { desk } = this;
    const address = h("input", { type: "text", id: "host-address", value: "local:", autocomplete: "off", spellcheck: false });
    return h("div", { class: "form" }, h("p", { class: "hint" }, "The device connects to every accessory there: local:, usb:, bt:, unix:PATH, tcp:HOST:PORT."),
      h("div", { class: "buttons" }, h("label", { htmlFor: "host-address" }, "Address"), address,
        desk.bar.button("Connect", () => [["host.add", { address: address.value, ...(desk.world().id === "main" ? {} : { world: desk.world().id }) }]], { name: "add-host" })));
  }

  proxy() {
    const { desk } = this;
    const input = (id, value) => h("input", { type: "text", id, value, autocomplete: "off", spellcheck: false });
    const [device, accessory, faults] = [input("proxy-device", "unix:/tmp/proxy.sock"), input("proxy-accessory", "usb:"), input("proxy-faults", "")];
    const asked = () => ({
      device: device.value, accessory: accessory.value, faults: faults.value.split(/\s+/).filter((one) => one !== ""),
      ...(desk.world().id === "main" ? {} : { world: desk.world().id }),
    });
    return h("div", { class: "form" }, h("p", { class: "hint" }, "Bytes pass unchanged, except for the faults. In a fault, in is what the accessory sends, out what the device sends."),
      h("div", { class: "buttons" }, h("label", { htmlFor: "proxy-device" }, "Device"), device, h("label", { htmlFor: "proxy-accessory" }, "Accessory"), accessory,
        h("label", { htmlFor: "proxy-faults" }, "Faults"), faults, desk.bar.button("Add proxy", () => [["proxy.add", asked()]], { name: "add-proxy" })));
  }

  world() {
    const { desk } = this;
    const fields = desk.schemas.fields("world.create", ["time", "seed", "publishesEarly", "latency", "bytesPerSecond"]).map((one) => field(one));
    fields[0].set("virtual");
    return h("div", { class: "form" }, h("div", { class: "fields" }, fields.map((one) => one.element)), h("div", { class: "buttons" },
      desk.bar.button("Make", () => [["world.create", values(fields)]], { name: "make-world", class: "main", done: ([made]) => desk.choose(made.world) }),
      this.removeWorld = desk.bar.button("Remove this world", () => [["world.remove", { world: desk.world().id }]], { name: "remove-world", done: () => desk.choose("main") })));
  }
}
