// Packets of the link in plain C: what a copy, two sums and a few comparisons cost by themselves.
#include "BenchmarkFloors.h"
#include <stdlib.h>
#include <string.h>

enum { HEADER = 9, OVERHEAD = 10, ACK = 0x40, WINDOW = 127, ACKNOWLEDGE_AFTER = 3 };

static uint8_t sum(const uint8_t *bytes, size_t count) {
  uint8_t total = 0;
  for (size_t index = 0; index < count; index++) total += bytes[index];
  return total;
}

static size_t build(uint8_t *packet, uint8_t sequence, uint8_t acknowledgement, const uint8_t *payload, size_t size) {
  size_t length = size + OVERHEAD;
  packet[0] = 0xFF;
  packet[1] = 0x5A;
  packet[2] = (uint8_t)(length >> 8);
  packet[3] = (uint8_t)length;
  packet[4] = ACK;
  packet[5] = sequence;
  packet[6] = acknowledgement;
  packet[7] = 2;
  packet[8] = (uint8_t)-sum(packet, 8);
  memcpy(packet + HEADER, payload, size);
  packet[HEADER + size] = (uint8_t)-sum(payload, size);
  return length;
}

// The payload's size, or -1.
static ptrdiff_t parse(const uint8_t *packet, size_t count) {
  if (count < HEADER || packet[0] != 0xFF || packet[1] != 0x5A || sum(packet, HEADER) != 0) return -1;
  size_t length = (size_t)packet[2] << 8 | packet[3];
  if (length < OVERHEAD || length > count || sum(packet + HEADER, length - HEADER) != 0) return -1;
  return (ptrdiff_t)(length - OVERHEAD);
}

static uint8_t *counting(size_t size) {
  uint8_t *bytes = malloc(size + 1);
  if (bytes == NULL) abort();
  for (size_t index = 0; index < size; index++) bytes[index] = (uint8_t)index;
  return bytes;
}

size_t floor_packets(size_t size, size_t count) {
  uint8_t *payload = counting(size), *packet = counting(size + OVERHEAD);
  size_t right = 0;
  for (size_t index = 0; index < count; index++) {
    size_t length = build(packet, (uint8_t)index, 7, payload, size);
    if (parse(packet, length) == (ptrdiff_t)size) right++;
  }
  free(payload);
  free(packet);
  return right;
}

size_t floor_carry(size_t size, size_t count) {
  uint8_t *payload = counting(size), *packet = counting(size + OVERHEAD), *inbox = counting(size);
  size_t arrived = 0;
  for (size_t index = 0; index < count; index++) {
    size_t length = build(packet, (uint8_t)index, 7, payload, size);
    ptrdiff_t found = parse(packet, length);
    if (found < 0) break;
    memcpy(inbox, packet + HEADER, (size_t)found);
    // The next payload is what arrived, so that no copy can be left out.
    uint8_t *swapped = payload;
    payload = inbox;
    inbox = swapped;
    arrived += (size_t)found;
  }
  free(payload);
  free(packet);
  free(inbox);
  return arrived;
}

struct window {
  uint8_t last, owed, acknowledge;
  int64_t deadline;
};

static int take(struct window *window, uint8_t sequence) {
  uint8_t distance = (uint8_t)(sequence - window->last);
  if (distance == 1) {
    window->last = sequence;
    if (window->owed++ == 0) window->deadline = 22;
    if (window->owed >= ACKNOWLEDGE_AFTER) window->acknowledge = 1;
    return 1;
  }
  if (distance == 0 || distance > WINDOW) window->acknowledge = 1;
  return 0;
}

size_t floor_receive(const uint8_t *packets, size_t size, size_t count) {
  static uint8_t inbox[256 * 1024];
  static struct window window;
  window.last = (uint8_t)(packets[5] - 1);
  size_t used = 0;
  for (size_t index = 0; index < count; index++) {
    const uint8_t *packet = packets + index * (size + OVERHEAD);
    ptrdiff_t found = parse(packet, size + OVERHEAD);
    if (found < 2 || !take(&window, packet[5]) || used + (size_t)found > sizeof inbox) break;
    // Two bytes say which session it is for.
    memcpy(inbox + used, packet + HEADER + 2, (size_t)found - 2);
    used += (size_t)found - 2;
  }
  return used;
}

size_t floor_build(uint8_t *packets, size_t size, size_t count) {
  static uint8_t payload[64 * 1024];
  static uint8_t sequence;
  uint8_t *end = packets;
  for (size_t index = 0; index < count; index++) end += build(end, ++sequence, 7, payload, size);
  return (size_t)(end - packets);
}
