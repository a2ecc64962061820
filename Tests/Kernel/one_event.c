// Preloaded into btvirt, the program of the virtual Bluetooth controllers: passes it one epoll event at a time.
//
// btvirt (BlueZ 5.66, src/shared/mainloop.c) takes several events at once and handles each of them, although handling
// the first may have freed the data of the second. Cancelling a scan frees the scan's timer, which expires every 100
// ms. If both arrive before btvirt runs, as on a busy machine, it crashes: always, if SIGSTOP stops it for that time;
// never with this library.
#include <stddef.h>
#include <sys/epoll.h>

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout) {
  return epoll_pwait(epoll, events, most > 1 ? 1 : most, timeout, NULL);
}
