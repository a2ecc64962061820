// An echo and its load over an established link, as fast as we can write them in C: headers, both checksums, sequence
// numbers, acknowledgements with the data or alone, the window, and the timers for acknowledgements and repetitions.
//
// A session's bytes are copied twice in each direction, because the interface requires it: what was written is kept
// until it is acknowledged, and what arrived is kept until it is read.
#define _GNU_SOURCE
#include "BenchmarkFloors.h"
#include "end.h"
#include "wire.h"
#include <time.h>

enum {
  SESSION = 2,     // the link session of the data
  ID_SIZE = 2,     // a payload begins with the number of the External Accessory session
  ROOM = 1 << 19,  // for packets that are built, and for bytes that are unread
  BLOCK = 8 * 1024 // how much is copied before it is summed, while it is in the first-level cache
};

static const int64_t acknowledge_within = 22000000, repeat_after = 2000000000;

struct packet {
  uint32_t place, count;
};

struct floor_link {
  struct end end;
  size_t longest;
  int64_t now;
  // What arrived, as far as it is no complete packet.
  size_t held;
  uint8_t *input;
  // What was delivered to the session.
  size_t unread;
  uint8_t *inbox;
  uint8_t last, owed, must_acknowledge;
  int64_t acknowledge_at;
  // The packets that were written, by number: first is the oldest that is not acknowledged, unsent the next to send,
  // and next the one that the next write begins.
  struct packet packets[256];
  uint8_t first, unsent, next;
  size_t tail;
  uint8_t *tape;
  int64_t sent_at;
  int repetitions;
  // The part of the tape, or the acknowledgement, that the system has not taken yet.
  const uint8_t *rest;
  size_t rest_count;
  uint8_t acknowledgement[HEADER];
};

static int64_t clock_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

// The processor's widest vectors are chosen when the program starts.
#if defined(__x86_64__)
__attribute__((target_clones("avx512bw", "avx2", "default")))
#endif
static uint8_t sum_of(const uint8_t *bytes, size_t count) {
  uint8_t total = 0;
  for (size_t index = 0; index < count; index++) total += bytes[index];
  return total;
}

static uint8_t copy_and_sum(uint8_t *to, const uint8_t *bytes, size_t count) {
  uint8_t total = 0;
  while (count > 0) {
    size_t part = count < BLOCK ? count : BLOCK;
    memcpy(to, bytes, part);
    total += sum_of(bytes, part);
    to += part, bytes += part, count -= part;
  }
  return total;
}

struct floor_link *floor_link_open(int socket, size_t longest) {
  struct floor_link *link = calloc(1, sizeof *link);
  if (link == NULL) return NULL;
  link->longest = longest;
  link->first = link->unsent = link->next = 1;
  link->now = clock_now();
  link->inbox = malloc(2 * ROOM);
  // The input has room for a whole read behind the beginning of the longest packet.
  if (link->inbox == NULL || open_end(&link->end, socket, 2 * READ_SIZE + UINT16_MAX) != 0) {
    floor_link_close(link);
    return NULL;
  }
  link->input = link->end.bytes;
  link->tape = link->inbox + ROOM;
  return link;
}

void floor_link_close(struct floor_link *link) {
  close_end(&link->end);
  free(link->inbox);
  free(link);
}

// MARK: Sending

// Adds bytes to the newest packet, if it is unsent and has room, and to new ones.
static void write_bytes(struct floor_link *link, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    uint8_t number = (uint8_t)(link->next - 1);
    if (link->next == link->unsent || link->packets[number].count == link->longest) {
      if (link->first == link->next || link->tail + link->longest > ROOM) link->tail = 0;
      number = link->next++;
      link->packets[number] = (struct packet){(uint32_t)link->tail, OVERHEAD + ID_SIZE};
      uint8_t *start = link->tape + link->tail;
      start[HEADER] = 0;
      start[HEADER + 1] = 1;
      start[HEADER + ID_SIZE] = (uint8_t)-1;
      link->tail += OVERHEAD + ID_SIZE;
    }
    struct packet *packet = &link->packets[number];
    size_t taken = link->longest - packet->count;
    if (taken > count) taken = count;
    uint8_t *at = link->tape + packet->place + packet->count - 1, checksum = *at;
    at[taken] = checksum - copy_and_sum(at, bytes, taken);
    packet->count += taken;
    link->tail += taken;
    bytes += taken, count -= taken;
  }
}

static int give_rest(struct floor_link *link) {
  while (link->rest_count > 0) {
    ssize_t taken = give(&link->end, link->rest, link->rest_count);
    if (taken >= 0) {
      link->rest += taken;
      link->rest_count -= (size_t)taken;
      if (link->rest_count > 0) return 0;
    } else if (errno != EINTR) {
      return errno == EAGAIN ? 0 : errno;
    }
  }
  return 0;
}

// Sends all that may be sent, and an acknowledgement alone if one is due and none went with the data.
static int flush(struct floor_link *link) {
  int code = give_rest(link);
  while (code == 0 && link->rest_count == 0 && link->unsent != link->next &&
         (uint8_t)(link->unsent - link->first) < WINDOW) {
    size_t start = link->packets[link->unsent].place, end = start;
    if (link->unsent == link->first) link->sent_at = link->now;
    while (link->unsent != link->next && link->packets[link->unsent].place == end &&
           (uint8_t)(link->unsent - link->first) < WINDOW) {
      size_t count = link->packets[link->unsent].count;
      write_header(link->tape + end, count, link->unsent, link->last, SESSION);
      end += count;
      link->unsent++;
    }
    link->owed = link->must_acknowledge = 0;
    link->rest = link->tape + start;
    link->rest_count = end - start;
    code = give_rest(link);
  }
  if (code == 0 && link->rest_count == 0 && link->must_acknowledge) {
    write_header(link->acknowledgement, HEADER, (uint8_t)(link->unsent - 1), link->last, 0);
    link->owed = link->must_acknowledge = 0;
    link->rest = link->acknowledgement;
    link->rest_count = HEADER;
    code = give_rest(link);
  }
  return code;
}

// MARK: Receiving

static int handle(struct floor_link *link, const uint8_t *packet, size_t length) {
  uint8_t confirmed = (uint8_t)(packet[6] - link->first + 1);
  if (confirmed != 0 && confirmed <= (uint8_t)(link->unsent - link->first)) {
    link->first += confirmed;
    link->sent_at = link->now;
    link->repetitions = 0;
  }
  if (length <= OVERHEAD) return 0;
  uint8_t distance = (uint8_t)(packet[5] - link->last);
  if (distance != 1) {
    link->must_acknowledge = 1;
    return 0;
  }
  size_t count = length - OVERHEAD - ID_SIZE;
  if (length < OVERHEAD + ID_SIZE || packet[7] != SESSION || packet[HEADER] != 0 || packet[HEADER + 1] != 1)
    return EPROTO;
  if (link->unread + count > ROOM) return ENOBUFS;
  memcpy(link->inbox + link->unread, packet + HEADER + ID_SIZE, count);
  link->unread += count;
  link->last++;
  if (link->owed++ == 0) link->acknowledge_at = link->now + acknowledge_within;
  if (link->owed >= ACKNOWLEDGE_AFTER) link->must_acknowledge = 1;
  return 0;
}

static int receive(struct floor_link *link) {
  ssize_t count = take(&link->end, link->input + link->held, READ_SIZE);
  if (count == 0 || (count < 0 && link->end.is_terminal && errno == EIO)) return EPIPE;
  if (count < 0) return errno == EAGAIN || errno == EINTR ? 0 : errno;
  link->held += (size_t)count;
  size_t start = 0;
  int code = 0;
  while (code == 0) {
    const uint8_t *packet = link->input + start;
    ptrdiff_t length = read_header(packet, link->held - start);
    if (length < 0) return EPROTO;
    if (length == 0 || (size_t)length > link->held - start) break;
    if (length > HEADER && sum_of(packet + HEADER, (size_t)length - HEADER) != 0) return EPROTO;
    code = handle(link, packet, (size_t)length);
    start += (size_t)length;
  }
  link->held -= start;
  if (start > 0 && link->held > 0) memmove(link->input, link->input + start, link->held);
  return code;
}

// MARK: Turns

// Returns the milliseconds to the next deadline.
static int limit(const struct floor_link *link) {
  int64_t due = INT64_MAX;
  if (link->owed > 0) due = link->acknowledge_at;
  if (link->first != link->unsent && link->sent_at + repeat_after < due) due = link->sent_at + repeat_after;
  if (due == INT64_MAX) return -1;
  return due <= link->now ? 0 : (int)((due - link->now + 999999) / 1000000);
}

// Waits once, receives once, and does what is due.
static int turn(struct floor_link *link) {
  int code = wait_for(&link->end, link->rest_count > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN, limit(link));
  link->now = clock_now();
  if (code == 0) code = receive(link);
  if (link->owed > 0 && link->acknowledge_at <= link->now) link->must_acknowledge = 1;
  if (link->first != link->unsent && link->sent_at + repeat_after <= link->now) {
    if (link->repetitions++ == 30) return ETIMEDOUT;
    link->unsent = link->first;
  }
  return code;
}

int floor_link_serve(int socket, size_t longest) {
  struct floor_link *link = floor_link_open(socket, longest);
  if (link == NULL) return ENOMEM;
  int code = 0;
  while (code == 0) {
    if ((code = turn(link)) != 0) break;
    write_bytes(link, link->inbox, link->unread);
    link->unread = 0;
    code = flush(link);
  }
  floor_link_close(link);
  return code == EPIPE ? 0 : code;
}

int floor_link_drive(struct floor_link *link, size_t size, size_t bursts, size_t in_flight, int64_t *nanoseconds) {
  size_t total = size * bursts, sent = 0, received = 0, done = 0;
  uint8_t *burst = size * in_flight > ROOM / 2 ? NULL : malloc(size);
  if (burst == NULL) return ENOMEM;
  for (size_t index = 0; index < size; index++) burst[index] = (uint8_t)index;
  int code = 0;
  int64_t start = clock_now();
  link->now = start;
  while (code == 0 && received < total) {
    for (; sent < total && sent < (received / size + in_flight) * size; sent += size) write_bytes(link, burst, size);
    if ((code = flush(link)) != 0) break;
    if ((code = turn(link)) != 0) break;
    received += link->unread;
    link->unread = 0;
    if (nanoseconds != NULL && received / size > done) {
      int64_t now = clock_now();
      nanoseconds[done++] = now - start;
      start = now;
    }
  }
  free(burst);
  return code;
}
