// Writes what usbmon sees on all USB buses to a pcap file of link type 220, like dumpcap and tcpdump, until it is
// interrupted: usbmon_pcap FILE.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

// The format is described in the kernel's Documentation/usb/usbmon.rst.
struct usbmon_packet {
  uint64_t id;
  uint8_t type, transfer, endpoint, device;
  uint16_t bus;
  int8_t has_setup, has_data;
  int64_t seconds;
  int32_t microseconds, status;
  uint32_t length, captured;
  uint8_t setup[8];
  int32_t interval, start_frame;
  uint32_t flags, descriptors;
};
struct fetch {
  struct usbmon_packet *header;
  void *data;
  size_t room;
};
#define FETCH _IOW(0x92, 10, struct fetch)

static volatile sig_atomic_t is_over;
static void end(int number) { is_over = 1; }

int main(int count, char **words) {
  static uint8_t data[1 << 20];
  struct usbmon_packet header;
  struct fetch fetch = {&header, data, sizeof data};
  uint32_t begin[6] = {0xa1b2c3d4, 2 | 4 << 16, 0, 0, 1 << 20, 220};
  struct sigaction action = {.sa_handler = end};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  int monitor = open("/dev/usbmon0", O_RDONLY);
  FILE *file = count == 2 ? fopen(words[1], "w") : NULL;
  if (monitor < 0 || file == NULL) {
    fprintf(stderr, "usbmon_pcap: %s\n", strerror(errno));
    return 1;
  }
  fwrite(begin, sizeof begin, 1, file);
  fflush(file);
  while (!is_over) {
    if (ioctl(monitor, FETCH, &fetch) < 0) {
      if (errno == EINTR) continue;
      fprintf(stderr, "usbmon_pcap: %s\n", strerror(errno));
      return 1;
    }
    uint32_t size = sizeof header + header.captured;
    uint32_t record[4] = {header.seconds, header.microseconds, size, sizeof header + header.length};
    fwrite(record, sizeof record, 1, file);
    fwrite(&header, sizeof header, 1, file);
    fwrite(data, header.captured, 1, file);
    fflush(file);
  }
  return fclose(file);
}
