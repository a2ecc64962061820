// One end of a stream (a socket or a terminal) and its epoll, for the baselines that echo.
#pragma once
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

// The size of EpollLoop's read buffer.
enum { READ_SIZE = 48 * 1024 };

struct end {
  int socket;
  int epoll;
  int is_terminal;
  uint8_t *bytes;
};

static inline ssize_t take(const struct end *end, uint8_t *bytes, size_t count) {
  return end->is_terminal ? read(end->socket, bytes, count) : recv(end->socket, bytes, count, 0);
}

static inline ssize_t give(const struct end *end, const uint8_t *bytes, size_t count) {
  return end->is_terminal ? write(end->socket, bytes, count) : send(end->socket, bytes, count, MSG_NOSIGNAL);
}

static inline int open_end(struct end *end, int socket, size_t room) {
  end->socket = socket;
  end->is_terminal = isatty(socket);
  end->epoll = epoll_create1(EPOLL_CLOEXEC);
  end->bytes = aligned_alloc(64, (room + 63) / 64 * 64);
  if (end->epoll < 0 || end->bytes == NULL) return errno;
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = 0};
  return epoll_ctl(end->epoll, EPOLL_CTL_ADD, socket, &event) == 0 ? 0 : errno;
}

static inline void close_end(struct end *end) {
  if (end->epoll >= 0) close(end->epoll);
  free(end->bytes);
}

// Waits for at most so many milliseconds; -1 is forever.
static inline int wait_for(struct end *end, uint32_t interest, int limit) {
  struct epoll_event event = {.events = interest, .data.u64 = 0};
  if (interest != EPOLLIN && epoll_ctl(end->epoll, EPOLL_CTL_MOD, end->socket, &event) != 0) return errno;
  while (epoll_wait(end->epoll, &event, 1, limit) < 0) {
    if (errno != EINTR) return errno;
  }
  if (interest == EPOLLIN) return 0;
  event = (struct epoll_event){.events = EPOLLIN, .data.u64 = 0};
  return epoll_ctl(end->epoll, EPOLL_CTL_MOD, end->socket, &event) == 0 ? 0 : errno;
}
