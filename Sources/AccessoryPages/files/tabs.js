// A group of views, one of which the user chooses with tabs.
import { h } from "./dom.js";

export class Tabs {
  // `place` is the element that contains the tabs. The user's choice is stored under `name`.
  constructor(place, name) {
    this.place = place;
    this.name = name;
    this.views = [];
  }

  add(name, title, element, hooks = {}) {
    const tab = h("button", {
      type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}`, "aria-selected": "false",
      on: {
        click: () => this.show(name),
        keydown: (event) => {
          const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (!by) return;
          const at = this.views.findIndex((view) => view.name === name);
          const next = this.views[(at + by + this.views.length) % this.views.length];
          this.show(next.name);
          next.tab.focus();
        },
      },
    }, title);
    const panel = h("div", { id: `view-${name}`, role: "tabpanel", "aria-labelledby": `tab-${name}`, hidden: true }, element);
    this.place.append(tab);
    document.querySelector("main").append(panel);
    this.views.push({ name, tab, element: panel, ...hooks });
  }

  has(name) { return this.views.some((view) => view.name === name); }

  show(name) {
    for (const view of this.views) {
      const isShown = view.name === name;
      if (view.element.hidden === !isShown && view.tab.getAttribute("aria-selected") === String(isShown)) continue;
      view.element.hidden = !isShown;
      view.tab.setAttribute("aria-selected", String(isShown));
      view.tab.tabIndex = isShown ? 0 : -1;
      if (isShown) view.opened?.(); else view.closed?.();
    }
    // A page that was opened from a file may have no storage.
    try { sessionStorage.setItem(this.name, name); } catch { /* Without storage, the choice is not remembered. */ }
  }

  get remembered() { try { return sessionStorage.getItem(this.name); } catch { return null; } }
}
