// Writes packets as a pcapng file like that of `--capture`. Each cable has a LINKTYPE_USER0 interface, and each native
// channel has a LINKTYPE_USER1 interface. The direction is in the flags; packets sent by the device are outbound.

const encoder = new TextEncoder();

function block(type, ...parts) {
  const body = parts.reduce((sum, part) => sum + part.length, 0);
  const whole = new Uint8Array(12 + body);
  const view = new DataView(whole.buffer);
  view.setUint32(0, type, true);
  view.setUint32(4, whole.length, true);
  let at = 8;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  view.setUint32(at, whole.length, true);
  return whole;
}

function words(...values) {
  const bytes = new Uint8Array(values.length * 4);
  const view = new DataView(bytes.buffer);
  values.forEach((value, index) => view.setUint32(index * 4, value, true));
  return bytes;
}

function padded(bytes) {
  const whole = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
  whole.set(bytes);
  return whole;
}

function option(code, bytes) {
  const head = new Uint8Array(4);
  const view = new DataView(head.buffer);
  view.setUint16(0, code, true);
  view.setUint16(2, bytes.length, true);
  return [head, padded(bytes)];
}

export function pcapng(packets) {
  const parts = [block(0x0a0d0d0a, words(0x1a2b3c4d, 0x00000001, 0xffffffff, 0xffffffff))];
  const interfaces = new Map();
  for (const one of packets) {
    const name = `${one.accessory}.${one.cable}${one.channel ? ` ${one.channel}` : ""}`;
    if (!interfaces.has(name)) {
      interfaces.set(name, interfaces.size);
      parts.push(block(1, words(one.channel ? 148 : 147, 0), ...option(2, encoder.encode(name)), ...option(9, Uint8Array.of(6)), words(0)));
    }
    const bytes = Uint8Array.from(one.hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
    const time = BigInt(Math.round(one.t * 1e6));
    parts.push(block(6, words(interfaces.get(name), Number(time >> 32n), Number(time & 0xffffffffn), bytes.length, bytes.length),
      padded(bytes), ...option(2, words(one.from === "device" ? 2 : 1)), words(0)));
  }
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
