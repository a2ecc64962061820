// A plain echo over RFCOMM, without iAP2 and without easim: what easim's throughput is measured against.
//
//   rfcomm_echo serve CHANNEL
//   rfcomm_echo measure FROM TO CHANNEL COUNT     sends 10,000 bytes COUNT times, and reads each back
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

enum { bluetooth = 31, rfcomm = 3, size = 10000 };

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

// Sends what is given and reads as much back, at the same time: neither end may wait for the other's full buffer.
static void exchange(int line, const uint8_t *out, uint8_t *in) {
  size_t sent = 0, received = 0;
  while (received < size) {
    struct pollfd wait = {line, (short)(POLLIN | (sent < size ? POLLOUT : 0)), 0};
    if (poll(&wait, 1, 10000) <= 0) fail("poll");
    if (wait.revents & POLLIN) {
      ssize_t count = recv(line, in + received, size - received, MSG_DONTWAIT);
      if (count <= 0) fail("receive");
      received += (size_t)count;
    }
    if (wait.revents & POLLOUT) {
      ssize_t count = send(line, out + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN) fail("send");
      if (count > 0) sent += (size_t)count;
    }
  }
}

static void serve(int channel) {
  int listener = socket(bluetooth, SOCK_STREAM, rfcomm);
  struct address here = address_of(NULL, channel);
  if (bind(listener, (struct sockaddr *)&here, sizeof here) || listen(listener, 1)) fail("listen");
  for (;;) {
    int line = accept(listener, NULL, NULL);
    if (line < 0) fail("accept");
    uint8_t bytes[4096];
    for (ssize_t count; (count = recv(line, bytes, sizeof bytes, 0)) > 0;)
      for (ssize_t sent = 0; sent < count;) {
        ssize_t more = send(line, bytes + sent, (size_t)(count - sent), MSG_NOSIGNAL);
        if (more < 0) break;
        sent += more;
      }
    close(line);
  }
}

int main(int count, char **words) {
  if (count == 3 && !strcmp(words[1], "serve")) serve(atoi(words[2]));
  if (count != 6) return 2;
  int line = socket(bluetooth, SOCK_STREAM, rfcomm), rounds = atoi(words[5]);
  struct address here = address_of(words[2], 0), there = address_of(words[3], atoi(words[4]));
  if (bind(line, (struct sockaddr *)&here, sizeof here)) fail("bind");
  if (connect(line, (struct sockaddr *)&there, sizeof there)) fail("connect");
  static uint8_t out[size], in[size];
  for (int i = 0; i < size; i++) out[i] = (uint8_t)(i * 31 + (i >> 8));
  // The first one warms up.
  exchange(line, out, in);
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int i = 0; i < rounds; i++) {
    exchange(line, out, in);
    if (memcmp(out, in, size)) fail("the echo differs");
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
  printf("%.2f kB/s each way, %.2f ms for an echo\n", rounds * size / seconds / 1000, seconds * 1000 / rounds);
  return 0;
}
