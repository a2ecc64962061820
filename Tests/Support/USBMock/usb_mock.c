// Simulates a USB device. umockdev gives a program its own /sys and /dev, and this mock answers the requests that
// libusb would make to the kernel.
//
//   umockdev-wrapper usb_mock [options] -- program arguments…
//
//   --descriptors HEX   the device and configuration descriptors, as sysfs has them
//   --serial TEXT       the serial number in sysfs
//   --socket PATH       bulk bytes go to and come from this unix socket, connected while the interface is claimed;
//                       without it the device echoes
//   --usbip PORT        use the device with bus ID 1-1 on this port of 127.0.0.1, and be present only while it is
//   --stale COUNT       this many bytes are waiting in the IN endpoint at the first claim
//   --claimed           the interface is claimed by another program
//   --driver            a kernel driver owns the interface; at the end, stderr says whether it owns it again
//   --vanish            unplug the device when it is claimed
//   --no-strings        no manufacturer, product or serial number
//   --string HEX        the device's answer to any request for a string
//   --split COUNT       limit IN transfers to this many bytes, and send an empty one before each
//   --forbidden         the node has no permissions, so its user may not open the device
//   --plug-after MS     plug the device in after this time
//   --unplug-after MS   unplug the device this long after it was plugged in
//   --unplug-at BYTES   unplug the device after it has received this many bytes
//   --fail DIRECTION:ERRNO:BYTES[:COUNT]
//                       after this many bytes, this many IN or OUT transfers in a row (by default one) fail
//   --part COUNT        a transfer that fails has carried this many bytes
//   --twice             announce each arrival twice
//   --report            at the end, write to stderr how many reads were pending at once, and what is left
//
// Like the kernel, the mock accepts transfers only for the endpoints of a selected alternate setting of a claimed
// interface. It exits with the program's exit code, or with 73 if a transfer of full packets is not followed by an
// empty one.
#define _GNU_SOURCE
#include <errno.h>
#include <glib-unix.h>
#include <glib.h>
#include <linux/usbdevice_fs.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <umockdev.h>
#include <unistd.h>

#define SYSFS "/sys/devices/pci0000:00/usb1/1-2"
#define NODE "/dev/bus/usb/001/005"

typedef struct {
  UMockdevIoctlData *urb, *buffer;
  gulong address; // in the program
  guint32 sequence, offset; // on a USB/IP bus
  gboolean reads;
} Request;

static GMutex lock;
static GQueue reading = G_QUEUE_INIT;
static GQueue ready = G_QUEUE_INIT;
static GByteArray *toHost;
static gboolean gone, claimedByOther, forbidden, twice, vanishes, hasNoStrings, wasEmpty, hasDriver, hadDriver, reports;
static int unplugAfter, failures = 1;
static guint mostIn = G_MAXUINT;
static guint64 arrived, unplugAt = G_MAXUINT64, failAt = G_MAXUINT64;
static int failWith, failOut;
static guint mostReading, part;
static unsigned staleLeft;
static int cable = -1;
static char *descriptors, *serial = "MOCK-1", *socketPath;
static UMockdevTestbed *bed;
static UMockdevIoctlBase *base;
static GMainLoop *loop;
static int exitCode = 70;

static struct usbdevfs_urb *urbOf(Request *request) { return (struct usbdevfs_urb *)request->urb->data; }

static gboolean unplug(gpointer unused);

static void complete(Request *request, int status, guint count) {
  urbOf(request)->status = status;
  urbOf(request)->actual_length = (int)count;
  g_queue_push_tail(&ready, request);
}

#include "usb_shape.h"
#include "usbip_bus.h"

static void give(Request *request, int status, guint count) {
  if (count) umockdev_ioctl_data_update(request->buffer, 0, toHost->data, count);
  g_byte_array_remove_range(toHost, 0, count);
  complete(request, status, count);
}

static void feed(void) {
  mostReading = MAX(mostReading, g_queue_get_length(&reading));
  while (failWith && !failOut && arrived >= failAt && toHost->len >= part && !g_queue_is_empty(&reading)) {
    give(g_queue_pop_head(&reading), -failWith, part);
    if (--failures == 0) failWith = 0;
  }
  while (toHost->len && !g_queue_is_empty(&reading)) {
    Request *request = g_queue_pop_head(&reading);
    if (mostIn != G_MAXUINT && (wasEmpty = !wasEmpty)) {
      complete(request, 0, 0);
      continue;
    }
    give(request, 0, MIN(MIN((guint)urbOf(request)->buffer_length, mostIn), toHost->len));
  }
}

static gpointer readCable(gpointer number) {
  guint8 bytes[4096];
  int file = GPOINTER_TO_INT(number);
  ssize_t count;
  while ((count = read(file, bytes, sizeof bytes)) > 0) {
    g_mutex_lock(&lock);
    g_byte_array_append(toHost, bytes, (guint)count);
    feed();
    g_mutex_unlock(&lock);
  }
  close(file);
  return NULL;
}

// To the accessory at the other end of the socket, a claim looks like a cable being plugged in.
static void plugCable(void) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  if (!socketPath || cable >= 0) return;
  cable = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  g_strlcpy(name.sun_path, socketPath, sizeof name.sun_path);
  if (connect(cable, (struct sockaddr *)&name, sizeof name) != 0) {
    fprintf(stderr, "usb_mock: %s: %s\n", socketPath, strerror(errno));
    exit(71);
  }
  g_thread_unref(g_thread_new("cable", readCable, GINT_TO_POINTER(cable)));
}

static void unplugCable(void) {
  if (cable >= 0) shutdown(cable, SHUT_RDWR);
  cable = -1;
}

static gboolean takesFromBus(gpointer unused);

static gboolean unplug(gpointer unused) {
  (void)unused;
  g_mutex_lock(&lock);
  gone = TRUE;
  for (Request *request; (request = g_queue_pop_head(&reading));) complete(request, -ESHUTDOWN, 0);
  GHashTableIter all;
  gpointer value;
  g_hash_table_iter_init(&all, pending);
  while (g_hash_table_iter_next(&all, NULL, &value)) complete(value, -ESHUTDOWN, 0);
  g_hash_table_remove_all(pending);
  configure(1);
  unplugCable();
  g_mutex_unlock(&lock);
  umockdev_testbed_uevent(bed, SYSFS, "remove");
  umockdev_testbed_remove_device(bed, SYSFS);
  if (busPort) g_timeout_add(20, takesFromBus, NULL);
  return FALSE;
}

static void sendOut(const guint8 *bytes, guint count) {
  if (cable >= 0) writeWhole(cable, bytes, count);
  else if (!socketPath) g_byte_array_append(toHost, bytes, count);
}

static void writeOut(Request *request) {
  guint count = (guint)urbOf(request)->buffer_length;
  guint64 before = arrived;
  if (failWith && failOut && arrived + count > failAt) {
    guint carried = MIN(part, count);
    arrived += carried;
    sendOut(request->buffer->data, carried);
    complete(request, -failWith, carried);
    if (--failures == 0) failWith = 0;
    return;
  }
  arrived += count;
  if (before < unplugAt && arrived >= unplugAt) {
    complete(request, -ESHUTDOWN, 0);
    g_idle_add(unplug, NULL);
    return;
  }
  sendOut(request->buffer->data, count);
  complete(request, 0, count);
}

static int submit(UMockdevIoctlData *argument) {
  if (gone) return ENODEV;
  Request *request = g_new0(Request, 1);
  request->urb = umockdev_ioctl_data_resolve(argument, 0, sizeof(struct usbdevfs_urb), NULL);
  request->address = request->urb->client_addr;
  request->buffer = umockdev_ioctl_data_resolve(
      request->urb, offsetof(struct usbdevfs_urb, buffer), (size_t)urbOf(request)->buffer_length, NULL);
  gboolean isBulk = urbOf(request)->type == USBDEVFS_URB_TYPE_BULK, reads = urbOf(request)->endpoint & 0x80;
  guint packet = isBulk ? find(0, 0, urbOf(request)->endpoint) : 0;
  if (isBulk && !packet) return ENOENT;
  if (isBulk && !reads && (guint)urbOf(request)->buffer_length % packet == 0 &&
      !(urbOf(request)->flags & USBDEVFS_URB_ZERO_PACKET)) {
    fprintf(stderr, "usb_mock: %d bytes are whole packets, and no empty one follows\n", urbOf(request)->buffer_length);
    exit(73);
  }
  if (busPort) askForTransfer(request);
  else if (!isBulk) answerControl(request);
  else if (reads) g_queue_push_tail(&reading, request);
  else writeOut(request);
  feed();
  return 0;
}

static int reap(UMockdevIoctlData *argument) {
  Request *request = g_queue_pop_head(&ready);
  if (!request) return gone ? ENODEV : EAGAIN;
  g_autoptr(UMockdevIoctlData) pointer = umockdev_ioctl_data_resolve(argument, 0, sizeof(gpointer), NULL);
  umockdev_ioctl_data_set_ptr(pointer, 0, request->urb);
  umockdev_ioctl_data_unref(request->buffer);
  umockdev_ioctl_data_unref(request->urb);
  g_free(request);
  return 0;
}

static int discard(gulong address) {
  if (busPort) return takeBack(address);
  for (GList *item = reading.head; item; item = item->next) {
    Request *request = item->data;
    if (request->address != address) continue;
    g_queue_delete_link(&reading, item);
    complete(request, -ENOENT, 0);
    return 0;
  }
  return EINVAL;
}

static int claim(guint8 interface, gboolean takesFromDriver) {
  if (vanishes) g_idle_add(unplug, NULL);
  if (gone || vanishes) return ENODEV;
  if (!find(interface, 0, 0)) return ENOENT;
  if (claimedByOther || claimed[interface] || (hasDriver && !takesFromDriver)) return EBUSY;
  hasDriver = FALSE;
  claimed[interface] = TRUE;
  if (staleLeft) {
    g_autofree guint8 *old = g_malloc(staleLeft);
    memset(old, 0xEE, staleLeft);
    g_byte_array_append(toHost, old, staleLeft);
    staleLeft = 0;
  }
  plugCable();
  return 0;
}

static int chooseAlternate(guint8 interface, guint8 alternate) {
  if (!claimed[interface] || !find(interface, alternate, 0)) return EINVAL;
  alternates[interface] = alternate;
  return control(0x01, 11, alternate, interface);
}

static int chooseConfiguration(guint8 value) {
  configure(value);
  return control(0x00, 9, value, 0);
}

static int release(guint8 interface) {
  if (!claimed[interface]) return EINVAL;
  if (alternates[interface]) chooseAlternate(interface, 0);
  claimed[interface] = FALSE;
  unplugCable();
  return 0;
}

static gboolean answer(UMockdevIoctlBase *sender, UMockdevIoctlClient *client, gpointer unused) {
  UMockdevIoctlData *argument = umockdev_ioctl_client_get_arg(client);
  int error = 0, result = 0;
  gulong request = umockdev_ioctl_client_get_request(client);
  (void)sender, (void)unused;
  g_mutex_lock(&lock);
  switch (request) {
  case USBDEVFS_GET_CAPABILITIES: {
    g_autoptr(UMockdevIoctlData) data = umockdev_ioctl_data_resolve(argument, 0, 4, NULL);
    guint32 bits = USBDEVFS_CAP_ZERO_PACKET | USBDEVFS_CAP_BULK_CONTINUATION | USBDEVFS_CAP_NO_PACKET_SIZE_LIM |
                   USBDEVFS_CAP_REAP_AFTER_DISCONNECT;
    umockdev_ioctl_data_update(data, 0, (guint8 *)&bits, 4);
    break;
  }
  case USBDEVFS_CONNECTINFO: {
    struct usbdevfs_connectinfo info = {.devnum = 5};
    g_autoptr(UMockdevIoctlData) data = umockdev_ioctl_data_resolve(argument, 0, sizeof info, NULL);
    umockdev_ioctl_data_update(data, 0, (guint8 *)&info, sizeof info);
    break;
  }
  case USBDEVFS_DISCONNECT_CLAIM:
  case USBDEVFS_CLAIMINTERFACE:
  case USBDEVFS_RELEASEINTERFACE:
  case USBDEVFS_SETCONFIGURATION:
  case USBDEVFS_CLEAR_HALT:
  case USBDEVFS_SETINTERFACE: {
    // The argument of each of these requests begins with a number.
    gboolean hasTwo = request == USBDEVFS_SETINTERFACE;
    g_autoptr(UMockdevIoctlData) data = umockdev_ioctl_data_resolve(argument, 0, hasTwo ? 8 : 4, NULL);
    guint32 *numbers = (guint32 *)data->data;
    guint8 first = (guint8)numbers[0];
    if (request == USBDEVFS_RELEASEINTERFACE) error = release(first);
    else if (request == USBDEVFS_SETCONFIGURATION) error = chooseConfiguration(first);
    else if (request == USBDEVFS_CLEAR_HALT) error = control(0x02, 1, 0, first);
    else if (hasTwo) error = chooseAlternate(first, (guint8)numbers[1]);
    else error = claim(first, request == USBDEVFS_DISCONNECT_CLAIM);
    break;
  }
  case USBDEVFS_IOCTL: {
    g_autoptr(UMockdevIoctlData) data = umockdev_ioctl_data_resolve(argument, 0, sizeof(struct usbdevfs_ioctl), NULL);
    if (hadDriver && ((struct usbdevfs_ioctl *)data->data)->ioctl_code == USBDEVFS_CONNECT) hasDriver = TRUE;
    else error = ENODATA;
    break;
  }
  case USBDEVFS_GETDRIVER: error = ENODATA; break;
  case USBDEVFS_SUBMITURB: error = submit(argument); break;
  case USBDEVFS_REAPURB:
  case USBDEVFS_REAPURBNDELAY: error = reap(argument); break;
  case USBDEVFS_DISCARDURB: error = discard(*(gulong *)argument->data); break;
  default: error = ENOTTY;
  }
  g_mutex_unlock(&lock);
  if (error) result = -1;
  umockdev_ioctl_client_complete(client, result, error);
  return TRUE;
}

static gboolean plug(gpointer unused) {
  GError *error = NULL;
  (void)unused;
  g_autofree char *strings = hasNoStrings ? g_strdup("") : g_strdup_printf(
      "A: manufacturer=Mock Works\\n\nA: product=Mock Accessory\\n\nA: serial=%s\\n\n", serial);
  g_autofree char *text = g_strdup_printf(
      "P: /devices/pci0000:00/usb1/1-2\n"
      "N: bus/usb/001/005=%s\n"
      "E: SUBSYSTEM=usb\nE: DEVTYPE=usb_device\nE: DRIVER=usb\nE: DEVNAME=" NODE "\nE: BUSNUM=001\nE: DEVNUM=005\n"
      "E: MAJOR=189\nE: MINOR=4\n"
      "A: busnum=1\\n\nA: devnum=5\\n\nA: bConfigurationValue=1\\n\nA: speed=480\\n\n"
      "%sH: descriptors=%s\n%s",
      descriptors, strings, descriptors,
      claimedByOther ? "\nP: /devices/pci0000:00/usb1/1-2/1-2:1.0\nE: SUBSYSTEM=usb\nE: DEVTYPE=usb_interface\n"
                       "L: driver=../../../../../bus/usb/drivers/usbfs\n"
                     : "");
  if (!umockdev_testbed_attach_ioctl(bed, NODE, base, &error) ||
      !umockdev_testbed_add_from_string(bed, text, &error)) {
    fprintf(stderr, "usb_mock: %s\n", error->message);
    exit(70);
  }
  if (forbidden) {
    g_autofree char *root = umockdev_testbed_get_root_dir(bed);
    g_autofree char *path = g_strconcat(root, NODE, NULL);
    chmod(path, 0);
    // Without this mode, an ordinary user would not see the device at all.
    chmod(root, 0755);
  }
  if (unplugAfter) g_timeout_add((guint)unplugAfter, unplug, NULL);
  if (twice) umockdev_testbed_uevent(bed, SYSFS, "add");
  return FALSE;
}

// Plugs in the device as soon as it appears on the USB/IP bus.
static gboolean takesFromBus(gpointer unused) {
  if (!takeFromBus()) return TRUE;
  umockdev_testbed_detach_ioctl(bed, NODE, NULL);
  plug(unused);
  return FALSE;
}

static void report(void) {
  guint claims = 0;
  for (int interface = 0; interface < 256; interface++) claims += claimed[interface] ? 1 : 0;
  fprintf(stderr, "usb_mock: %u reads at once; left: %u transfers, %u claims\n", mostReading,
          g_queue_get_length(&reading) + g_queue_get_length(&ready) + g_hash_table_size(pending), claims);
}

static void ended(GPid pid, int status, gpointer unused) {
  (void)pid, (void)unused;
  exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  g_main_loop_quit(loop);
}

// The program decides how to react to SIGTERM. The mock runs until the program ends.
static gboolean passOn(gpointer pid) {
  kill(GPOINTER_TO_INT(pid), SIGTERM);
  return G_SOURCE_CONTINUE;
}

int main(int count, char **words) {
  int plugAfter = 0, index = 1;
  for (; index < count && strcmp(words[index], "--"); index++) {
    char *name = words[index];
    if (!strcmp(name, "--claimed")) claimedByOther = TRUE;
    else if (!strcmp(name, "--forbidden")) forbidden = TRUE;
    else if (!strcmp(name, "--twice")) twice = TRUE;
    else if (!strcmp(name, "--vanish")) vanishes = TRUE;
    else if (!strcmp(name, "--no-strings")) hasNoStrings = TRUE;
    else if (!strcmp(name, "--driver")) hasDriver = hadDriver = TRUE;
    else if (!strcmp(name, "--report")) reports = TRUE;
    else if (index + 1 >= count) return 64;
    else if (!strcmp(name, "--split")) mostIn = (guint)atoi(words[++index]);
    else if (!strcmp(name, "--unplug-after")) unplugAfter = atoi(words[++index]);
    else if (!strcmp(name, "--descriptors")) descriptors = words[++index];
    else if (!strcmp(name, "--serial")) serial = words[++index];
    else if (!strcmp(name, "--socket")) socketPath = words[++index];
    else if (!strcmp(name, "--string")) string = bytesOf(words[++index]);
    else if (!strcmp(name, "--usbip")) busPort = atoi(words[++index]);
    else if (!strcmp(name, "--part")) part = (guint)atoi(words[++index]);
    else if (!strcmp(name, "--stale")) staleLeft = (unsigned)atoi(words[++index]);
    else if (!strcmp(name, "--plug-after")) plugAfter = atoi(words[++index]);
    else if (!strcmp(name, "--unplug-at")) unplugAt = g_ascii_strtoull(words[++index], NULL, 10);
    else if (!strcmp(name, "--fail")) {
      g_auto(GStrv) parts = g_strsplit(words[++index], ":", 4);
      if (g_strv_length(parts) < 3) return 64;
      if (parts[3]) failures = atoi(parts[3]);
      failOut = !strcmp(parts[0], "out");
      failWith = atoi(parts[1]);
      failAt = g_ascii_strtoull(parts[2], NULL, 10);
    } else return 64;
  }
  if (!descriptors || index + 1 >= count) return 64;
  shape = bytesOf(descriptors);
  toHost = g_byte_array_new();
  pending = g_hash_table_new(NULL, NULL);
  victims = g_hash_table_new(NULL, NULL);
  bed = umockdev_testbed_new();
  base = umockdev_ioctl_base_new();
  g_signal_connect(base, "handle-ioctl", G_CALLBACK(answer), NULL);
  if (plugAfter) g_timeout_add((guint)plugAfter, plug, NULL);
  else if (busPort && takesFromBus(NULL)) g_timeout_add(20, takesFromBus, NULL);
  else if (!busPort) plug(NULL);
  GError *error = NULL;
  GPid pid;
  if (!g_spawn_async(NULL, words + index + 1, NULL,
                     G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH | G_SPAWN_CHILD_INHERITS_STDIN, NULL, NULL, &pid,
                     &error)) {
    fprintf(stderr, "usb_mock: %s\n", error->message);
    return 66;
  }
  g_child_watch_add(pid, ended, NULL);
  g_unix_signal_add(SIGTERM, passOn, GINT_TO_POINTER(pid));
  loop = g_main_loop_new(NULL, FALSE);
  g_main_loop_run(loop);
  if (reports) report();
  if (hadDriver) fprintf(stderr, "usb_mock: the kernel's driver %s\n", hasDriver ? "has it again" : "is without it");
  g_object_unref(bed); // also removes its temporary folder
  return exitCode;
}
