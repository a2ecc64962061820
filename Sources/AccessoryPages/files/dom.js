// Creates elements from data. Accessories choose their own names, so text always becomes a text node. The page's
// Trusted Types policy also forbids creating markup from strings.

export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") element.className = value;
    else if (key === "on") for (const [name, body] of Object.entries(value)) element.addEventListener(name, body);
    else if (key === "style") for (const [name, part] of Object.entries(value)) element.style.setProperty(name, part);
    else if (key === "dataset") Object.assign(element.dataset, value);
    else if (key in element && !key.startsWith("aria") && key !== "role" && key !== "list" && key !== "form") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  fill(element, children);
  return element;
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  fill(element, children);
  return element;
}

export function fill(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(plain(child)));
  }
}

export function replace(element, ...children) {
  element.replaceChildren();
  fill(element, children);
}

// Control characters, and characters that change the text direction, are shown as numbers.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function plain(value) {
  return String(value).replace(HIDDEN, (c) => c === "\n" ? "\n" : `\\u{${c.codePointAt(0).toString(16)}}`);
}

export function oneLine(value) { return plain(value).replaceAll("\n", "\\n"); }

export function seconds(t, digits = 3) { return `${t.toFixed(digits)} s`; }

export function bytes(count) {
  if (count < 10_000) return `${count} B`;
  if (count < 10_000_000) return `${(count / 1_000).toFixed(1)} kB`;
  return `${(count / 1_000_000).toFixed(1)} MB`;
}

export function duration(time) {
  if (time < 0.001) return `${(time * 1e6).toFixed(0)} µs`;
  if (time < 1) return `${(time * 1e3).toFixed(time < 0.01 ? 2 : 1)} ms`;
  return `${time.toFixed(2)} s`;
}

export function fromBase64(text) { return Uint8Array.from(atob(text), (c) => c.charCodeAt(0)); }

export function toBase64(array) {
  let text = "";
  for (let at = 0; at < array.length; at += 0x8000) text += String.fromCharCode(...array.subarray(at, at + 0x8000));
  return btoa(text);
}

export function fromHex(text) {
  const digits = text.replace(/0x/gi, "").replace(/[\s:,]/g, "");
  if (!/^([0-9a-f]{2})*$/i.test(digits)) return null;
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

// Calls `body` at most once per frame, no matter how many times the returned function is called.
export function perFrame(body) {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => { isDue = false; body(); });
  };
}

export function save(name, type, parts) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export const stillness = matchMedia("(prefers-reduced-motion: reduce)");

// Keeps one element per item, in the order of the items. Updates preserve the focus and the contents of unfinished
// forms.
export function keyed(container, items, key, make) {
  const known = container.keyed ??= new Map();
  const wanted = new Set();
  let at = 0;
  for (const item of items) {
    const id = key(item);
    wanted.add(id);
    let part = known.get(id);
    if (!part) {
      part = make(item);
      known.set(id, part);
    }
    if (container.children[at] !== part.element) container.insertBefore(part.element, container.children[at] ?? null);
    part.update(item);
    at += 1;
  }
  for (const [id, part] of [...known]) {
    if (wanted.has(id)) continue;
    part.element.remove();
    known.delete(id);
  }
}

export function setText(element, value) {
  const text = plain(value);
  if (element.textContent !== text) element.textContent = text;
}
