// The baseline for each figure: the same work in plain C, with the same system calls and sizes, and nothing else.
#pragma once
#include <stddef.h>
#include <stdint.h>

/// Creates both ends of a unix stream socketpair, non-blocking and close-on-exec. Returns 0 or an errno.
int floor_unix_pair(int *near, int *far);

/// Creates both ends of a TCP connection over 127.0.0.1, with TCP_NODELAY. Otherwise like `floor_unix_pair`.
int floor_tcp_pair(int *near, int *far);

/// Creates both ends of a raw pseudo terminal. The far end is the master. Otherwise like `floor_unix_pair`.
int floor_pty_pair(int *near, int *far);

/// Echoes everything on a connected stream (a socket or a terminal) until the other end closes it. Each turn is one
/// epoll wait, one read and one write. Returns 0 or an errno.
int floor_echo_serve(int socket);

/// Sends `bursts` bursts of `size` bytes, with at most `in_flight` of them not echoed yet, and waits for the last echo.
/// Each turn is one epoll wait, one read, and one write for all bursts that the read completed. Returns 0 or an errno.
int floor_echo_drive(int socket, size_t size, size_t bursts, size_t in_flight);

/// Sends `size` bytes and waits for their echo, `count` times, with one epoll wait, one read and one write. Stores how
/// long each round trip took in `nanoseconds`. Returns 0 or an errno.
int floor_ping(int socket, size_t size, size_t count, int64_t *nanoseconds);

/// One end of an established iAP2 link over a connected stream, with a session. Its packets have at most `longest`
/// bytes.
struct floor_link;

/// Begins a link whose ends have just exchanged their SYNs. Returns NULL if there is no memory for it.
struct floor_link *floor_link_open(int socket, size_t longest);

/// Does what `floor_echo_drive` does, through the link: checksums, numbers, acknowledgements, window and timers. Stores
/// how long each burst took in `nanoseconds`, if that is not NULL. Returns 0 or an errno.
int floor_link_drive(struct floor_link *link, size_t size, size_t bursts, size_t in_flight, int64_t *nanoseconds);

/// Releases the link; the socket stays open.
void floor_link_close(struct floor_link *link);

/// Echoes a link's session until the other end closes the stream. Returns 0 or an errno.
int floor_link_serve(int socket, size_t longest);

/// Echoes `bursts` bursts of `size` bytes in memory, `in_flight` at a time, with four copies and two turns of epoll:
/// the minimum for an in-memory cable and its loop. Returns the number of bursts that came back.
size_t floor_memory_echo(size_t size, size_t bursts, size_t in_flight);

/// Sends `count` chunks over a socketpair in this process at `rate` bytes per second, each when it is due. Stores the
/// rate at which they arrived in `arrived`. Returns 0 or an errno.
int floor_pace(size_t chunk, double rate, size_t count, double *arrived);

/// Plays an echoing USB device (1209:0002, interface FF/F0/00) on a connection over which a kernel has imported it,
/// until the connection is closed. A plain device copies its replies. Returns 0 or an errno.
int floor_usbip_serve(int socket, int is_plain);

/// Drives an echoing device that was imported over a connection and configured. Sends bursts to endpoint 2 and reads
/// them back from endpoint 1, each in one transfer, with at most `in_flight` of them not echoed yet. Returns 0 or an
/// errno.
int floor_usbip_drive(int socket, size_t size, size_t bursts, size_t in_flight);

/// A USB device opened with libusb, whose first interface is claimed.
struct floor_usb;

/// Opens the device with these IDs. If `reads` is set, reads are pending on endpoint 1, as `floor_usb_drive` requires.
/// Returns NULL if no such device can be opened.
struct floor_usb *floor_usb_open(uint16_t vendor, uint16_t product, int reads);

/// Creates a burst, sends it to endpoint 2, reads it back and compares it, with blocking calls: one transfer out, one
/// in. The device must have no pending reads. Returns 0 or an errno.
int floor_usb_exchange(struct floor_usb *usb, size_t size);

/// Sends `bursts` bursts of `size` bytes to endpoint 2, each in one transfer, with at most `in_flight` of them not
/// echoed yet, and waits for the last echo. Returns 0 or an errno.
int floor_usb_drive(struct floor_usb *usb, size_t size, size_t bursts, size_t in_flight);

/// Releases and closes the device.
void floor_usb_close(struct floor_usb *usb);

/// Binds the calling process to the `index`-th of the processors that it may use; -1 removes the binding. Does nothing
/// if the process may use only one processor.
void floor_stay_on(int index);

/// Builds and parses `count` packets with `size` bytes of payload: one copy, one checksum when a packet is built, one
/// when it is parsed, and the checksums of the headers. Returns the number of correct packets.
size_t floor_packets(size_t size, size_t count);

/// Carries `count` packets with `size` bytes of payload into a buffer at the other end. Does the same as
/// `floor_packets`, plus a second copy. Returns the number of bytes that arrived.
size_t floor_carry(size_t size, size_t count);

/// Receives `count` data packets with `size` bytes of payload, which were built in advance and are stored consecutively
/// in `packets`: both checksums, a comparison of the sequence number, the decision whether to acknowledge, and the copy
/// into an inbox. Returns the number of bytes in the inbox.
size_t floor_receive(const uint8_t *packets, size_t size, size_t count);

/// Builds `count` consecutive data packets with `size` bytes of payload. Returns their total length.
size_t floor_build(uint8_t *packets, size_t size, size_t count);

/// Stores `count` bytes one at a time, in packets of `size` bytes, as a receiver of single bytes must: between two bytes,
/// its position is in memory. Returns the number of whole packets.
size_t floor_keep(const uint8_t *bytes, size_t count, size_t size);

/// Sends `count` packets with `size` bytes of payload under a window of 127, as many per write as the window allows,
/// and waits until the other end has acknowledged the last one. Of the link's features, only sequence numbers and
/// checksums are included. Returns 0 or an errno.
int floor_stream_drive(int socket, size_t size, size_t count);

/// Receives the packets of `floor_stream_drive` until the other end closes the socket: parses each one, copies its
/// payload into an inbox, and sends one acknowledgement per read. Returns 0 or an errno.
int floor_stream_serve(int socket);

/// Signs `count` digests of 32 bytes on P-256 and verifies each signature. Returns the number of correct signatures.
size_t floor_signatures(size_t count);

/// Connects `count` pairs of unix sockets at `path` in this process, `batch` at a time, and exchanges `rounds` round
/// trips on each of them with epoll. The pairs stay connected until the process ends. Stores the processor time in
/// `nanoseconds`. Returns 0 or an errno.
int floor_crowd(const char *path, size_t count, size_t batch, size_t rounds, int64_t *nanoseconds);

/// Starts to count calls of malloc, calloc, realloc and the aligned allocation functions, from any thread and any
/// library.
void allocations_start(void);

/// Stops counting and returns the count. The result is always 0 under a sanitizer, which replaces the allocator itself.
size_t allocations_stop(void);

/// Whether allocations are counted in this build.
int allocations_are_counted(void);
