// The mock as a host controller for USB/IP. It passes requests on to the device with bus ID 1-1 of 'easim run --on
// usbip:'. These functions are called with the lock held, unless stated otherwise.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

static int busPort, bus = -1;
static guint32 lastSequence;
static GHashTable *pending, *victims; // requests by sequence number; the requests to be unlinked
static GCond answered;
static guint32 controlSequence;
static gint32 controlStatus;

static gboolean readWhole(int file, void *into, size_t count) {
  for (size_t done = 0; done < count;) {
    ssize_t step = read(file, (char *)into + done, count - done);
    if (step <= 0) return FALSE;
    done += (size_t)step;
  }
  return TRUE;
}

static void writeWhole(int file, const void *from, size_t count) {
  for (size_t done = 0; done < count;) {
    ssize_t step = send(file, (const char *)from + done, count - done, MSG_NOSIGNAL);
    if (step <= 0) return; // The reader thread also notices the broken connection.
    done += (size_t)step;
  }
}

static guint32 ask(guint32 command, guint32 victim, gboolean reads, guint32 endpoint, guint32 length, const guint8 *setup) {
  guint32 head[12] = {htonl(command), htonl(++lastSequence), htonl(0x00010002), htonl(reads), htonl(endpoint)};
  if (command == 2) head[5] = htonl(victim);
  else head[6] = htonl(length);
  if (setup) memcpy(&head[10], setup, 8);
  writeWhole(bus, head, sizeof head);
  return lastSequence;
}

static void askForTransfer(Request *request) {
  gboolean isControl = urbOf(request)->type == USBDEVFS_URB_TYPE_CONTROL;
  const guint8 *data = request->buffer->data;
  gboolean reads = ((isControl ? data[0] : urbOf(request)->endpoint) & 0x80) != 0;
  guint32 length = (guint32)urbOf(request)->buffer_length - (isControl ? 8 : 0);
  request->offset = isControl ? 8 : 0;
  request->reads = reads;
  request->sequence =
      ask(1, 0, reads, isControl ? 0 : urbOf(request)->endpoint & 0x0F, length, isControl ? data : NULL);
  if (!reads) writeWhole(bus, data + request->offset, length);
  g_hash_table_insert(pending, GUINT_TO_POINTER(request->sequence), request);
}

static int takeBack(gulong address) {
  GHashTableIter all;
  gpointer value;
  g_hash_table_iter_init(&all, pending);
  while (g_hash_table_iter_next(&all, NULL, &value)) {
    Request *request = value;
    if (request->address != address) continue;
    guint32 number = ask(2, request->sequence, FALSE, 0, 0, NULL);
    g_hash_table_insert(victims, GUINT_TO_POINTER(number), GUINT_TO_POINTER(request->sequence));
    return 0;
  }
  return EINVAL;
}

// Sends a request without data and waits for the answer. Returns an errno.
static int control(guint8 type, guint8 number, guint16 value, guint16 index) {
  guint8 setup[8] = {type, number, (guint8)value, value >> 8, (guint8)index, index >> 8, 0, 0};
  if (bus < 0) return gone ? ENODEV : 0;
  guint32 sequence = ask(1, 0, FALSE, 0, 0, setup);
  controlSequence = sequence;
  while (controlSequence == sequence && bus >= 0) g_cond_wait(&answered, &lock);
  return bus < 0 ? ENODEV : -controlStatus;
}

// Reads one answer, and returns whether that succeeded. Called without the lock.
static gboolean hear(int file) {
  guint32 head[12];
  if (!readWhole(file, head, sizeof head)) return FALSE;
  guint32 sequence = ntohl(head[1]);
  gint32 status = (gint32)ntohl(head[5]);
  guint32 count = ntohl(head[6]);
  g_mutex_lock(&lock);
  if (ntohl(head[0]) == 4) {
    gpointer victim = g_hash_table_lookup(victims, GUINT_TO_POINTER(sequence));
    Request *request = g_hash_table_lookup(pending, victim);
    g_hash_table_remove(victims, GUINT_TO_POINTER(sequence));
    if (status && request) {
      g_hash_table_remove(pending, victim);
      complete(request, -ENOENT, 0);
    }
  } else if (sequence == controlSequence) {
    controlSequence = 0;
    controlStatus = status;
    g_cond_broadcast(&answered);
  } else {
    Request *request = g_hash_table_lookup(pending, GUINT_TO_POINTER(sequence));
    g_hash_table_remove(pending, GUINT_TO_POINTER(sequence));
    if (request) {
      g_autofree guint8 *data = g_malloc(count + 1);
      gboolean carries = request->reads && count;
      // The data is already on its way, and no other thread reads from this socket.
      if (carries && !readWhole(file, data, count)) status = -EPROTO;
      else if (carries) umockdev_ioctl_data_update(request->buffer, request->offset, data, count);
      complete(request, status, count);
    }
  }
  g_mutex_unlock(&lock);
  return TRUE;
}

static gpointer hearBus(gpointer number) {
  int file = GPOINTER_TO_INT(number);
  while (hear(file)) {}
  g_mutex_lock(&lock);
  bus = -1;
  g_cond_broadcast(&answered);
  g_mutex_unlock(&lock);
  close(file);
  g_idle_add(unplug, NULL);
  return NULL;
}

// Imports the device as soon as it appears. Called without the lock.
static gboolean takeFromBus(void) {
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons((guint16)busPort)};
  guint8 request[40] = {0x01, 0x11, 0x80, 0x03, [8] = '1', '-', '1'}, answer[8], record[312];
  int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(file, (struct sockaddr *)&name, sizeof name) == 0) {
    setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    writeWhole(file, request, sizeof request);
    if (readWhole(file, answer, sizeof answer) && answer[7] == 0 && readWhole(file, record, sizeof record)) {
      g_mutex_lock(&lock);
      bus = file;
      gone = FALSE;
      g_thread_unref(g_thread_new("bus", hearBus, GINT_TO_POINTER(file)));
      int error = control(0x00, 9, 1, 0);
      g_mutex_unlock(&lock);
      if (error) fprintf(stderr, "usb_mock: the device refuses its configuration: %s\n", strerror(error));
      return TRUE;
    }
  }
  close(file);
  return FALSE;
}
