// Lines between two processes. easim and the baseline are measured over the same lines.
#define _GNU_SOURCE
#include "BenchmarkFloors.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

int floor_unix_pair(int *near, int *far) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) return errno;
  *near = pair[0];
  *far = pair[1];
  return 0;
}

static int connect_both(int listener, int *near, int *far) {
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof name;
  if (bind(listener, (struct sockaddr *)&name, length) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, (struct sockaddr *)&name, &length) != 0)
    return errno;
  *near = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (*near < 0 || connect(*near, (struct sockaddr *)&name, length) != 0) return errno;
  *far = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (*far < 0 || fcntl(*near, F_SETFL, O_NONBLOCK) != 0) return errno;
  int one = 1;
  setsockopt(*near, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(*far, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return 0;
}

static int give_up(int code, int *near, int *far) {
  if (*near >= 0) close(*near);
  if (*far >= 0) close(*far);
  return code;
}

int floor_tcp_pair(int *near, int *far) {
  *near = *far = -1;
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return errno;
  int code = connect_both(listener, near, far);
  close(listener);
  return code == 0 ? 0 : give_up(code, near, far);
}

int floor_pty_pair(int *near, int *far) {
  struct termios raw;
  char name[64];
  *near = -1;
  *far = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (*far < 0) return errno;
  if (grantpt(*far) != 0 || unlockpt(*far) != 0 || ptsname_r(*far, name, sizeof name) != 0)
    return give_up(errno, near, far);
  *near = open(name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (*near < 0 || tcgetattr(*near, &raw) != 0) return give_up(errno, near, far);
  cfmakeraw(&raw);
  return tcsetattr(*near, TCSANOW, &raw) == 0 ? 0 : give_up(errno, near, far);
}
