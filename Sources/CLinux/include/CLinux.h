// The system calls that Swift's Glibc module does not show, and the variadic ones Swift cannot import.
#pragma once
#include "CLateLibrary.h"
#include <linux/aio_abi.h>
#include <malloc.h>
#include <spawn.h>
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
/// milliseconds, where the kernel lacks the call (before 5.11, and some sandboxes).
int clinux_epoll_wait(int epoll, struct epoll_event *events, int count, int64_t timeout_nanoseconds);

/// How far the system's clock may be off, as its kernel knows from what synchronises it: 0, 1 when nothing synchronises
/// it, or -1 with errno.
int clinux_clock_error(int64_t *microseconds);

/// epoll_ctl with the parts of an epoll_event.
int clinux_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token);

/// memmem: where `count` bytes are found among `room` bytes, or NULL.
const void *clinux_find(const void *all, size_t room, const void *bytes, size_t count);

/// The process id at the other end of a unix socket, or -1 with errno.
int clinux_peer_credentials(int socket, int32_t *pid, uint32_t *uid);

/// The user and the inode of the TCP socket at one end of a connection, by sock_diag; the inode is 0 when no process has it.
/// Hosts have 4 or 16 bytes in the order of the network. Returns 0, or -1 with errno, ENOENT when there is no such socket.
int clinux_tcp_owner(
    int family, const void *host, uint16_t port, const void *peer_host, uint16_t peer_port, uint32_t *uid,
    uint32_t *inode);

/// accept4 with close-on-exec and non-blocking, or -1 with errno.
int clinux_accept(int listener, struct sockaddr *address, socklen_t *length);

/// Makes a pseudo terminal: returns its master, close-on-exec and non-blocking, and writes the name of the terminal
/// proper; or -1 with errno.
int clinux_open_pty(char *name, size_t room);

/// A descriptor that becomes readable when the process ends, close-on-exec; or -1 with errno: ESRCH when there is no
/// such process, ENOSYS where the kernel lacks the call (before 5.3).
int clinux_open_process(int32_t pid);

/// renameat2 without folders: swaps two names, or gives a name that must be free. 0, or -1 with errno.
int clinux_exchange(const char *one, const char *other);
int clinux_rename_to_free(const char *from, const char *to);

/// The environment of this process, which Swift cannot name because it is a variable.
char *const *clinux_environment(void);

/// write(2) to a pipe whose reader may be gone: that is EPIPE here, and never a SIGPIPE, whatever the process does about
/// that signal.
ssize_t clinux_write_to_pipe(int pipe, const void *bytes, size_t count);

/// A pipe, both ends close-on-exec; 0, or -1 with errno.
int clinux_pipe(int ends[2]);

/// Lets a program start with no descriptor from `first` on; before glibc 2.34 it still gets none that is close-on-exec.
int clinux_close_from(posix_spawn_file_actions_t *actions, int first);

/// Starts a program, as the leader of a process group, with a guardian between this process and it. The program gets
/// three descriptors and no other, and no signal is blocked or ignored in it. The guardian ends as the program does, after
/// everything that the program started has been ended too. A byte written to `leash` is a signal for the program's group;
/// when the leash is closed, by the end of this process for example, all of it is killed at once. 0, or an error number.
/// `words` and `variables` end with NULL; `folder` is where it runs, or NULL; the last three numbers before the results are
/// its stdin, stdout and stderr, each above 2.
int clinux_start_guarded(const char *path, char *const *words, char *const *variables, const char *folder, int input,
                         int output, int errors, int32_t *guardian, int *leash);

/// Makes a terminal raw until `clinux_terminal_release`, the end of the process or its crash. The caller switches to the
/// alternate screen. 0, or -1 with errno.
int clinux_terminal_hold(int descriptor);

/// Lets a terminal deliver each key at once and show none, until `clinux_terminal_release`, the end of the process or its crash.
/// Ctrl-C and Ctrl-Z stay signals, and lines are printed as before. 0, or -1 with errno: EAGAIN in the background.
int clinux_terminal_hold_keys(int descriptor);

/// Whether this process is in the foreground of a terminal, or the terminal belongs to no job.
int clinux_terminal_is_ours(int descriptor);

/// Restores the terminal, its main screen and its cursor. Blocks while the terminal takes no output. Does nothing when none is held; may be called from a signal's handler.
void clinux_terminal_release(void);

/// A context of kernel AIO (io_setup) for at most `count` operations at once; 0, or -1 with errno.
int clinux_aio_make(unsigned count, uint64_t *context);

/// Begins operations (io_submit): how many of them the kernel took, from the front, or -1 with errno when it took none.
/// They and their buffers stay where they are until they have completed.
long clinux_aio_submit(uint64_t context, long count, struct iocb **operations);

/// Takes at most `count` completions that are there now (io_getevents): how many, or -1 with errno.
long clinux_aio_take(uint64_t context, long count, struct io_event *completions);

/// Asks for the early end of an operation (io_cancel); its completion comes like any other.
void clinux_aio_cancel(uint64_t context, struct iocb *operation);

/// Ends a context (io_destroy): cancels what is under way and waits until nothing of it is.
void clinux_aio_end(uint64_t context);

/// Mounts the instance `source` of FunctionFS in no place, so that nothing is left of it when its last descriptor is
/// closed: a descriptor of its folder, close-on-exec, or -1 with errno (ENOSYS before Linux 5.2).
int clinux_mount_functionfs(const char *source);

/// The packet size that an endpoint of FunctionFS has at the present speed, or -1 with errno.
int clinux_functionfs_packet_size(int endpoint);

/// Lets the optional product with USB, where it is linked into this program, add its media to `table`, which is a
/// MediumTable of AccessoryCables. Does nothing otherwise.
void clinux_add_hardware_media(void *table);

/// Begins to connect to a Bluetooth device: to an RFCOMM channel, or, for channel 0, to its list of services (L2CAP, protocol
/// 1). Addresses are six bytes, the lowest first. Returns a descriptor that is non-blocking and close-on-exec and becomes
/// writable when the connection has succeeded or failed, or -1 with errno (EAFNOSUPPORT where the kernel has no Bluetooth).
int clinux_bluetooth_connect(int channel, const uint8_t local[6], const uint8_t remote[6]);

/// Whether nothing listens on an RFCOMM channel of this machine.
int clinux_bluetooth_is_free(int channel);

/// Makes an unpacker of gzip by zlib, which is loaded the first time; NULL, or why it cannot be loaded.
const char *clinux_gunzip_new(void **made);

/// Unpacks from `*used` bytes into `*made` bytes and says in both how many it used and made: 1 at the end of a member, after
/// which another may begin, 0 when it needs more of either, -1 with a reason when the bytes are damaged.
int clinux_gunzip(
    void *gunzip, const uint8_t *input, uint32_t *used, uint8_t *output, uint32_t *made, const char **problem);

/// Releases an unpacker.
void clinux_gunzip_end(void *gunzip);
