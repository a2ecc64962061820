// An echo and its load over one stream (a socket or a terminal), as simple as possible. It has the same structure as
// easim's loop, but no protocol.
#define _GNU_SOURCE
#include "BenchmarkFloors.h"
#include "end.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

int floor_echo_serve(int socket) {
  struct end end = {.epoll = -1};
  int code = open_end(&end, socket, READ_SIZE);
  while (code == 0) {
    if ((code = wait_for(&end, EPOLLIN, -1)) != 0) break;
    ssize_t count = take(&end, end.bytes, READ_SIZE);
    // On a terminal whose other end is closed, read fails with EIO.
    if (count == 0 || (count < 0 && end.is_terminal && errno == EIO)) break;
    if (count < 0) {
      code = errno == EAGAIN || errno == EINTR ? 0 : errno;
      continue;
    }
    // The load test never has more bytes in flight than the sockets can hold, so waiting here cannot deadlock.
    for (ssize_t sent = 0; sent < count && code == 0;) {
      ssize_t taken = give(&end, end.bytes + sent, (size_t)(count - sent));
      if (taken >= 0) {
        sent += taken;
      } else if (errno == EAGAIN) {
        code = wait_for(&end, EPOLLOUT, -1);
      } else if (errno != EINTR) {
        code = errno;
      }
    }
  }
  close_end(&end);
  return code;
}

int floor_echo_drive(int socket, size_t size, size_t bursts, size_t in_flight) {
  struct end end = {.epoll = -1};
  size_t room = size * in_flight;
  int code = open_end(&end, socket, room + READ_SIZE);
  uint8_t *inbox = end.bytes + room;
  for (size_t index = 0; code == 0 && index < room; index++) end.bytes[index] = (uint8_t)index;

  size_t total = size * bursts, sent = 0, received = 0;
  while (code == 0 && received < total) {
    // Sends only whole bursts, and only as many as may be in flight.
    size_t allowed = (received / size + in_flight) * size;
    if (allowed > total) allowed = total;
    uint32_t interest = EPOLLIN;
    if (sent < allowed) {
      ssize_t taken = give(&end, end.bytes, allowed - sent);
      if (taken >= 0) {
        sent += (size_t)taken;
      } else if (errno != EAGAIN && errno != EINTR) {
        code = errno;
        break;
      }
      if (sent < allowed) interest = EPOLLIN | EPOLLOUT;
    }
    if ((code = wait_for(&end, interest, -1)) != 0) break;
    ssize_t count = take(&end, inbox, READ_SIZE);
    if (count > 0) {
      received += (size_t)count;
    } else if (count == 0) {
      code = EPIPE;
    } else if (errno != EAGAIN && errno != EINTR) {
      code = errno;
    }
  }
  close_end(&end);
  return code;
}

int floor_ping(int socket, size_t size, size_t count, int64_t *nanoseconds) {
  struct end end = {.epoll = -1};
  int code = open_end(&end, socket, size);
  for (size_t index = 0; code == 0 && index < size; index++) end.bytes[index] = (uint8_t)index;
  for (size_t index = 0; code == 0 && index < count; index++) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (give(&end, end.bytes, size) != (ssize_t)size) code = errno;
    for (size_t received = 0; code == 0 && received < size;) {
      if ((code = wait_for(&end, EPOLLIN, -1)) != 0) break;
      ssize_t taken = take(&end, end.bytes, size);
      if (taken > 0) {
        received += (size_t)taken;
      } else if (taken == 0) {
        code = EPIPE;
      } else if (errno != EAGAIN && errno != EINTR) {
        code = errno;
      }
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    nanoseconds[index] = (now.tv_sec - start.tv_sec) * INT64_C(1000000000) + now.tv_nsec - start.tv_nsec;
  }
  close_end(&end);
  return code;
}

size_t floor_memory_echo(size_t size, size_t bursts, size_t in_flight) {
  size_t room = size * in_flight, echoed = 0;
  uint8_t *memory = calloc(5, room), *bytes = memory, *cable = bytes + room, *inbox = cable + room;
  uint8_t *back = inbox + room, *home = back + room;
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event;
  for (size_t index = 0; index < room; index++) bytes[index] = (uint8_t)index;
  // Each pass has one loop turn per direction: into the cable, and out of it.
  while (echoed < bursts) {
    size_t some = bursts - echoed < in_flight ? bursts - echoed : in_flight;
    memcpy(cable, bytes, some * size);
    epoll_wait(epoll, &event, 1, 0);
    memcpy(inbox, cable, some * size);
    memcpy(back, inbox, some * size);
    epoll_wait(epoll, &event, 1, 0);
    memcpy(home, back, some * size);
    // The next burst consists of the received bytes, so that no copy can be optimized away.
    uint8_t *swapped = bytes;
    bytes = home;
    home = swapped;
    echoed += some;
  }
  close(epoll);
  free(memory);
  return echoed;
}

int floor_pace(size_t chunk, double rate, size_t count, double *arrived) {
  int pair[2];
  uint8_t *bytes = calloc(2, chunk);
  struct timespec start, now, first = {0};
  if (bytes == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return errno;
  int code = 0;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (size_t index = 0; index < count && code == 0; index++) {
    int64_t due = (int64_t)((double)index * (double)chunk / rate * 1e9) + start.tv_nsec;
    struct timespec time = {start.tv_sec + due / 1000000000, due % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    if (send(pair[0], bytes, chunk, MSG_NOSIGNAL) != (ssize_t)chunk ||
        recv(pair[1], bytes + chunk, chunk, MSG_WAITALL) != (ssize_t)chunk)
      code = errno;
    clock_gettime(CLOCK_MONOTONIC, index == 0 ? &first : &now);
  }
  *arrived = (double)(chunk * (count - 1)) /
             ((double)(now.tv_sec - first.tv_sec) + (double)(now.tv_nsec - first.tv_nsec) * 1e-9);
  close(pair[0]);
  close(pair[1]);
  free(bytes);
  return code;
}

static cpu_set_t everywhere;

void floor_stay_on(int index) {
  cpu_set_t one;
  if (CPU_COUNT(&everywhere) == 0) sched_getaffinity(0, sizeof everywhere, &everywhere);
  if (CPU_COUNT(&everywhere) < 2) return;
  CPU_ZERO(&one);
  for (int processor = 0; processor < CPU_SETSIZE; processor++) {
    if (CPU_ISSET(processor, &everywhere) && index-- == 0) CPU_SET(processor, &one);
  }
  sched_setaffinity(0, sizeof one, CPU_COUNT(&one) == 1 ? &one : &everywhere);
}
