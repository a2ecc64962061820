// A USB device that is none: umockdev gives a program a /sys and a /dev of its own, and this answers what libusb asks
// of the kernel there.
//
//   umockdev-wrapper usb_mock [options] -- program arguments…
//
//   --descriptors HEX   the device and configuration descriptors, as sysfs has them
//   --serial TEXT       the serial number in sysfs
//   --socket PATH       bulk bytes go to and come from this unix socket, connected while the interface is claimed;
//                       without it the device echoes
//   --stale COUNT       so many bytes wait in its IN endpoint at the first claim
//   --claimed           the interface belongs to another program
//   --driver            the interface belongs to a driver of the kernel; at the end stderr says whether it has it again
//   --vanish            unplugged when it is claimed
//   --no-strings        without manufacturer, product and serial number
//   --split COUNT       no transfer in has more bytes, and an empty one comes before each
//   --forbidden         the device may not be opened by its user: the node has no permissions
//   --plug-after MS     plugged in later
//   --unplug-after MS   unplugged that long after it was plugged in
//   --unplug-at BYTES   unplugged when so many bytes have come
//   --fail DIRECTION:ERRNO:BYTES[:COUNT]
//                       one transfer, in or out, fails when so many bytes have come, or so many in a row
//   --twice             each arrival is announced twice
//
// Ends with the exit code of the program.
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
} Request;

static GMutex lock;
static GQueue reading = G_QUEUE_INIT;
static GQueue ready = G_QUEUE_INIT;
static GByteArray *toHost;
static gboolean gone, claimedByOther, forbidden, twice, vanishes, hasNoStrings, wasEmpty, hasDriver, hadDriver;
static int unplugAfter, failures = 1;
static guint mostIn = G_MAXUINT;
static guint64 arrived, unplugAt = G_MAXUINT64, failAt = G_MAXUINT64;
static int failWith, failOut;
static unsigned staleLeft;
static int cable = -1;
static char *descriptors, *serial = "MOCK-1", *socketPath;
static UMockdevTestbed *bed;
static UMockdevIoctlBase *base;
static GMainLoop *loop;
static int exitCode = 70;

static struct usbdevfs_urb *urbOf(Request *request) { return (struct usbdevfs_urb *)request->urb->data; }

static void complete(Request *request, int status, guint count) {
  urbOf(request)->status = status;
  urbOf(request)->actual_length = (int)count;
  g_queue_push_tail(&ready, request);
}

static void feed(void) {
  while (failWith && !failOut && arrived >= failAt && !g_queue_is_empty(&reading)) {
    complete(g_queue_pop_head(&reading), -failWith, 0);
    if (--failures == 0) failWith = 0;
  }
  while (toHost->len && !g_queue_is_empty(&reading)) {
    Request *request = g_queue_pop_head(&reading);
    if (mostIn != G_MAXUINT && (wasEmpty = !wasEmpty)) {
      complete(request, 0, 0);
      continue;
    }
    guint count = MIN(MIN((guint)urbOf(request)->buffer_length, mostIn), toHost->len);
    umockdev_ioctl_data_update(request->buffer, 0, toHost->data, count);
    g_byte_array_remove_range(toHost, 0, count);
    complete(request, 0, count);
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

// The accessory behind the socket sees a claim as a cable that is plugged in.
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

static gboolean unplug(gpointer unused) {
  (void)unused;
  g_mutex_lock(&lock);
  gone = TRUE;
  for (Request *request; (request = g_queue_pop_head(&reading));) complete(request, -ESHUTDOWN, 0);
  unplugCable();
  g_mutex_unlock(&lock);
  umockdev_testbed_uevent(bed, SYSFS, "remove");
  umockdev_testbed_remove_device(bed, SYSFS);
  return FALSE;
}

static void writeOut(Request *request) {
  guint count = (guint)urbOf(request)->buffer_length;
  guint64 before = arrived;
  if (failWith && failOut && arrived + count > failAt) {
    complete(request, -failWith, 0);
    if (--failures == 0) failWith = 0;
    return;
  }
  arrived += count;
  if (before < unplugAt && arrived >= unplugAt) {
    complete(request, -ESHUTDOWN, 0);
    g_idle_add(unplug, NULL);
    return;
  }
  if (cable >= 0) {
    guint sent = 0;
    while (sent < count) {
      ssize_t step = send(cable, request->buffer->data + sent, count - sent, MSG_NOSIGNAL);
      if (step <= 0) break;
      sent += (guint)step;
    }
  } else if (!socketPath) {
    g_byte_array_append(toHost, request->buffer->data, count);
  }
  complete(request, 0, count);
}

static int submit(UMockdevIoctlData *argument) {
  if (gone) return ENODEV;
  Request *request = g_new0(Request, 1);
  request->urb = umockdev_ioctl_data_resolve(argument, 0, sizeof(struct usbdevfs_urb), NULL);
  request->address = request->urb->client_addr;
  request->buffer = umockdev_ioctl_data_resolve(
      request->urb, offsetof(struct usbdevfs_urb, buffer), (size_t)urbOf(request)->buffer_length, NULL);
  if (urbOf(request)->type != USBDEVFS_URB_TYPE_BULK) {
    complete(request, -EPIPE, 0);
  } else if (urbOf(request)->endpoint & 0x80) {
    g_queue_push_tail(&reading, request);
  } else {
    writeOut(request);
  }
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
  for (GList *item = reading.head; item; item = item->next) {
    Request *request = item->data;
    if (request->address != address) continue;
    g_queue_delete_link(&reading, item);
    complete(request, -ENOENT, 0);
    return 0;
  }
  return EINVAL;
}

static int claim(gboolean takesFromDriver) {
  if (vanishes) g_idle_add(unplug, NULL);
  if (gone || vanishes) return ENODEV;
  if (claimedByOther || (hasDriver && !takesFromDriver)) return EBUSY;
  hasDriver = FALSE;
  if (staleLeft) {
    g_autofree guint8 *old = g_malloc(staleLeft);
    memset(old, 0xEE, staleLeft);
    g_byte_array_append(toHost, old, staleLeft);
    staleLeft = 0;
  }
  plugCable();
  return 0;
}

static gboolean answer(UMockdevIoctlBase *sender, UMockdevIoctlClient *client, gpointer unused) {
  UMockdevIoctlData *argument = umockdev_ioctl_client_get_arg(client);
  int error = 0, result = 0;
  (void)sender, (void)unused;
  g_mutex_lock(&lock);
  switch (umockdev_ioctl_client_get_request(client)) {
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
  case USBDEVFS_DISCONNECT_CLAIM: error = claim(TRUE); break;
  case USBDEVFS_CLAIMINTERFACE: error = claim(FALSE); break;
  case USBDEVFS_RELEASEINTERFACE: unplugCable(); break;
  case USBDEVFS_SETINTERFACE:
  case USBDEVFS_SETCONFIGURATION:
  case USBDEVFS_CLEAR_HALT: break;
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
    // Or an ordinary user would see nothing at all.
    chmod(root, 0755);
  }
  if (unplugAfter) g_timeout_add((guint)unplugAfter, unplug, NULL);
  if (twice) umockdev_testbed_uevent(bed, SYSFS, "add");
  return FALSE;
}

static void ended(GPid pid, int status, gpointer unused) {
  (void)pid, (void)unused;
  exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  g_main_loop_quit(loop);
}

// The program decides what it does at a SIGTERM; the mock is there until its end.
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
    else if (index + 1 >= count) return 64;
    else if (!strcmp(name, "--split")) mostIn = (guint)atoi(words[++index]);
    else if (!strcmp(name, "--unplug-after")) unplugAfter = atoi(words[++index]);
    else if (!strcmp(name, "--descriptors")) descriptors = words[++index];
    else if (!strcmp(name, "--serial")) serial = words[++index];
    else if (!strcmp(name, "--socket")) socketPath = words[++index];
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
  toHost = g_byte_array_new();
  bed = umockdev_testbed_new();
  base = umockdev_ioctl_base_new();
  g_signal_connect(base, "handle-ioctl", G_CALLBACK(answer), NULL);
  if (plugAfter) g_timeout_add((guint)plugAfter, plug, NULL);
  else plug(NULL);
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
  if (hadDriver) fprintf(stderr, "usb_mock: the kernel's driver %s\n", hasDriver ? "has it again" : "is without it");
  g_object_unref(bed); // which removes its folder from the temporary ones
  return exitCode;
}
