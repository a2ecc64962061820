// What each figure is held against: the same work in plain C, with the same system calls and sizes, and nothing else.
#pragma once
#include <stddef.h>
#include <stdint.h>

/// Sends back what comes over a connected stream socket until the other end closes it: epoll, one read, one write.
/// Returns 0, or an errno.
int floor_echo_serve(int socket);

/// Sends `bursts` bursts of `size` bytes with at most `in_flight` of them not yet echoed, and waits for the last echo:
/// epoll, one read, one write for as many bursts as the read completed. Returns 0, or an errno.
int floor_echo_drive(int socket, size_t size, size_t bursts, size_t in_flight);
