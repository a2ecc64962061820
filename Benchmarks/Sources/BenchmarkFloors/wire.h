// The link's packets in plain C, for the baselines that build and parse them.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { HEADER = 9, OVERHEAD = 10, ACK = 0x40, WINDOW = 127, ACKNOWLEDGE_AFTER = 3 };

// The compiler turns this loop into vector instructions.
static inline uint8_t sum(const uint8_t *bytes, size_t count) {
  uint8_t total = 0;
  for (size_t index = 0; index < count; index++) total += bytes[index];
  return total;
}

static inline void write_header(
    uint8_t *packet, size_t length, uint8_t sequence, uint8_t acknowledgement, uint8_t session) {
  packet[0] = 0xFF;
  packet[1] = 0x5A;
  packet[2] = (uint8_t)(length >> 8);
  packet[3] = (uint8_t)length;
  packet[4] = ACK;
  packet[5] = sequence;
  packet[6] = acknowledgement;
  packet[7] = session;
  packet[8] = (uint8_t)-sum(packet, 8);
}

// Returns the packet's length, 0 if the header is incomplete, or -1 if it is wrong.
static inline ptrdiff_t read_header(const uint8_t *packet, size_t count) {
  if (count < HEADER) return 0;
  if (packet[0] != 0xFF || packet[1] != 0x5A || sum(packet, HEADER) != 0) return -1;
  ptrdiff_t length = (ptrdiff_t)packet[2] << 8 | packet[3];
  return length < HEADER ? -1 : length;
}
