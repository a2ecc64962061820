// Preloaded into btvirt, the program of the virtual Bluetooth controllers: makes btvirt receive one epoll event at a
// time.
//
// btvirt (BlueZ 5.66, src/shared/mainloop.c) takes several events at once and handles each of them, although handling
// the first may have freed the data of the second. Cancelling a scan frees the scan's timer, which expires every 100
// ms. If both events arrive before btvirt runs, as happens on a busy machine, btvirt crashes. Stopping it with SIGSTOP
// for that time always makes it crash; with this library, it never crashes.
#include <stddef.h>
#include <sys/epoll.h>

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout) {
  return epoll_pwait(epoll, events, most > 1 ? 1 : most, timeout, NULL);
}
