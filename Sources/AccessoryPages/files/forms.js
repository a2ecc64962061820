// Creates forms from the schemas in rpc.discover, so that users can send everything that the protocol accepts.
import { h, replace } from "./dom.js";

let counter = 0;

export class Schemas {
  constructor(document) {
    this.methods = new Map(document.methods.map((method) => [method.name, method]));
    this.definitions = document.components.schemas;
  }

  param(method, name) { return this.methods.get(method)?.params.find((param) => param.name === name); }

  // Returns all kinds of one definition, such as all quirks or all faults, with their names, descriptions and
  // properties.
  kinds(definition) {
    const definitions = this.definitions;
    return definitions[definition].anyOf.filter((one) => one.$ref).map((one) => {
      const found = definitions[one.$ref.split("/").pop()];
      const name = found.properties.name?.const ?? found.properties.type?.const;
      const properties = Object.entries(found.properties).filter(([key]) => key !== "name" && key !== "type");
      return { name, description: found.description, properties: properties.map(([key, own]) => ({ key, isRequired: found.required?.includes(key), ...resolve(own, definitions) })) };
    });
  }

  // Returns input fields for some of a method's parameters.
  fields(method, names) {
    return names.map((name) => {
      const param = this.param(method, name);
      return { key: name, ...resolve(param.schema, this.definitions), description: param.description };
    });
  }
}

function resolve(schema, definitions) {
  if (!schema.$ref) return schema;
  const name = schema.$ref.split("/").pop();
  return { ...definitions[name], ...schema, kind: name };
}

// Creates an input field with a label. `value()` returns undefined if the field contains the default value.
export function field(schema, { title, changed } = {}) {
  const id = `f${++counter}`;
  const standard = schema.default;
  const hint = schema.description ?? "";
  let input;
  if (schema.enum) {
    input = h("select", { id }, standard === undefined ? h("option", { value: "" }, "") : null,
      schema.enum.map((one) => h("option", { value: one, selected: one === standard }, one)));
  } else if (schema.type === "boolean") {
    input = h("input", { id, type: "checkbox", checked: standard === true });
  } else if (schema.type === "integer" || schema.type === "number") {
    input = h("input", {
      id, type: "number", min: schema.minimum, max: schema.maximum, step: schema.type === "integer" ? 1 : "any",
      value: standard ?? "", placeholder: standard === undefined ? "none" : "",
    });
  } else {
    input = h("input", { id, type: "text", value: typeof standard === "string" ? standard : "", pattern: jsPattern(schema.pattern), spellcheck: false, autocomplete: "off" });
  }
  input.dataset.key = schema.key;
  input.setAttribute("aria-describedby", `${id}h`);
  if (changed) input.addEventListener("input", changed);
  const problem = h("small", { class: "problem", role: "alert", hidden: true });
  input.addEventListener("input", () => {
    problem.hidden = input.validity.valid;
    problem.textContent = problem.hidden ? "" : input.validity.patternMismatch && schema.description ? `not possible here: ${schema.description}` : input.validationMessage;
  });
  const element = h("div", { class: `field${schema.type === "boolean" ? " check" : ""}` },
    h("label", { htmlFor: id }, title ?? asWords(schema.key)), input, problem, h("small", { id: `${id}h` }, hint));
  return {
    element, input, schema,
    get isValid() { return input.validity.valid; },
    value() {
      if (schema.type === "boolean") return input.checked === (standard ?? false) ? undefined : input.checked;
      if (input.value === "" || input.value === String(standard ?? "")) return undefined;
      return input.type === "number" ? Number(input.value) : input.value;
    },
    set(value) {
      if (schema.type === "boolean") input.checked = value === true || value === "true"; else input.value = value;
    },
  };
}

// Turns "bytesPerSecond" into "bytes per second".
export function asWords(key) { return key.replace(/([a-z])([A-Z])/g, (_, before, after) => `${before} ${after.toLowerCase()}`); }

// Adapts a pattern from a schema, because the schemas' patterns are not written for the `v` flag.
function jsPattern(pattern) {
  if (!pattern) return undefined;
  const inner = pattern.replace(/^\^/, "").replace(/\$$/, "");
  try {
    new RegExp(inner, "v");
    return inner;
  } catch { return undefined; }
}

export function values(fields) {
  const all = {};
  for (const one of fields) {
    const value = one.value();
    if (value !== undefined) all[one.schema.key] = value;
  }
  return all;
}

// Creates an editor for a list of quirks or faults and their parameters. The editor's value is a list of strings,
// written as on the command line, such as "latency,delay=20ms".
export function chooser(kinds, { title, presets = [], changed }) {
  const id = `f${++counter}`;
  const entries = [];
  const select = h("select", { id },
    h("option", { value: "" }, `Add a ${title}…`),
    presets.length ? h("optgroup", { label: "link presets" }, presets.map((one) => h("option", { value: `preset:${one.linkPreset}`, title: one.summary }, one.linkPreset))) : null,
    presets.length ? h("optgroup", { label: "faults" }, kinds.map((kind) => h("option", { value: kind.name }, kind.name)))
      : kinds.map((kind) => h("option", { value: kind.name }, kind.name)));
  const list = h("div", { class: "chosen" });
  const add = (name) => {
    const preset = presets.find((one) => `preset:${one.linkPreset}` === name);
    const kind = preset ? { name: preset.linkPreset, description: preset.summary, properties: [] } : kinds.find((one) => one.name === name);
    const fields = kind.properties.map((property) => field(property, { changed }));
    const entry = { kind, fields };
    const remove = h("button", { type: "button", on: { click: () => {
      entries.splice(entries.indexOf(entry), 1);
      entry.element.remove();
      changed?.();
      select.focus();
    } } }, `Remove ${kind.name}`);
    entry.element = h("fieldset", { dataset: { kind: kind.name } }, h("legend", {}, kind.name), h("p", { class: "hint" }, kind.description),
      h("div", { class: "fields" }, fields.map((one) => one.element)), remove);
    entries.push(entry);
    list.append(entry.element);
    changed?.();
    return entry;
  };
  select.addEventListener("change", () => {
    if (select.value) add(select.value);
    select.value = "";
  });
  return {
    element: h("div", { class: "field chooser" }, h("label", { htmlFor: id }, `${title}s`), select, list),
    select, add,
    get isValid() { return entries.every((entry) => entry.fields.every((one) => one.isValid)); },
    texts: () => entries.map(({ kind, fields }) => optionText(kind.name, values(fields))),
    clear() { entries.length = 0; replace(list); },
  };
}

export function optionText(name, all) {
  return [name, ...Object.entries(all).map(([key, value]) => `${key}=${value}`)].join(",");
}

// Splits text such as "latency,delay=20ms" into a name and its values.
export function fromOptionText(text) {
  const [name, ...rest] = text.split(",");
  return { name, values: Object.fromEntries(rest.map((part) => { const at = part.indexOf("="); return [part.slice(0, at), part.slice(at + 1)]; })) };
}

const UNITS = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 };

export function inSeconds(text) {
  const found = /^([0-9.]+)(ns|us|ms|s|m|h)$/.exec(text ?? "");
  return found ? Number(found[1]) * UNITS[found[2]] : 0;
}

// Returns the scale of the slider for a fault's parameter. The scale is logarithmic for durations and large numbers,
// and in percent for probabilities.
export function sliderScale(schema) {
  if (schema.kind === "Chance") return { min: 0, max: 100, step: 0.5, toText: (x) => `${x}%`, fromText: (t) => t.endsWith("%") ? parseFloat(t) : Number(t) * 100 };
  if (schema.kind === "Duration") {
    // The leftmost position stands for 0 ms; the other positions range from 1 ms to 10 s.
    return {
      min: 0, max: 101, step: 1,
      toText: (x) => x < 1 ? "0ms" : msText(10 ** ((x - 1) / 25)),
      fromText: (t) => { const ms = inSeconds(t) * 1e3; return ms < 1 ? 0 : Math.min(101, Math.round(Math.log10(ms) * 25 + 1)); },
    };
  }
  if (schema.type === "integer") {
    const low = Math.max(schema.minimum ?? 1, 1);
    const high = Math.min(schema.maximum ?? 1e9, 1e8);
    const decades = Math.log10(high / low);
    return {
      min: 0, max: 100, step: 1, toText: (x) => String(rounded(low * 10 ** (x / 100 * decades))),
      fromText: (t) => Math.round(Math.log10(Math.max(Number(t), low) / low) / decades * 100),
    };
  }
  return null;
}

function msText(ms) { return `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)}ms`; }
function rounded(value) { const p = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1); return Math.round(value / p) * p; }
