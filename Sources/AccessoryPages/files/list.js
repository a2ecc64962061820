// A list of any length, which creates elements only for the rows that are visible. The list stays scrolled to its end
// until the user scrolls up.
import { h, perFrame } from "./dom.js";

const ROW = 22;
let lists = 0;

export class VirtualList {
  // `cells` returns the text of each cell in a row; `choose` is called when the user selects a row.
  constructor({ label, columns, cells, choose, kind }) {
    Object.assign(this, { columns, cells, choose, kind });
    this.id = `l${++lists}`;
    this.rows = [];
    this.chosen = -1;
    this.follows = true;
    this.space = h("div", { class: "space" });
    this.window = h("div", { class: "window", role: "presentation" });
    this.scroller = h("div", { class: "rows", tabIndex: 0, role: "listbox", "aria-label": label }, this.space, this.window);
    this.head = h("div", { class: "row head", "aria-hidden": "true" }, columns.map((column) => h("span", { class: column.class }, column.name)));
    this.element = h("div", { class: "list" }, this.head, this.scroller);
    this.request = perFrame(() => this.draw());
    this.scroller.addEventListener("scroll", () => {
      const isAtEnd = this.scroller.scrollTop + this.scroller.clientHeight >= this.rows.length * ROW - ROW;
      if (!this.isMoving) this.setFollows(isAtEnd);
      this.isMoving = false;
      this.head.style.setProperty("transform", `translateX(${-this.scroller.scrollLeft}px)`);
      this.request();
    });
    this.scroller.addEventListener("click", (event) => {
      const row = event.target.closest("[data-at]");
      if (row) this.select(Number(row.dataset.at));
    });
    this.scroller.addEventListener("keydown", (event) => {
      const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 1);
      const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
      if (by === undefined || this.rows.length === 0) return;
      event.preventDefault();
      const at = this.chosen < 0 ? this.rows.length - 1 : this.chosen;
      this.select(Math.min(Math.max(at + by, 0), this.rows.length - 1));
    });
    new ResizeObserver(() => this.request()).observe(this.scroller);
  }

  setFollows(follows) {
    if (this.follows === follows) return;
    this.follows = follows;
    this.followed?.(follows);
    if (follows) this.request();
  }

  // Replaces all rows, or adds rows at the end.
  show(rows, { keep } = {}) {
    this.rows = rows;
    if (!keep) this.chosen = -1;
    this.request();
  }

  select(at) {
    this.chosen = at;
    this.reveal(at);
    this.choose?.(this.rows[at]);
    this.request();
  }

  reveal(at) {
    const top = at * ROW;
    if (top < this.scroller.scrollTop || top + ROW > this.scroller.scrollTop + this.scroller.clientHeight) {
      this.setFollows(false);
      this.space.style.setProperty("height", `${this.rows.length * ROW}px`);
      this.scroller.scrollTop = Math.max(0, top - this.scroller.clientHeight / 2);
    }
  }

  draw() {
    // A hidden view is not drawn until it is shown.
    if (this.scroller.clientHeight === 0) return;
    const height = this.rows.length * ROW;
    this.space.style.setProperty("height", `${height}px`);
    if (this.follows) {
      const end = Math.max(0, height - this.scroller.clientHeight);
      if (Math.abs(this.scroller.scrollTop - end) > 1) {
        this.isMoving = true;
        this.scroller.scrollTop = end;
      }
    }
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW) - 5);
    const last = Math.min(this.rows.length, first + Math.ceil(this.scroller.clientHeight / ROW) + 10);
    const elements = [];
    for (let at = first; at < last; at += 1) {
      const item = this.rows[at];
      const texts = this.cells(item, at);
      elements.push(h("div", {
        class: `row ${this.kind?.(item) ?? ""}`, role: "option", id: `${this.id}-${at}`, dataset: { at }, "aria-selected": String(at === this.chosen),
        "aria-setsize": this.rows.length, "aria-posinset": at + 1,
      }, this.columns.map((column, index) => h("span", { class: column.class }, texts[index]))));
    }
    this.window.style.setProperty("transform", `translateY(${first * ROW}px)`);
    this.window.replaceChildren(...elements);
    if (this.chosen >= first && this.chosen < last) this.scroller.setAttribute("aria-activedescendant", `${this.id}-${this.chosen}`);
    else this.scroller.removeAttribute("aria-activedescendant");
  }
}
