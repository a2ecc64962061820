#define _GNU_SOURCE
#include "CLinux.h"
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/usb/functionfs.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

int clinux_clock_error(int64_t *microseconds) {
  struct timex clock = {.modes = 0};
  if (adjtimex(&clock) < 0) return -1;
  *microseconds = clock.maxerror;
  return (clock.status & STA_UNSYNC) != 0;
}

static atomic_int without_pwait2;

int clinux_epoll_wait(int epoll, struct epoll_event *events, int count, int64_t timeout) {
  if (!atomic_load_explicit(&without_pwait2, memory_order_relaxed)) {
    struct timespec limit = {timeout / 1000000000, timeout % 1000000000};
    int n = epoll_pwait2(epoll, events, count, timeout < 0 ? NULL : &limit, NULL);
    if (n >= 0 || (errno != ENOSYS && errno != EPERM)) return n;
    atomic_store_explicit(&without_pwait2, 1, memory_order_relaxed);
  }
  int64_t milliseconds = timeout < 0 ? -1 : timeout / 1000000 + (timeout % 1000000 != 0);
  return epoll_wait(epoll, events, count, milliseconds > INT_MAX ? INT_MAX : (int)milliseconds);
}

int clinux_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token) {
  struct epoll_event event = {.events = events, .data.u64 = token};
  return epoll_ctl(epoll, operation, descriptor, &event);
}

const void *clinux_find(const void *all, size_t room, const void *bytes, size_t count) {
  return memmem(all, room, bytes, count);
}

int clinux_peer_credentials(int socket, int32_t *pid, uint32_t *uid) {
  struct ucred who;
  socklen_t length = sizeof who;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) return -1;
  *pid = who.pid;
  *uid = who.uid;
  return 0;
}

int clinux_accept(int listener, struct sockaddr *address, socklen_t *length) {
  return accept4(listener, address, length, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

int clinux_open_pty(char *name, size_t room) {
  int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (master < 0) return -1;
  if (grantpt(master) == 0 && unlockpt(master) == 0 && ptsname_r(master, name, room) == 0) return master;
  int code = errno;
  close(master);
  errno = code;
  return -1;
}

int clinux_open_process(int32_t pid) {
#ifdef SYS_pidfd_open
  return (int)syscall(SYS_pidfd_open, pid, 0);
#else
  (void)pid;
  errno = ENOSYS;
  return -1;
#endif
}

char *const *clinux_environment(void) {
  return environ;
}

ssize_t clinux_write_to_pipe(int pipe, const void *bytes, size_t count) {
  sigset_t broken, before, pending;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  if (pthread_sigmask(SIG_BLOCK, &broken, &before) != 0) return -1;
  sigpending(&pending);
  ssize_t written = write(pipe, bytes, count);
  int code = errno;
  if (written < 0 && code == EPIPE && !sigismember(&pending, SIGPIPE)) {
    struct timespec now = {0, 0};
    while (sigtimedwait(&broken, NULL, &now) < 0 && errno == EINTR) {}
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = code;
  return written;
}

int clinux_pipe(int ends[2]) {
  return pipe2(ends, O_CLOEXEC);
}

int clinux_close_from(posix_spawn_file_actions_t *actions, int first) {
#if __GLIBC_PREREQ(2, 34)
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
#else
  return 0;
#endif
}

int clinux_aio_make(unsigned count, uint64_t *context) {
  aio_context_t made = 0;
  int result = (int)syscall(SYS_io_setup, count, &made);
  *context = made;
  return result;
}

long clinux_aio_submit(uint64_t context, long count, struct iocb **operations) {
  return syscall(SYS_io_submit, (aio_context_t)context, count, operations);
}

long clinux_aio_take(uint64_t context, long count, struct io_event *completions) {
  struct timespec now = {0, 0};
  return syscall(SYS_io_getevents, (aio_context_t)context, 0L, count, completions, &now);
}

void clinux_aio_cancel(uint64_t context, struct iocb *operation) {
  struct io_event unused;
  syscall(SYS_io_cancel, (aio_context_t)context, operation, &unused);
}

void clinux_aio_end(uint64_t context) {
  syscall(SYS_io_destroy, (aio_context_t)context);
}

int clinux_mount_functionfs(const char *source) {
#if defined(SYS_fsopen) && defined(SYS_fsconfig) && defined(SYS_fsmount)
  int system = (int)syscall(SYS_fsopen, "functionfs", FSOPEN_CLOEXEC);
  if (system < 0) return -1;
  int folder = -1;
  if (syscall(SYS_fsconfig, system, FSCONFIG_SET_STRING, "source", source, 0) == 0 &&
      syscall(SYS_fsconfig, system, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0) {
    folder = (int)syscall(SYS_fsmount, system, FSMOUNT_CLOEXEC, 0);
  }
  int code = errno;
  close(system);
  errno = code;
  return folder;
#else
  (void)source;
  errno = ENOSYS;
  return -1;
#endif
}

int clinux_functionfs_packet_size(int endpoint) {
  struct usb_endpoint_descriptor descriptor;
  if (ioctl(endpoint, FUNCTIONFS_ENDPOINT_DESC, &descriptor) < 0) return -1;
  return descriptor.wMaxPacketSize & 0x7FF;
}

// The settings that the terminal had before it was switched to raw mode. Either the program or its crash handler
// restores the settings.
static struct termios terminal_before;
static volatile sig_atomic_t terminal_held;
static int terminal_descriptor;
// The text to write when the terminal is restored.
static const char *terminal_leave;

// While a process is in the background, the terminal's settings belong to the shell, and changing them would stop the
// process.
static int terminal_is_ours(int descriptor) {
  pid_t group = tcgetpgrp(descriptor);
  return group < 0 || group == getpgrp();
}

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGQUIT};
enum { crash_count = sizeof crash_signals / sizeof *crash_signals };
static struct sigaction crash_before[crash_count];

void clinux_terminal_release(void) {
  if (!terminal_held) return;
  terminal_held = 0;
  int code = errno;
  // The settings are restored first, and with TCSANOW, because both writing and TCSADRAIN would block on a stopped
  // terminal.
  if (terminal_is_ours(terminal_descriptor)) {
    tcsetattr(terminal_descriptor, TCSANOW, &terminal_before);
    if (write(terminal_descriptor, terminal_leave, strlen(terminal_leave)) < 0) {}
  }
  errno = code;
}

static void terminal_crashed(int signal) {
  clinux_terminal_release();
  // The signal's previous handler is restored, and receives the signal when this function returns.
  for (int i = 0; i < crash_count; i++) {
    if (crash_signals[i] == signal) sigaction(signal, &crash_before[i], NULL);
  }
  raise(signal);
}

static int terminal_take(int descriptor, int keeps_lines) {
  static int has_handlers;
  if (terminal_held) return 0;
  if (!terminal_is_ours(descriptor)) {
    errno = EAGAIN;
    return -1;
  }
  if (tcgetattr(descriptor, &terminal_before) != 0) return -1;
  if (!has_handlers) {
    struct sigaction action = {.sa_handler = terminal_crashed, .sa_flags = SA_ONSTACK};
    sigfillset(&action.sa_mask);
    for (int i = 0; i < crash_count; i++) sigaction(crash_signals[i], &action, &crash_before[i]);
    atexit(clinux_terminal_release);
    has_handlers = 1;
  }
  struct termios raw = terminal_before;
  if (keeps_lines) {
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
  } else {
    cfmakeraw(&raw);
  }
  terminal_leave = keeps_lines ? "\r\033[2K" : "\033[0m\033[?25h\033[?1049l";
  terminal_descriptor = descriptor;
  terminal_held = 1;
  if (tcsetattr(descriptor, TCSANOW, &raw) == 0) return 0;
  int code = errno;
  clinux_terminal_release();
  errno = code;
  return -1;
}

int clinux_terminal_hold(int descriptor) { return terminal_take(descriptor, 0); }

int clinux_terminal_hold_keys(int descriptor) { return terminal_take(descriptor, 1); }

int clinux_terminal_is_ours(int descriptor) { return terminal_is_ours(descriptor); }

// AccessoryHardware defines this function; in a program without AccessoryHardware, its address is NULL.
__attribute__((weak)) void easim_add_hardware_media(void *table);

void clinux_add_hardware_media(void *table) {
  if (easim_add_hardware_media) easim_add_hardware_media(table);
}

int clinux_exchange(const char *one, const char *other) {
  return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

int clinux_rename_to_free(const char *from, const char *to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  // The file system does not support the flag, but creating a second name for the same file has the same effect.
  if (errno != EINVAL || link(from, to) != 0) return -1;
  unlink(from);
  return 0;
}

// Linux's Bluetooth addresses (net/bluetooth), declared here because their headers come in a separate package.
struct clinux_bdaddr {
  uint8_t bytes[6];
} __attribute__((packed));

struct clinux_sockaddr_rfcomm {
  sa_family_t family;
  struct clinux_bdaddr address;
  uint8_t channel;
};

struct clinux_sockaddr_l2cap {
  sa_family_t family;
  uint16_t psm;
  struct clinux_bdaddr address;
  uint16_t cid;
  uint8_t address_type;
};

enum { CLINUX_BTPROTO_L2CAP = 0, CLINUX_BTPROTO_RFCOMM = 3, CLINUX_SOL_BLUETOOTH = 274, CLINUX_BT_SECURITY = 4 };

static int clinux_close_keeping_errno(int descriptor) {
  int code = errno;
  close(descriptor);
  errno = code;
  return -1;
}

int clinux_bluetooth_connect(int channel, const uint8_t local[6], const uint8_t remote[6]) {
  int is_rfcomm = channel > 0;
  int type = (is_rfcomm ? SOCK_STREAM : SOCK_SEQPACKET) | SOCK_CLOEXEC | SOCK_NONBLOCK;
  int descriptor = socket(AF_BLUETOOTH, type, is_rfcomm ? CLINUX_BTPROTO_RFCOMM : CLINUX_BTPROTO_L2CAP);
  if (descriptor < 0) return -1;
  if (is_rfcomm) {
    // Level 2 (medium) means that the connection is encrypted with the bond's key.
    struct {
      uint8_t level;
      uint8_t key_size;
    } security = {2, 0};
    setsockopt(descriptor, CLINUX_SOL_BLUETOOTH, CLINUX_BT_SECURITY, &security, sizeof security);
    struct clinux_sockaddr_rfcomm name = {.family = AF_BLUETOOTH};
    memcpy(name.address.bytes, local, 6);
    if (bind(descriptor, (struct sockaddr *)&name, sizeof name) < 0) return clinux_close_keeping_errno(descriptor);
    memcpy(name.address.bytes, remote, 6);
    name.channel = (uint8_t)channel;
    if (connect(descriptor, (struct sockaddr *)&name, sizeof name) < 0 && errno != EINPROGRESS && errno != EAGAIN)
      return clinux_close_keeping_errno(descriptor);
  } else {
    struct clinux_sockaddr_l2cap name = {.family = AF_BLUETOOTH};
    memcpy(name.address.bytes, local, 6);
    if (bind(descriptor, (struct sockaddr *)&name, sizeof name) < 0) return clinux_close_keeping_errno(descriptor);
    memcpy(name.address.bytes, remote, 6);
    name.psm = htole16(1);
    if (connect(descriptor, (struct sockaddr *)&name, sizeof name) < 0 && errno != EINPROGRESS && errno != EAGAIN)
      return clinux_close_keeping_errno(descriptor);
  }
  return descriptor;
}

int clinux_bluetooth_is_free(int channel) {
  int descriptor = socket(AF_BLUETOOTH, SOCK_STREAM | SOCK_CLOEXEC, CLINUX_BTPROTO_RFCOMM);
  if (descriptor < 0) return 1;
  struct clinux_sockaddr_rfcomm name = {.family = AF_BLUETOOTH, .channel = (uint8_t)channel};
  int is_free = bind(descriptor, (struct sockaddr *)&name, sizeof name) == 0 || errno != EADDRINUSE;
  close(descriptor);
  return is_free;
}
