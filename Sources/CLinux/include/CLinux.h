// The system calls that Swift's Glibc module does not offer, and the variadic ones that Swift cannot import.
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

/// The maximum error of the system's clock, as the kernel estimates it from its time source. Returns 0, or 1 if nothing
/// synchronises the clock, or -1 with errno.
int clinux_clock_error(int64_t *microseconds);

/// epoll_ctl with the parts of an epoll_event.
int clinux_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token);

/// memmem: where `count` bytes occur among `room` bytes, or NULL.
const void *clinux_find(const void *all, size_t room, const void *bytes, size_t count);

/// The process id at the other end of a unix socket, or -1 with errno.
int clinux_peer_credentials(int socket, int32_t *pid, uint32_t *uid);

/// The user and the inode of the TCP socket at one end of a connection, through sock_diag; the inode is 0 if no process
/// has the socket. Hosts have 4 or 16 bytes in network order. Returns 0, or -1 with errno, which is ENOENT if there is
/// no such socket.
int clinux_tcp_owner(
    int family, const void *host, uint16_t port, const void *peer_host, uint16_t peer_port, uint32_t *uid,
    uint32_t *inode);

/// accept4 with close-on-exec and non-blocking, or -1 with errno.
int clinux_accept(int listener, struct sockaddr *address, socklen_t *length);

/// Creates a pseudo terminal: returns its master, close-on-exec and non-blocking, and writes the name of the terminal
/// itself; or -1 with errno.
int clinux_open_pty(char *name, size_t room);

/// A descriptor that becomes readable when the process ends, close-on-exec; or -1 with errno: ESRCH if there is no such
/// process, ENOSYS if the kernel lacks the call (before 5.3).
int clinux_open_process(int32_t pid);

/// Threads for which Foundation's Thread.isMainThread is true besides the main thread: those that `is_also` accepts.
void clinux_main_thread_is_also(bool (*is_also)(void));

/// renameat2 without folders: swaps two names, or moves a file to a name that must be free. Returns 0, or -1 with
/// errno.
int clinux_exchange(const char *one, const char *other);
int clinux_rename_to_free(const char *from, const char *to);

/// The environment of this process, which Swift cannot access because it is a variable.
char *const *clinux_environment(void);

/// write(2) to a pipe whose reader may be gone: this returns EPIPE, and never raises SIGPIPE, whatever the process does
/// about that signal.
ssize_t clinux_write_to_pipe(int pipe, const void *bytes, size_t count);

/// A pipe with both ends close-on-exec; returns 0, or -1 with errno.
int clinux_pipe(int ends[2]);

/// Makes a program start without any descriptor from `first` on; before glibc 2.34, only the close-on-exec ones are
/// closed.
int clinux_close_from(posix_spawn_file_actions_t *actions, int first);

/// Starts a program, as the leader of a process group, with a guardian between this process and it. The program gets
/// exactly three descriptors, and no signal is blocked or ignored in it. The guardian ends in the same way as the
/// program, after ending everything that the program started. A byte written to `leash` is a signal for the program's
/// group; when the leash is closed, for example because this process ends, everything is killed immediately. Returns 0
/// or an error number. `words` and `variables` end with NULL; `folder` is the working directory, or NULL; the last
/// three numbers before the results are its stdin, stdout and stderr, each above 2.
int clinux_start_guarded(const char *path, char *const *words, char *const *variables, const char *folder, int input,
                         int output, int errors, int32_t *guardian, int *leash);

/// Makes a terminal raw until `clinux_terminal_release`, the end of the process or its crash. The caller switches to
/// the alternate screen. Returns 0, or -1 with errno.
int clinux_terminal_hold(int descriptor);

/// Makes a terminal deliver each key immediately and echo none, until `clinux_terminal_release`, the end of the process
/// or its crash. Ctrl-C and Ctrl-Z remain signals, and lines are printed as before. Returns 0, or -1 with errno, which
/// is EAGAIN in the background.
int clinux_terminal_hold_keys(int descriptor);

/// Whether this process is in the foreground of a terminal, or the terminal belongs to no job.
int clinux_terminal_is_ours(int descriptor);

/// Restores the terminal, its main screen and its cursor. Blocks while the terminal accepts no output. Does nothing if
/// no terminal is held; may be called from a signal handler.
void clinux_terminal_release(void);

/// A context for kernel AIO (io_setup) with at most `count` operations at once; returns 0, or -1 with errno.
int clinux_aio_make(unsigned count, uint64_t *context);

/// Starts operations (io_submit): returns how many of them the kernel accepted, from the front, or -1 with errno if it
/// accepted none. They and their buffers must stay in place until they have completed.
long clinux_aio_submit(uint64_t context, long count, struct iocb **operations);

/// Takes up to `count` completions that are available now (io_getevents): returns how many, or -1 with errno.
long clinux_aio_take(uint64_t context, long count, struct io_event *completions);

/// Requests the early end of an operation (io_cancel); its completion is reported like any other.
void clinux_aio_cancel(uint64_t context, struct iocb *operation);

/// Destroys a context (io_destroy): cancels pending operations and waits until all have ended.
void clinux_aio_end(uint64_t context);

/// Mounts the FunctionFS `source` without a mount point, so that nothing is left of it when its last descriptor is
/// closed. Returns a close-on-exec descriptor of its folder, or -1 with errno (ENOSYS before Linux 5.2).
int clinux_mount_functionfs(const char *source);

/// The packet size of a FunctionFS endpoint at the current speed, or -1 with errno.
int clinux_functionfs_packet_size(int endpoint);

/// Lets the optional USB product, if it is linked into this program, add its media to `table`, which is a MediumTable
/// of AccessoryCables. Otherwise does nothing.
void clinux_add_hardware_media(void *table);

/// Begins to connect to a Bluetooth device: to an RFCOMM channel, or, for channel 0, to its list of services (L2CAP,
/// protocol 1). Addresses are six bytes, lowest first. Returns a descriptor that is non-blocking and close-on-exec and
/// becomes writable when the connection has succeeded or failed, or -1 with errno (EAFNOSUPPORT where the kernel has no
/// Bluetooth).
int clinux_bluetooth_connect(int channel, const uint8_t local[6], const uint8_t remote[6]);

/// Whether an RFCOMM channel of this machine is free.
int clinux_bluetooth_is_free(int channel);

/// Creates a gzip unpacker that uses zlib, which is loaded the first time; returns NULL, or why zlib cannot be loaded.
const char *clinux_gunzip_new(void **made);

/// Unpacks from `*used` bytes into `*made` bytes and stores in both how many were used and made. Returns 1 at the end
/// of a member, after which another may begin, 0 if it needs more of either, or -1 with a reason if the bytes are
/// damaged.
int clinux_gunzip(
    void *gunzip, const uint8_t *input, uint32_t *used, uint8_t *output, uint32_t *made, const char **problem);

/// Releases an unpacker.
void clinux_gunzip_end(void *gunzip);
