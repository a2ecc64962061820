// Fails one call of a program: the n-th call of one of the functions below. Scripts/inject loads it before the C
// library.
//
//   INJECT_CALL    the function, such as write
//   INJECT_NUMBER  which call of it, from 1; 0 for none
//   INJECT_ERROR   the errno, as a number; or "short": half of the requested bytes are read or written
//   INJECT_COUNTS  a file that gets a line for each function, with the number of its calls, when the program exits
//
// Only calls by the program itself are counted: neither calls by processes that it forks, nor calls before its main.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define CALLS(X) \
  X(malloc) X(calloc) X(realloc) X(posix_memalign) X(aligned_alloc) \
  X(read) X(write) X(writev) X(recv) X(send) X(sendmsg) X(accept4) X(connect) X(socket) X(bind) X(listen) \
  X(open) X(pipe2) X(fork) X(pthread_create) X(epoll_create1) X(epoll_ctl) X(epoll_wait) X(epoll_pwait2) \
  X(eventfd) X(signalfd) X(inotify_init1) X(inotify_add_watch) X(fsync) X(rename) X(mkdir) X(flock) X(poll)

enum call {
#define X(name) call_##name,
  CALLS(X)
#undef X
  call_count
};

static const char *const names[] = {
#define X(name) #name,
  CALLS(X)
#undef X
};

static atomic_long seen[call_count];
static int chosen = -1;
static long number;
static int code;
static int is_short;
static pid_t owner;

__attribute__((constructor)) static void begin(void) {
  const char *call = getenv("INJECT_CALL"), *which = getenv("INJECT_NUMBER"), *error = getenv("INJECT_ERROR");
  number = which ? atol(which) : 0;
  is_short = error && strcmp(error, "short") == 0;
  code = error ? atoi(error) : EIO;
  for (int index = 0; call && index < call_count; index++) {
    if (strcmp(call, names[index]) == 0) chosen = index;
  }
  owner = getpid();
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("INJECT_COUNTS");
  if (!path || getpid() != owner) return;
  int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  for (int index = 0; index < call_count; index++) {
    char line[64];
    int length = snprintf(line, sizeof line, "%s %ld\n", names[index], atomic_load(&seen[index]));
    if (syscall(SYS_write, file, line, length) < 0) break;
  }
  syscall(SYS_close, file);
}

// Returns whether this call is the one that must fail.
static int is_due(enum call call) {
  if (!owner || getpid() != owner) return 0;
  long count = atomic_fetch_add(&seen[call], 1) + 1;
  return (int)call == chosen && count == number;
}

static int fails(enum call call) {
  if (!is_due(call) || is_short) return 0;
  errno = code;
  return 1;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

// Fails or forwards the call, for functions that return -1 on failure.
#define WRAP(result, name, parameters, arguments) \
  result name parameters { \
    REAL(name); \
    return fails(call_##name) ? -1 : real arguments; \
  }

// Like `WRAP`, but the call may also transfer only half of the bytes.
#define WRAP_COUNT(name, parameters, arguments) \
  ssize_t name parameters { \
    REAL(name); \
    if (is_due(call_##name)) { \
      if (!is_short) { \
        errno = code; \
        return -1; \
      } \
      if (count > 1) count = count / 2; \
    } \
    return real arguments; \
  }

WRAP_COUNT(read, (int fd, void *bytes, size_t count), (fd, bytes, count))
WRAP_COUNT(write, (int fd, const void *bytes, size_t count), (fd, bytes, count))
WRAP_COUNT(recv, (int fd, void *bytes, size_t count, int flags), (fd, bytes, count, flags))
WRAP_COUNT(send, (int fd, const void *bytes, size_t count, int flags), (fd, bytes, count, flags))
WRAP(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
WRAP(int, accept4, (int fd, struct sockaddr *address, socklen_t *length, int flags), (fd, address, length, flags))
WRAP(int, connect, (int fd, const struct sockaddr *address, socklen_t length), (fd, address, length))
WRAP(int, socket, (int family, int type, int protocol), (family, type, protocol))
WRAP(int, bind, (int fd, const struct sockaddr *address, socklen_t length), (fd, address, length))
WRAP(int, listen, (int fd, int count), (fd, count))
WRAP(int, pipe2, (int ends[2], int flags), (ends, flags))
WRAP(pid_t, fork, (void), ())
WRAP(int, epoll_create1, (int flags), (flags))
WRAP(int, epoll_ctl, (int epoll, int what, int fd, struct epoll_event *event), (epoll, what, fd, event))
WRAP(int, epoll_wait, (int epoll, struct epoll_event *events, int count, int limit), (epoll, events, count, limit))
WRAP(int, epoll_pwait2,
     (int epoll, struct epoll_event *events, int count, const struct timespec *limit, const sigset_t *mask),
     (epoll, events, count, limit, mask))
WRAP(int, eventfd, (unsigned value, int flags), (value, flags))
WRAP(int, signalfd, (int fd, const sigset_t *mask, int flags), (fd, mask, flags))
WRAP(int, inotify_init1, (int flags), (flags))
WRAP(int, inotify_add_watch, (int fd, const char *path, uint32_t mask), (fd, path, mask))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, rename, (const char *from, const char *to), (from, to))
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(int, flock, (int fd, int what), (fd, what))
WRAP(int, poll, (struct pollfd *list, nfds_t count, int limit), (list, count, limit))

int open(const char *path, int flags, ...) {
  REAL(open);
  mode_t mode = 0;
  if (flags & (O_CREAT | __O_TMPFILE)) {
    va_list more;
    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
  }
  return fails(call_open) ? -1 : real(path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  REAL(pthread_create);
  if (fails(call_pthread_create)) return code;
  return real(thread, attributes, body, argument);
}

// The allocation functions call glibc's functions by their internal names, because dlsym itself allocates.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) { return fails(call_malloc) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails(call_calloc) ? NULL : __libc_calloc(count, size); }
void *realloc(void *block, size_t size) { return fails(call_realloc) ? NULL : __libc_realloc(block, size); }

void *aligned_alloc(size_t alignment, size_t size) {
  return fails(call_aligned_alloc) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
  if (fails(call_posix_memalign)) return code;
  void *found = __libc_memalign(alignment, size);
  if (!found) return ENOMEM;
  *block = found;
  return 0;
}
