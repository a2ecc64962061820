// Many connected pairs of unix sockets in one process: the minimum work for attaching that many accessories.
#define _GNU_SOURCE
#include "BenchmarkFloors.h"
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE = 100, EVENTS = 64 };

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int watch(int epoll, int socket) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = socket};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) == 0 ? 0 : errno;
}

// Connects `count` pairs and sends the first message on each.
static int connect_some(int epoll, int listener, const struct sockaddr_un *name, size_t count) {
  uint8_t message[MESSAGE] = {0};
  for (size_t index = 0; index < count; index++) {
    int one = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (one < 0 || connect(one, (const struct sockaddr *)name, sizeof *name) != 0) return errno;
    int other = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    int code = other < 0 ? errno : watch(epoll, one);
    if (code == 0) code = watch(epoll, other);
    if (code == 0 && send(one, message, MESSAGE, MSG_NOSIGNAL) != MESSAGE) code = errno;
    if (code != 0) return code;
  }
  return 0;
}

// Sends back every message until `messages` messages have arrived.
static int exchange(int epoll, size_t messages) {
  struct epoll_event events[EVENTS];
  uint8_t message[MESSAGE];
  while (messages > 0) {
    int ready = epoll_wait(epoll, events, EVENTS, -1);
    if (ready < 0 && errno != EINTR) return errno;
    for (int index = 0; index < ready && messages > 0; index++) {
      int socket = events[index].data.fd;
      if (recv(socket, message, MESSAGE, 0) != MESSAGE) return EPROTO;
      if (--messages > 0 && send(socket, message, MESSAGE, MSG_NOSIGNAL) != MESSAGE) return errno;
    }
  }
  return 0;
}

int floor_crowd(const char *path, size_t count, size_t batch, size_t rounds, int64_t *nanoseconds) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof name.sun_path) return ENAMETOOLONG;
  strcpy(name.sun_path, path);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&name, sizeof name) != 0 || listen(listener, (int)batch) != 0)
    return errno;
  int code = 0;
  int64_t start = now();
  for (size_t connected = 0; connected < count && code == 0;) {
    size_t some = count - connected < batch ? count - connected : batch;
    // Each batch has its own epoll set, so that late events of earlier batches are not counted.
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    code = epoll < 0 ? errno : connect_some(epoll, listener, &name, some);
    if (code == 0) code = exchange(epoll, 2 * rounds * some);
    close(epoll);
    connected += some;
  }
  *nanoseconds = now() - start;
  unlink(path);
  return code;
}
