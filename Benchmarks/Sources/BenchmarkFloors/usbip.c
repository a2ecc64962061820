// USB/IP, as simple as possible: an echoing device on a connection whose other end belongs to a kernel, and a client
// that drives a device with bulk transfers. Integers on the wire are big-endian, and every header has 48 bytes.
#define _GNU_SOURCE
#include "BenchmarkFloors.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { HEADER = 48, MOST_WAITING = 64, ROOM = 1 << 20, CHUNK = 48 * 1024, DEVICE_ID = 0x10002 };

struct header {
  uint32_t command, sequence, device, direction, endpoint;
  uint32_t status_or_flags, length, start, packets, interval;
  uint8_t setup[8];
};

static const uint8_t device_descriptor[] = {18, 1, 0, 2, 0, 0, 0, 64, 0x09, 0x12, 2, 0, 0, 1, 0, 0, 0, 1};
static const uint8_t configuration[] = {9, 2, 32,   0, 1, 1, 0, 0xC0, 50, 9, 4, 0,    0, 2, 0xFF, 0xF0,
                                        0, 0, 7,    5, 0x81, 2, 0, 2, 0,  7, 5, 0x02, 2, 0, 2,    0};

// MARK: Device

struct device {
  int socket, is_plain;
  size_t from, to; // the part of `bytes` that is held
  size_t waits;
  uint32_t sequence[MOST_WAITING], length[MOST_WAITING];
  uint8_t bytes[ROOM], answer[HEADER + ROOM];
};

static int take(int socket, void *to, size_t count) {
  for (uint8_t *at = to; count > 0;) {
    ssize_t got = recv(socket, at, count, MSG_WAITALL);
    if (got == 0) return EPIPE;
    if (got < 0 && errno != EINTR) return errno;
    if (got > 0) at += got, count -= (size_t)got;
  }
  return 0;
}

static int answer(
    struct device *device, uint32_t command, uint32_t sequence, int32_t status, size_t count, const void *data) {
  struct header header = {.command = htonl(command), .sequence = sequence};
  header.status_or_flags = htonl((uint32_t)status);
  header.length = htonl((uint32_t)count);
  struct iovec parts[] = {{&header, HEADER}, {(void *)(uintptr_t)data, data ? count : 0}};
  size_t total = HEADER + parts[1].iov_len;
  if (!device->is_plain) return writev(device->socket, parts, 2) == (ssize_t)total ? 0 : EPIPE;
  memcpy(device->answer, &header, HEADER);
  if (data) memcpy(device->answer + HEADER, data, count);
  return write(device->socket, device->answer, total) == (ssize_t)total ? 0 : EPIPE;
}

static int control(struct device *device, const struct header *asked) {
  const uint8_t *setup = asked->setup;
  size_t wanted = (size_t)(setup[6] | setup[7] << 8), count = 0;
  static const uint8_t zeros[2];
  const void *data = NULL;
  if (setup[0] == 0x80 && setup[1] == 6 && setup[3] == 1) data = device_descriptor, count = sizeof device_descriptor;
  if (setup[0] == 0x80 && setup[1] == 6 && setup[3] == 2) data = configuration, count = sizeof configuration;
  if (setup[0] == 0x80 && setup[1] == 0) data = zeros, count = sizeof zeros;
  if (data == NULL && setup[0] & 0x80) return answer(device, 3, asked->sequence, -EPIPE, 0, NULL);
  return answer(device, 3, asked->sequence, 0, count < wanted ? count : wanted, data);
}

static int unlink_one(struct device *device, const struct header *asked) {
  uint32_t victim = asked->status_or_flags;
  for (size_t index = 0; index < device->waits; index++) {
    if (device->sequence[index] != victim) continue;
    device->waits--;
    size_t left = (device->waits - index) * sizeof victim;
    memmove(device->sequence + index, device->sequence + index + 1, left);
    memmove(device->length + index, device->length + index + 1, left);
    return answer(device, 4, asked->sequence, -ECONNRESET, 0, NULL);
  }
  return answer(device, 4, asked->sequence, 0, 0, NULL);
}

static int echo_on(struct device *device) {
  int code = 0;
  while (code == 0 && device->waits > 0 && device->from < device->to) {
    size_t count = device->to - device->from;
    if (count > device->length[0]) count = device->length[0];
    code = answer(device, 3, device->sequence[0], 0, count, device->bytes + device->from);
    device->from += count;
    if (device->is_plain) {
      device->to -= device->from;
      memmove(device->bytes, device->bytes + device->from, device->to);
      device->from = 0;
    }
    device->waits--;
    memmove(device->sequence, device->sequence + 1, device->waits * sizeof(uint32_t));
    memmove(device->length, device->length + 1, device->waits * sizeof(uint32_t));
  }
  if (device->from == device->to) device->from = device->to = 0;
  return code;
}

int floor_usbip_serve(int socket, int is_plain) {
  struct device *device = calloc(1, sizeof *device);
  if (device == NULL) return ENOMEM;
  device->socket = socket;
  device->is_plain = is_plain;
  int code = 0;
  while (code == 0) {
    struct header asked;
    if ((code = take(socket, &asked, HEADER)) != 0) break;
    size_t length = ntohl(asked.length);
    if (ntohl(asked.command) == 2) {
      code = unlink_one(device, &asked);
    } else if (asked.endpoint == 0) {
      code = control(device, &asked);
    } else if (asked.direction == 0) {
      if (length > ROOM - device->to) code = ENOBUFS;
      else if ((code = take(socket, device->bytes + device->to, length)) == 0) {
        device->to += length;
        code = answer(device, 3, asked.sequence, 0, length, NULL);
      }
    } else if (device->waits == MOST_WAITING) {
      code = ENOBUFS;
    } else {
      device->sequence[device->waits] = asked.sequence;
      device->length[device->waits++] = (uint32_t)length;
    }
    if (code == 0) code = echo_on(device);
  }
  free(device);
  return code == EPIPE ? 0 : code;
}

// MARK: Client

static void submit(uint8_t *at, int reads, uint32_t endpoint, size_t length) {
  struct header header = {.command = htonl(1), .device = htonl(DEVICE_ID), .direction = htonl(reads ? 1 : 0)};
  header.endpoint = htonl(endpoint);
  header.length = htonl((uint32_t)length);
  memcpy(at, &header, HEADER);
}

struct replies {
  uint8_t head[HEADER];
  size_t filled;   // bytes of the header read so far
  size_t payload;  // bytes of the payload still to be skipped
  size_t received; // bytes of all payloads
};

// Replies to reads are recognized by their sequence numbers, which are odd.
static int step(struct replies *replies, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    size_t piece = replies->payload ? replies->payload : HEADER - replies->filled;
    if (piece > count) piece = count;
    if (replies->payload) {
      replies->payload -= piece;
      replies->received += piece;
    } else {
      memcpy(replies->head + replies->filled, bytes, piece);
      replies->filled += piece;
      if (replies->filled == HEADER) {
        struct header header;
        memcpy(&header, replies->head, HEADER);
        if (ntohl(header.command) != 3 || header.status_or_flags != 0) return EPROTO;
        if (ntohl(header.sequence) & 1) replies->payload = ntohl(header.length);
        replies->filled = 0;
      }
    }
    bytes += piece;
    count -= piece;
  }
  return 0;
}

int floor_usbip_drive(int socket, size_t size, size_t bursts, size_t in_flight) {
  size_t unit = HEADER + size + HEADER, total = bursts * unit, sent = 0, numbered = 0;
  uint8_t *requests = calloc(in_flight, unit), *inbox = malloc(CHUNK);
  struct replies replies = {.filled = 0};
  struct epoll_event event = {.events = EPOLLIN};
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  int code = requests && inbox && epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0 ? 0 : ENOMEM;
  for (size_t index = 0; code == 0 && index < in_flight; index++) {
    submit(requests + index * unit, 0, 2, size);
    submit(requests + index * unit + HEADER + size, 1, 1, size);
  }
  while (code == 0 && replies.received < bursts * size) {
    size_t allowed = (replies.received / size + in_flight) * unit;
    if (allowed > total) allowed = total;
    int is_full = 0;
    while (code == 0 && sent < allowed && !is_full) {
      // The requests are in a ring, and those that may be sent go in one call, or in two at the end of the ring.
      for (; numbered < allowed; numbered += unit) {
        uint8_t *request = requests + numbered % (in_flight * unit);
        uint32_t number = (uint32_t)(numbered / unit) * 2 + 2;
        uint32_t write = htonl(number), read = htonl(number + 1);
        memcpy(request + 4, &write, 4);
        memcpy(request + HEADER + size + 4, &read, 4);
      }
      size_t at = sent % (in_flight * unit), count = in_flight * unit - at;
      if (count > allowed - sent) count = allowed - sent;
      ssize_t taken = send(socket, requests + at, count, MSG_NOSIGNAL);
      if (taken >= 0) sent += (size_t)taken;
      else if (errno == EAGAIN) is_full = 1;
      else if (errno != EINTR) code = errno;
    }
    event.events = is_full ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (code == 0 && is_full && epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) != 0) code = errno;
    if (code == 0 && epoll_wait(epoll, &event, 1, -1) < 0 && errno != EINTR) code = errno;
    event.events = EPOLLIN;
    if (code == 0 && is_full && epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) != 0) code = errno;
    ssize_t got = code == 0 ? recv(socket, inbox, CHUNK, MSG_DONTWAIT) : -1;
    if (got > 0) code = step(&replies, inbox, (size_t)got);
    else if (got == 0) code = EPIPE;
    else if (code == 0 && errno != EAGAIN && errno != EINTR) code = errno;
  }
  if (epoll >= 0) close(epoll);
  free(requests);
  free(inbox);
  return code;
}
