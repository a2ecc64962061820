// Unpacks gzip with zlib, which is loaded when the first compressed file is read.
#define _GNU_SOURCE  // RTLD_NEXT
#include "CLinux.h"
#include <stdlib.h>

// zlib's functions and its z_stream, which has not changed since zlib 1.0. The declarations are repeated here because
// apps build this file and should not need zlib1g-dev; inflateInit2_ checks the structure's size.
struct zlib_stream {
  const unsigned char *input;
  unsigned available;
  unsigned long total_in;
  unsigned char *output;
  unsigned room;
  unsigned long total_out;
  const char *message;
  void *state, *allocate, *release, *opaque;
  int data_type;
  unsigned long check, reserved;
};
enum { ZLIB_NO_FLUSH = 0, ZLIB_END = 1, ZLIB_BUFFER_ERROR = -5, ZLIB_WINDOW = 15, ZLIB_GZIP = 16 };

int inflateInit2_(struct zlib_stream *stream, int bits, const char *version, int size);
int inflate(struct zlib_stream *stream, int flush);
int inflateReset(struct zlib_stream *stream);
int inflateEnd(struct zlib_stream *stream);

#define LATE_LIBRARY "libz.so.1"
#define FUNCTIONS(F)                                                                                                    \
  F(int, inflateInit2_, (struct zlib_stream *stream, int bits, const char *version, int size),                          \
    (stream, bits, version, size))                                                                                      \
  F(int, inflate, (struct zlib_stream *stream, int flush), (stream, flush))                                             \
  F(int, inflateReset, (struct zlib_stream *stream), (stream))                                                          \
  F(int, inflateEnd, (struct zlib_stream *stream), (stream))

// The functions have names other than zlib's, because a program may also be linked with zlib.
#define DECLARE(result, name, parameters, arguments) static __typeof__(&name) late_##name;
FUNCTIONS(DECLARE)

LATE_LOAD(static, load, "inflateInit2_")

const char *clinux_gunzip_new(void **made) {
  const char *reason = load();
  if (reason) return reason;
  struct zlib_stream *stream = calloc(1, sizeof *stream);
  if (!stream || late_inflateInit2_(stream, ZLIB_WINDOW + ZLIB_GZIP, "1", sizeof *stream) != 0) {
    free(stream);
    return "zlib cannot be used";
  }
  *made = stream;
  return NULL;
}

int clinux_gunzip(
    void *gunzip, const uint8_t *input, uint32_t *used, uint8_t *output, uint32_t *made, const char **problem) {
  struct zlib_stream *stream = gunzip;
  stream->input = input;
  stream->available = *used;
  stream->output = output;
  stream->room = *made;
  int result = late_inflate(stream, ZLIB_NO_FLUSH);
  *used -= stream->available;
  *made -= stream->room;
  if (result == ZLIB_END) return late_inflateReset(stream) == 0;
  if (result == 0 || result == ZLIB_BUFFER_ERROR) return 0;
  *problem = stream->message ? stream->message : "zlib cannot unpack it";
  return -1;
}

void clinux_gunzip_end(void *gunzip) {
  late_inflateEnd(gunzip);
  free(gunzip);
}
