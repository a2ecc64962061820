// System calls that Swift's Glibc module does not offer, and variadic ones that Swift cannot import; and embedded
// files.
#pragma once
#include "CLateLibrary.h"
#include <linux/aio_abi.h>
#include <malloc.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>

/// epoll_pwait2 with a timeout in nanoseconds (negative: none). Falls back to epoll_wait, rounded up to whole
/// milliseconds, if the kernel lacks the call (before 5.11, and in some sandboxes).
int clinux_epoll_wait(int epoll, struct epoll_event *events, int count, int64_t timeout_nanoseconds);

/// The system clock's maximum error, as estimated by the kernel. Returns 0; 1 if nothing synchronizes the clock; or -1
/// with errno.
int clinux_clock_error(int64_t *microseconds);

/// epoll_ctl, with the members of epoll_event as separate arguments.
int clinux_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token);

/// memmem: returns the first occurrence of `count` bytes in `room` bytes, or NULL.
const void *clinux_find(const void *all, size_t room, const void *bytes, size_t count);

/// Gets the process and user at the other end of a Unix socket; returns 0, or -1 with errno.
int clinux_peer_credentials(int socket, int32_t *pid, uint32_t *uid);

/// Gets the user and the inode of the TCP socket at one end of a connection, using sock_diag; the inode is 0 if the
/// socket belongs to no process. Hosts have 4 or 16 bytes in network order. Returns 0, or -1 with errno, which is
/// ENOENT if there is no such socket.
int clinux_tcp_owner(
    int family, const void *host, uint16_t port, const void *peer_host, uint16_t peer_port, uint32_t *uid,
    uint32_t *inode);

/// accept4 with the flags close-on-exec and non-blocking; returns the descriptor, or -1 with errno.
int clinux_accept(int listener, struct sockaddr *address, socklen_t *length);

/// Creates a pseudo terminal. Returns its master, close-on-exec and non-blocking, and writes the name of the terminal
/// device to `name`; or returns -1 with errno.
int clinux_open_pty(char *name, size_t room);

/// Returns a close-on-exec descriptor that becomes readable when the process ends; or -1 with errno: ESRCH if there is
/// no such process, ENOSYS if the kernel lacks the call (before 5.3).
int clinux_open_process(int32_t pid);

/// Makes Foundation's Thread.isMainThread also true on threads for which `is_also` returns true.
void clinux_main_thread_is_also(bool (*is_also)(void));

/// renameat2 with paths only: swaps two names, or moves a file to a name that must not exist. Returns 0, or -1 with
/// errno.
int clinux_exchange(const char *one, const char *other);
int clinux_rename_to_free(const char *from, const char *to);

/// The environment of this process. In C this is a variable, which Swift cannot access.
char *const *clinux_environment(void);

/// write(2) to a pipe that may no longer have a reader. Returns EPIPE in that case and never raises SIGPIPE, whatever
/// this process has set for that signal.
ssize_t clinux_write_to_pipe(int pipe, const void *bytes, size_t count);

/// Creates a pipe with both ends close-on-exec; returns 0, or -1 with errno.
int clinux_pipe(int ends[2]);

/// Makes a program that is about to start close all descriptors from `first` on; before glibc 2.34, only close-on-exec
/// descriptors are closed.
int clinux_close_from(posix_spawn_file_actions_t *actions, int first);

/// Starts a program as the leader of a process group, with a guardian process between this process and the program. The
/// program gets exactly three descriptors, and no signal is blocked or ignored in it. The guardian ends in the same way
/// as the program, after ending everything that the program started. A byte written to `leash` is a signal for the
/// program's group; when the leash is closed, for example because this process ends, everything is killed immediately.
/// Returns 0 or an error number. `words` and `variables` end with NULL; `folder` is the working directory, or NULL; the
/// last three numbers before the results are the program's stdin, stdout and stderr, each above 2.
int clinux_start_guarded(const char *path, char *const *words, char *const *variables, const char *folder, int input,
                         int output, int errors, int32_t *guardian, int *leash);

/// Switches a terminal to raw mode until `clinux_terminal_release` is called or the process ends or crashes. The caller
/// switches to the alternate screen. Returns 0, or -1 with errno.
int clinux_terminal_hold(int descriptor);

/// Makes a terminal deliver each key immediately and without echo, until `clinux_terminal_release` is called or the
/// process ends or crashes. Ctrl-C and Ctrl-Z still send signals, and lines are printed as before. Returns 0, or -1
/// with errno, which is EAGAIN in the background.
int clinux_terminal_hold_keys(int descriptor);

/// Whether this process may change its terminal: it is in the foreground, or the terminal is not used for job control.
int clinux_terminal_is_ours(int descriptor);

/// Restores the terminal, its main screen and its cursor. The call blocks while the terminal accepts no output, and
/// does nothing if no terminal was changed. A signal handler may call this function.
void clinux_terminal_release(void);

/// A context for kernel AIO (io_setup) with at most `count` operations at once; returns 0, or -1 with errno.
int clinux_aio_make(unsigned count, uint64_t *context);

/// Starts operations (io_submit). Returns how many of them, counted from the first, the kernel accepted, or -1 with
/// errno if it accepted none. The operations and their buffers must stay in place until they have completed.
long clinux_aio_submit(uint64_t context, long count, struct iocb **operations);

/// Takes up to `count` available completions (io_getevents). Returns their number, or -1 with errno.
long clinux_aio_take(uint64_t context, long count, struct io_event *completions);

/// Asks the kernel to end an operation early (io_cancel); its completion is reported like any other.
void clinux_aio_cancel(uint64_t context, struct iocb *operation);

/// Destroys a context (io_destroy): cancels pending operations and waits until all have ended.
void clinux_aio_end(uint64_t context);

/// Mounts the FunctionFS `source` without a mount point, so that it disappears when its last descriptor is closed.
/// Returns a close-on-exec descriptor of its folder, or -1 with errno (ENOSYS before Linux 5.2).
int clinux_mount_functionfs(const char *source);

/// Returns the packet size of a FunctionFS endpoint at the current speed, or -1 with errno.
int clinux_functionfs_packet_size(int endpoint);

/// Lets the optional USB product add its media to `table`, which is a MediumTable of AccessoryCables. Does nothing if
/// that product is not linked into this program.
void clinux_add_hardware_media(void *table);

/// Begins connecting to a Bluetooth device: to an RFCOMM channel or, for channel 0, to its SDP server (L2CAP, PSM 1).
/// Addresses are six bytes, lowest first. Returns a non-blocking, close-on-exec descriptor that becomes writable when
/// the attempt succeeds or fails; or -1 with errno (EAFNOSUPPORT if the kernel has no Bluetooth).
int clinux_bluetooth_connect(int channel, const uint8_t local[6], const uint8_t remote[6]);

/// Whether an RFCOMM channel on this machine is free.
int clinux_bluetooth_is_free(int channel);

/// Creates a gzip unpacker. The first call loads zlib. Returns NULL, or the reason why zlib cannot be loaded.
const char *clinux_gunzip_new(void **made);

/// Unpacks bytes. On entry, `*used` and `*made` are the sizes of the input and the output; on return, they are the
/// numbers of bytes that were used and produced. Returns 1 at the end of a member, after which another may begin; 0 if
/// more input or more room is needed; or -1 with a reason if the bytes are damaged.
int clinux_gunzip(
    void *gunzip, const uint8_t *input, uint32_t *used, uint8_t *output, uint32_t *made, const char **problem);

/// Releases an unpacker.
void clinux_gunzip_end(void *gunzip);

/// Returns the text of an embedded file, which ends with a zero byte, and sets its path, such as
/// "profiles/echo.json5". Indexes count from 0; returns NULL after the last file.
const unsigned char *clinux_embedded(unsigned index, const char **path);
