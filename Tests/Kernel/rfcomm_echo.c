// Echoes over RFCOMM, without easim: the reference for its throughput.
//
//   rfcomm_echo serve CHANNEL                     sends every byte back
//   rfcomm_echo measure FROM TO CHANNEL COUNT     sends 10,000 bytes COUNT times, and reads each back
//   rfcomm_echo connect FROM TO CHANNEL COUNT     connects COUNT times
//   rfcomm_echo redial FROM TO CHANNEL COUNT      connects to an accessory of easim, waits for its answer to the
//                                                 detection sequence, closes, and connects again at once, COUNT times
//
// The following commands do the same in iAP2's frames: each packet of at most 990 bytes, of which 12 are headers, is a
// separate frame, and each echo is acknowledged with 9 bytes, which are not sent back.
//
//   rfcomm_echo serve-packets CHANNEL
//   rfcomm_echo measure-packets FROM TO CHANNEL COUNT
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct address {
  sa_family_t family;
  uint8_t device[6];
  uint8_t channel;
};

enum { bluetooth = 31, rfcomm = 3, payload = 10000 };
enum { frame = 990, header = 12, packets = (payload + frame - header - 1) / (frame - header), acknowledgement = 9 };
enum { packed = payload + packets * header };

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static struct address address_of(const char *text, int channel) {
  struct address address = {.family = bluetooth, .channel = (uint8_t)channel};
  uint8_t *d = address.device;
  if (text && sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", d + 5, d + 4, d + 3, d + 2, d + 1, d) != 6) fail(text);
  return address;
}

// Sends the given bytes and at the same time reads as many back; otherwise both ends could block with full buffers. If
// the frame size is limited, sends one frame at a time.
static void exchange(int line, const uint8_t *out, uint8_t *in, size_t size, size_t longest) {
  size_t sent = 0, received = 0;
  while (received < size) {
    struct pollfd wait = {line, (short)(POLLIN | (sent < size ? POLLOUT : 0)), 0};
    if (poll(&wait, 1, 10000) <= 0) fail("poll");
    if (wait.revents & POLLIN) {
      ssize_t count = recv(line, in + received, size - received, MSG_DONTWAIT);
      if (count <= 0) fail("receive");
      received += (size_t)count;
    }
    while (wait.revents & POLLOUT && sent < size) {
      size_t piece = size - sent < longest ? size - sent : longest;
      ssize_t count = send(line, out + sent, piece, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN) fail("send");
      if (count <= 0) break;
      sent += (size_t)count;
    }
  }
}

static int listen_on(int channel) {
  int listener = socket(bluetooth, SOCK_STREAM, rfcomm);
  struct address here = address_of(NULL, channel);
  if (bind(listener, (struct sockaddr *)&here, sizeof here) || listen(listener, 1)) fail("listen");
  return listener;
}

static int accept_from(int listener) {
  int line = accept(listener, NULL, NULL);
  if (line < 0) fail("accept");
  return line;
}

static void send_all(int line, const uint8_t *bytes, size_t count) {
  for (size_t sent = 0; sent < count;) {
    ssize_t more = send(line, bytes + sent, count - sent, MSG_NOSIGNAL);
    if (more < 0) break;
    sent += (size_t)more;
  }
}

static void serve(int channel) {
  for (int listener = listen_on(channel);;) {
    int line = accept_from(listener);
    uint8_t bytes[4096];
    for (ssize_t count; (count = recv(line, bytes, sizeof bytes, 0)) > 0;) send_all(line, bytes, (size_t)count);
    close(line);
  }
}

// Sends each packet back as soon as it is complete.
static void serve_packets(int channel) {
  for (int listener = listen_on(channel);;) {
    int line = accept_from(listener);
    static uint8_t bytes[packed + acknowledgement];
    size_t received = 0, sent = 0;
    for (ssize_t count; (count = recv(line, bytes + received, sizeof bytes - received, 0)) > 0;) {
      received += (size_t)count;
      while (sent < packed && received > sent) {
        size_t next = packed - sent < frame ? packed - sent : frame;
        if (received - sent < next) break;
        send_all(line, bytes + sent, next);
        sent += next;
      }
      if (received == sizeof bytes) received = sent = 0;
    }
    close(line);
  }
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Connects, and records when the successful attempt began.
static int connect_to(char **words, double *began) {
  struct address here = address_of(words[2], 0), there = address_of(words[3], atoi(words[4]));
  double first = now();
  for (;; usleep(5000)) {
    int line = socket(bluetooth, SOCK_STREAM, rfcomm);
    if (bind(line, (struct sockaddr *)&here, sizeof here)) fail("bind");
    *began = now();
    if (!connect(line, (struct sockaddr *)&there, sizeof there)) return line;
    // For some milliseconds after the last connection, the kernels are still closing it, and nothing reports when that is
    // over: a new connection gets EBUSY, or is reset or refused with the old one.
    if ((errno != EBUSY && errno != ECONNRESET && errno != ECONNREFUSED) || now() - first > 2) fail("connect");
    close(line);
  }
}

static void measure(char **words, int in_packets) {
  static uint8_t out[packed], in[packed];
  static const uint8_t confirmed[acknowledgement];
  double start;
  int line = connect_to(words, &start), rounds = atoi(words[5]);
  size_t size = in_packets ? packed : payload, longest = in_packets ? frame : payload;
  for (size_t i = 0; i < size; i++) out[i] = (uint8_t)(i * 31 + (i >> 8));
  // The first round is a warm-up and is not counted.
  for (int i = 0; i <= rounds; i++) {
    if (i == 1) start = now();
    exchange(line, out, in, size, longest);
    if (memcmp(out, in, size)) fail("the echo differs");
    if (in_packets) send_all(line, confirmed, sizeof confirmed);
  }
  double seconds = now() - start;
  printf("%.2f kB/s each way, %.2f ms for an echo\n", rounds * payload / seconds / 1000, seconds * 1000 / rounds);
}

static void redial(char **words) {
  static const uint8_t detection[] = {0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10};
  double longest = 0;
  for (int i = 0, count = atoi(words[5]); i < count; i++) {
    double asked = now(), start;
    int line = connect_to(words, &start);
    if (i > 0 && start - asked > longest) longest = start - asked;
    // Every third connection is closed immediately, while the accessory may not know of it yet.
    if (i % 3 != 1) {
      uint8_t answer[64];
      struct pollfd wait = {line, POLLIN, 0};
      send_all(line, detection, sizeof detection);
      if (poll(&wait, 1, 10000) <= 0 || recv(line, answer, sizeof answer, 0) <= 0) fail("no answer");
    }
    close(line);
  }
  printf("%d connections; the kernels were busy for at most %.0f ms\n", atoi(words[5]), longest * 1000);
}

static void measure_connect(char **words) {
  for (int i = atoi(words[5]); i > 0; i--) {
    double start;
    int line = connect_to(words, &start);
    printf("%.0f ms%s", (now() - start) * 1000, i > 1 ? ", " : "\n");
    close(line);
  }
}

int main(int count, char **words) {
  if (count == 3 && !strcmp(words[1], "serve")) serve(atoi(words[2]));
  if (count == 3 && !strcmp(words[1], "serve-packets")) serve_packets(atoi(words[2]));
  if (count != 6) return 2;
  if (!strcmp(words[1], "connect")) {
    measure_connect(words);
  } else if (!strcmp(words[1], "redial")) {
    redial(words);
  } else {
    measure(words, !strcmp(words[1], "measure-packets"));
  }
  return 0;
}
