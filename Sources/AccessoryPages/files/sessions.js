// Shows an app's session, with its counters and the payloads that EADemo sends: a string, hex, and 10,000 bytes. The
// page reads bytes only from sessions that the page itself opened, because each byte can be read only once.
import { bytes, fromBase64, fromHex, h, plain, setText, toBase64 } from "./dom.js";

const MOST_SHOWN = 20_000;

export class SessionBox {
  // The IDs of the sessions that this page has opened.
  static mine = new Set();

  constructor(desk) {
    this.desk = desk;
    this.expected = [];
    this.title = h("h4", {});
    this.counts = h("p", { class: "facts" });
    this.input = h("input", { type: "text", value: "hello", "aria-label": "Bytes to send", spellcheck: false, autocomplete: "off" });
    this.received = h("pre", { class: "received", tabIndex: 0, "aria-label": "Received bytes" });
    this.verdict = h("p", { class: "verdict", role: "status" });
    const send = (label, name, make) => desk.bar.button(label, () => {
      const params = make();
      return params ? [["session.write", { session: this.state.session, ...params }]] : null;
    }, { name, before: () => this.expect(make()) });
    this.sender = h("div", { class: "buttons sender" }, this.input,
      send("Send text", "send-text", () => ({ text: this.input.value })),
      send("Send hex", "send-hex", () => {
        const data = fromHex(this.input.value);
        if (!data) desk.bar.say("The text is not hex: write pairs of digits, such as 01 ff 7e.", true);
        return data ? { data: toBase64(data) } : null;
      }),
      send("Send 10K", "send-10k", () => ({ data: toBase64(Uint8Array.from({ length: 10_000 }, (_, index) => index & 255)) })));
    this.element = h("div", { class: "session" }, this.title, this.counts, this.sender, this.verdict, this.received,
      h("div", { class: "buttons" }, desk.bar.button("Close session", () => [["session.close", { session: this.state.session }]])));
  }

  // If the accessory echoes, its reply is compared with these bytes. Accessories that do not echo are not expected to
  // reply.
  expect(params) {
    this.verdict.textContent = "";
    this.count = 0;
    const isEcho = accessoryOf(this.desk.world(), this.state)?.behavior === "echo";
    this.expected = !isEcho || !params ? [] : params.data ? fromBase64(params.data) : new TextEncoder().encode(params.text);
  }

  update(state) {
    this.state = state;
    this.element.dataset.session = state.session;
    setText(this.title, `Session ${state.session}: ${state.protocol}`);
    const rate = state.rate > 0 ? ` · ${bytes(Math.round(state.rate))}/s` : "";
    setText(this.counts, `${bytes(state.bytesRead)} read · ${bytes(state.bytesWritten)} written · ${bytes(state.unacknowledged)} not acknowledged${rate}`);
    const isMine = SessionBox.mine.has(state.session);
    this.received.hidden = !isMine;
    if (isMine && !this.isReading) this.read();
  }

  async read() {
    this.isReading = true;
    try {
      while (this.state.open && this.element.isConnected) {
        // In virtual time, waiting for bytes would advance the clock, so the request does not wait.
        const wait = this.desk.world().time === "virtual" ? "0ms" : "20s";
        const answer = await this.desk.server.call("session.read", { session: this.state.session, wait });
        if (answer.bytes > 0) this.take(fromBase64(answer.data));
        if (answer.ended) return;
        if (answer.bytes === 0 && this.desk.world().time === "virtual") return;
      }
    } catch { /* The session is gone, and its counters show this. */ } finally { this.isReading = false; }
  }

  take(data) {
    const line = `${data.length} byte${data.length === 1 ? "" : "s"}: ${asText(data) ?? asHex(data)}\n`;
    this.received.textContent = (this.received.textContent + plain(line)).slice(-MOST_SHOWN);
    this.received.scrollTop = this.received.scrollHeight;
    if (this.expected.length === 0) return;
    const start = this.count;
    this.count += data.length;
    const isEcho = this.count <= this.expected.length && data.every((byte, index) => byte === this.expected[start + index]);
    if (isEcho && this.count < this.expected.length) return;
    this.verdict.textContent = `${this.count} bytes came back, ${isEcho ? "equal to" : "different from"} those sent.`;
    this.expected = [];
  }
}

// Returns the accessory at the other end of an app's session.
export function accessoryOf(world, session) {
  const seen = world.apps.find((app) => app.app === session.app)?.sees?.find((one) => one.connectionID === session.connectionID);
  const all = world.accessories.filter((one) => one.serial === seen?.serialNumber);
  return all.find((one) => one.plugged) ?? all[0];
}

// Returns the text, or null if the bytes are not UTF-8.
function asText(data) {
  if (data.some((byte) => byte === 127 || (byte < 32 && ![9, 10, 13].includes(byte)))) return null;
  try { return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data); } catch { return null; }
}

function asHex(data) {
  const shown = [...data.subarray(0, 32)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return data.length > 32 ? `${shown} … ${data.length - 32} more` : shown;
}
