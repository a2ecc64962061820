// Briefly shows the result of an action near the control that started it.
import { h, replace } from "./dom.js";

const element = h("div", { class: "toast", id: "call-result", role: "status", hidden: true });
let timer = null;
let place = null;

// Remembers which control was used last.
addEventListener("click", (event) => { place = event.target.closest?.("button, summary, canvas, .row") ?? place; }, true);

export function toast(text, isProblem = false) {
  clearTimeout(timer);
  replace(element, text);
  element.className = isProblem ? "toast problem" : "toast";
  element.hidden = text === "";
  if (element.hidden) return;
  if (!element.isConnected) document.body.append(element);
  const box = place?.isConnected ? place.getBoundingClientRect() : null;
  const isSeen = box && box.width > 0 && box.bottom > 0 && box.top < innerHeight;
  const left = isSeen ? Math.min(Math.max(8, box.left), Math.max(8, innerWidth - element.offsetWidth - 8)) : 16;
  const below = isSeen ? box.bottom + 6 : innerHeight;
  const top = below + element.offsetHeight > innerHeight - 8 ? (isSeen ? box.top - element.offsetHeight - 6 : innerHeight - element.offsetHeight - 60) : below;
  element.style.setProperty("left", `${left}px`);
  element.style.setProperty("top", `${Math.max(8, top)}px`);
  timer = setTimeout(() => { element.hidden = true; }, isProblem ? 12_000 : 4_000);
}
