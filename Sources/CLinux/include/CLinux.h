// The system calls that Swift's Glibc module does not show, and the variadic ones Swift cannot import.
#pragma once
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>

/// epoll_pwait2 with a timeout in nanoseconds (negative: none). Falls back to epoll_wait, rounded up to whole
/// milliseconds, where the kernel lacks the call (before 5.11, and some sandboxes).
int clinux_epoll_wait(int epoll, struct epoll_event *events, int count, int64_t timeout_nanoseconds);

/// The process id at the other end of a unix socket, or -1 with errno.
int clinux_peer_credentials(int socket, int32_t *pid, uint32_t *uid);

/// accept4 with close-on-exec and non-blocking, or -1 with errno.
int clinux_accept(int listener, struct sockaddr *address, socklen_t *length);

/// Makes a pseudo terminal: returns its master, close-on-exec and non-blocking, and writes the name of the terminal
/// proper; or -1 with errno.
int clinux_open_pty(char *name, size_t room);

/// A descriptor that becomes readable when the process ends, close-on-exec; or -1 with errno: ESRCH when there is no
/// such process, ENOSYS where the kernel lacks the call (before 5.3).
int clinux_open_process(int32_t pid);
