// What each figure is held against: the same work in plain C, with the same system calls and sizes, and nothing else.
#pragma once
#include <stddef.h>
#include <stdint.h>

/// Makes both ends of a unix stream socketpair, non-blocking and closed by exec. Returns 0, or an errno.
int floor_unix_pair(int *near, int *far);

/// The same for a TCP connection over 127.0.0.1, with TCP_NODELAY.
int floor_tcp_pair(int *near, int *far);

/// The same for a raw pseudo terminal, whose maker has the far end.
int floor_pty_pair(int *near, int *far);

/// Sends back what comes over a connected stream (a socket or a terminal) until the other end closes it: epoll, one read, one write.
/// Returns 0, or an errno.
int floor_echo_serve(int socket);

/// Sends `bursts` bursts of `size` bytes with at most `in_flight` of them not yet echoed, and waits for the last echo:
/// epoll, one read, one write for as many bursts as the read completed. Returns 0, or an errno.
int floor_echo_drive(int socket, size_t size, size_t bursts, size_t in_flight);

/// Sends `size` bytes and waits for them to come back, `count` times: epoll, one read, one write. How long each took
/// goes into `nanoseconds`. Returns 0, or an errno.
int floor_ping(int socket, size_t size, size_t count, int64_t *nanoseconds);

/// Echoes `bursts` bursts of `size` bytes within memory, `in_flight` at a time: four copies and two turns of epoll, as
/// much as a cable in memory and its loop cannot do without. Returns how many came back.
size_t floor_memory_echo(size_t size, size_t bursts, size_t in_flight);

/// Sends `count` chunks over a socketpair within this process, `rate` bytes a second, each at its own time. The rate at which
/// they arrived goes into `arrived`. Returns 0, or an errno.
int floor_pace(size_t chunk, double rate, size_t count, double *arrived);

/// Plays a USB device, 1209:0002 with the interface FF/F0/00, that echoes, on a connection which a kernel has imported it
/// over; until the connection is closed. A plain one copies what it answers. Returns 0, or an errno.
int floor_usbip_serve(int socket, int is_plain);

/// Drives an echoing device that was imported over a connection and configured: bursts to endpoint 2, read back from 1,
/// each one transfer, at most `in_flight` of them not yet echoed. Returns 0, or an errno.
int floor_usbip_drive(int socket, size_t size, size_t bursts, size_t in_flight);

/// A USB device that was opened with libusb: its first interface is claimed.
struct floor_usb;

/// Opens a device by its numbers, with reads pending on endpoint 1 if it is to be driven; NULL when there is none that can
/// be had.
struct floor_usb *floor_usb_open(uint16_t vendor, uint16_t product, int reads);

/// Makes a burst, sends it to endpoint 2, reads it back and compares, with calls that wait: one transfer out, one in. For a
/// device without pending reads. Returns 0, or an errno.
int floor_usb_exchange(struct floor_usb *usb, size_t size);

/// Sends `bursts` bursts of `size` bytes to endpoint 2, each one transfer, at most `in_flight` of them not yet echoed, and
/// waits for the last echo. Returns 0, or an errno.
int floor_usb_drive(struct floor_usb *usb, size_t size, size_t bursts, size_t in_flight);

/// Gives the device back.
void floor_usb_close(struct floor_usb *usb);

/// Keeps the calling process on one processor, the `index`-th of those it may use; -1 lets it go everywhere again. Does
/// nothing where it may use only one.
void floor_stay_on(int index);

/// Builds and parses `count` packets with `size` bytes of payload: one copy, one sum when it is built, one when it is
/// parsed, and the sums of the header. Returns how many were found right.
size_t floor_packets(size_t size, size_t count);

/// Carries `count` packets with `size` bytes of payload into a buffer at the other end: as `floor_packets`, and a
/// second copy. Returns how many bytes arrived.
size_t floor_carry(size_t size, size_t count);

/// Takes `count` data packets with `size` bytes of payload, built before and laid one behind the other in `packets`:
/// both sums, the number against the expected one, the decision whether to acknowledge, and the copy into an inbox.
/// Returns how many bytes the inbox holds.
size_t floor_receive(const uint8_t *packets, size_t size, size_t count);

/// Builds `count` data packets with `size` bytes of payload one behind the other. Returns their length.
size_t floor_build(uint8_t *packets, size_t size, size_t count);

/// Sends `count` packets with `size` bytes of payload under a window of 127, as many in one write as the window allows, and
/// waits until the other end has acknowledged the last: the link's numbers and sums, and nothing else of it. Returns 0,
/// or an errno.
int floor_stream_drive(int socket, size_t size, size_t count);

/// Takes such packets until the other end closes the socket: parses each, copies its payload into an inbox, and sends one
/// acknowledgement per read. Returns 0, or an errno.
int floor_stream_serve(int socket);

/// Signs `count` digests of 32 bytes on P-256 and verifies each signature. Returns how many were right.
size_t floor_signatures(size_t count);

/// Connects `count` pairs of unix sockets at `path` in this process, `batch` at a time, and exchanges `rounds` messages there
/// and back on each, by epoll. The pairs stay connected until the process ends. Returns 0, or an errno; the processor time
/// goes into `nanoseconds`.
int floor_crowd(const char *path, size_t count, size_t batch, size_t rounds, int64_t *nanoseconds);

/// Begins to count calls of malloc, calloc, realloc and aligned allocation, from any thread and any library.
void allocations_start(void);

/// Ends the count and returns it. Always 0 under a sanitizer, which needs the allocator for itself.
size_t allocations_stop(void);

/// Whether allocations are counted in this build.
int allocations_are_counted(void);
