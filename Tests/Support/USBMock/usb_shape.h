// The mock's descriptors, and which parts of the device can currently be used.
#include <glib.h>
#include <string.h>

static GByteArray *shape;  // the device and configuration descriptors
static GByteArray *string; // the answer to any request for a string
static guint8 configuration = 1, alternates[256];
static gboolean claimed[256];

static void configure(guint8 value) {
  configuration = value;
  memset(alternates, 0, sizeof alternates);
  memset(claimed, 0, sizeof claimed);
}

// With an address, returns that endpoint's packet size if the endpoint can currently be used; without one, returns
// whether the selected configuration has this alternate setting. 0 means no.
static guint find(guint8 interface, guint8 alternate, guint8 address) {
  gboolean isChosen = FALSE, isThere = FALSE;
  for (guint at = 18; at + 1 < shape->len && shape->data[at] && at + shape->data[at] <= shape->len; at += shape->data[at]) {
    const guint8 *part = shape->data + at;
    if (part[1] == 2) {
      isChosen = part[5] == configuration;
      isThere = FALSE;
    } else if (part[1] == 4 && isChosen) {
      if (!address && part[2] == interface && part[3] == alternate) return 1;
      isThere = claimed[part[2]] && alternates[part[2]] == part[3];
    } else if (part[1] == 5 && isThere && part[2] == address) {
      return (guint)(part[4] | part[5] << 8);
    }
  }
  return 0;
}

static GByteArray *bytesOf(const char *hex) {
  GByteArray *bytes = g_byte_array_new();
  for (; hex[0] && hex[1]; hex += 2) {
    guint8 byte = (guint8)(g_ascii_xdigit_value(hex[0]) << 4 | g_ascii_xdigit_value(hex[1]));
    g_byte_array_append(bytes, &byte, 1);
  }
  return bytes;
}

static void answerControl(Request *request) {
  const guint8 *setup = request->buffer->data;
  guint room = (guint)urbOf(request)->buffer_length - 8;
  if (!string || setup[0] != 0x80 || setup[1] != 6 || setup[3] != 3) return complete(request, -EPIPE, 0);
  umockdev_ioctl_data_update(request->buffer, 8, string->data, MIN(room, string->len));
  complete(request, 0, MIN(room, string->len));
}
