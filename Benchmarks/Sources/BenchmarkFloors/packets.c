// The link's packets in plain C: the cost of a copy, two checksums and a few comparisons, and nothing else.
#include "BenchmarkFloors.h"
#include "wire.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static size_t build(uint8_t *packet, uint8_t sequence, uint8_t acknowledgement, const uint8_t *payload, size_t size) {
  size_t length = size + OVERHEAD;
  write_header(packet, length, sequence, acknowledgement, 2);
  memcpy(packet + HEADER, payload, size);
  packet[HEADER + size] = (uint8_t)-sum(payload, size);
  return length;
}

// Returns the size of the payload, or -1 if the packet is invalid.
static ptrdiff_t parse(const uint8_t *packet, size_t count) {
  ptrdiff_t length = read_header(packet, count);
  if (length < OVERHEAD || (size_t)length > count || sum(packet + HEADER, (size_t)length - HEADER) != 0) return -1;
  return length - OVERHEAD;
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
    // The bytes that arrived are the next payload, so that no copy can be optimized away.
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
    // The payload begins with two bytes that identify the session.
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

struct carry {
  uint8_t *memory;
  size_t count, end;
};

size_t floor_keep(const uint8_t *bytes, size_t count, size_t size) {
  static uint8_t memory[64 * 1024];
  struct carry carry = {memory, 0, size};
  size_t packets = 0;
  for (size_t index = 0; index < count; index++) {
    // What is kept between two calls is in memory.
    __asm__ volatile("" : "+m"(carry));
    carry.memory[carry.count++] = bytes[index];
    if (carry.count == carry.end) {
      packets++;
      carry.count = 0;
    }
  }
  return packets;
}

// Waits with epoll until a socket is readable, as a loop does once per turn.
static int wait_readable(int epoll) {
  struct epoll_event event;
  while (epoll_wait(epoll, &event, 1, -1) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

static int watch(int socket, int *epoll) {
  struct epoll_event event = {.events = EPOLLIN};
  *epoll = epoll_create1(EPOLL_CLOEXEC);
  return *epoll >= 0 && epoll_ctl(*epoll, EPOLL_CTL_ADD, socket, &event) == 0 ? 0 : errno;
}

static int send_whole(int socket, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    ssize_t taken = send(socket, bytes, count, MSG_NOSIGNAL);
    if (taken >= 0) {
      bytes += taken;
      count -= (size_t)taken;
    } else if (errno == EAGAIN) {
      struct pollfd room = {.fd = socket, .events = POLLOUT};
      poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

enum { STREAM_READ = 48 * 1024 };

int floor_stream_serve(int socket) {
  uint8_t *bytes = counting(STREAM_READ), *inbox = counting(STREAM_READ), answer[OVERHEAD];
  size_t held = 0;
  int epoll = -1, code = watch(socket, &epoll);
  while (code == 0 && (code = wait_readable(epoll)) == 0) {
    ssize_t count = recv(socket, bytes + held, STREAM_READ - held, 0);
    if (count == 0) break;
    if (count < 0) {
      code = errno == EAGAIN || errno == EINTR ? 0 : errno;
      continue;
    }
    held += (size_t)count;
    size_t start = 0, used = 0;
    uint8_t last = 0;
    ptrdiff_t found;
    while ((found = parse(bytes + start, held - start)) >= 0) {
      last = bytes[start + 5];
      memcpy(inbox + used, bytes + start + HEADER, (size_t)found);
      used += (size_t)found;
      start += (size_t)found + OVERHEAD;
    }
    memmove(bytes, bytes + start, held - start);
    held -= start;
    if (start > 0) {
      build(answer, 0, last, bytes, 0);
      code = send_whole(socket, answer, OVERHEAD);
    }
  }
  close(epoll);
  free(bytes);
  free(inbox);
  return code;
}

int floor_stream_drive(int socket, size_t size, size_t count) {
  uint8_t *payload = counting(size), *run = counting(WINDOW * (size + OVERHEAD)), answers[256 * OVERHEAD];
  size_t sent = 0, acknowledged = 0, held = 0;
  static uint8_t sequence;
  uint8_t first = (uint8_t)(sequence + 1);
  int epoll = -1, code = watch(socket, &epoll);
  while (code == 0 && acknowledged < count) {
    size_t length = 0;
    while (sent < count && sent - acknowledged < WINDOW) {
      length += build(run + length, ++sequence, 0, payload, size);
      sent++;
    }
    if (length > 0 && (code = send_whole(socket, run, length)) != 0) break;
    if ((code = wait_readable(epoll)) != 0) break;
    ssize_t came = recv(socket, answers + held, sizeof answers - held, 0);
    if (came <= 0) {
      if (came == 0) code = EPIPE;
      else if (errno != EAGAIN && errno != EINTR) code = errno;
      continue;
    }
    held += (size_t)came;
    size_t start = 0;
    for (; held - start >= OVERHEAD; start += OVERHEAD) {
      if (parse(answers + start, OVERHEAD) != 0) code = EPROTO;
      acknowledged += (uint8_t)(answers[start + 6] - (uint8_t)(first + acknowledged) + 1);
    }
    memmove(answers, answers + start, held - start);
    held -= start;
  }
  close(epoll);
  free(payload);
  free(run);
  return code;
}
