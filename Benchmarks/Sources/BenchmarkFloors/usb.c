// Two hosts for an echoing USB device, both with libusb. The plain host waits for each transfer; the other host does as
// little as possible, and always has bursts going out and four reads pending.
#include "BenchmarkFloors.h"
#include <errno.h>
#include <libusb-1.0/libusb.h>
#include <stdlib.h>
#include <string.h>

enum { READS = 4, READ_SIZE = 16 * 1024, IN = 0x81, OUT = 0x02 };

// The context is created only once, because creating it enumerates all devices. After easim's half of a pair has set
// LIBUSB_OPTION_NO_DEVICE_DISCOVERY, a new context would no longer enumerate them.
static libusb_context *context;

struct floor_usb {
  libusb_device_handle *handle;
  struct libusb_transfer *reads[READS];
  int reads_in_flight, writes_in_flight, is_leaving, code;
  size_t received;
};

static void came(struct libusb_transfer *transfer) {
  struct floor_usb *usb = transfer->user_data;
  usb->received += (size_t)transfer->actual_length;
  int is_well = transfer->status == LIBUSB_TRANSFER_COMPLETED;
  if (usb->is_leaving || !is_well || libusb_submit_transfer(transfer) != 0) {
    usb->reads_in_flight--;
    if (!usb->is_leaving) usb->code = EIO;
  }
}

static void went(struct libusb_transfer *transfer) {
  struct floor_usb *usb = transfer->user_data;
  usb->writes_in_flight--;
  if (transfer->status != LIBUSB_TRANSFER_COMPLETED) usb->code = EIO;
}

struct floor_usb *floor_usb_open(uint16_t vendor, uint16_t product, int reads) {
  struct floor_usb *usb = calloc(1, sizeof *usb);
  if (usb == NULL || (context == NULL && libusb_init(&context) != 0)) return free(usb), NULL;
  usb->handle = libusb_open_device_with_vid_pid(context, vendor, product);
  if (usb->handle == NULL || libusb_claim_interface(usb->handle, 0) != 0) return floor_usb_close(usb), NULL;
  for (int index = 0; reads && index < READS; index++) {
    struct libusb_transfer *read = libusb_alloc_transfer(0);
    uint8_t *bytes = malloc(READ_SIZE);
    if (read == NULL || bytes == NULL) return free(bytes), floor_usb_close(usb), NULL;
    libusb_fill_bulk_transfer(read, usb->handle, IN, bytes, READ_SIZE, came, usb, 0);
    usb->reads[index] = read;
    if (libusb_submit_transfer(read) != 0) return floor_usb_close(usb), NULL;
    usb->reads_in_flight++;
  }
  return usb;
}

int floor_usb_drive(struct floor_usb *usb, size_t size, size_t bursts, size_t in_flight) {
  uint8_t *bytes = malloc(size);
  struct libusb_transfer **writes = calloc(in_flight, sizeof *writes);
  if (bytes == NULL || writes == NULL) usb->code = ENOMEM;
  for (size_t index = 0; usb->code == 0 && index < size; index++) bytes[index] = (uint8_t)index;
  size_t sent = 0, total = bursts * size;
  usb->received = 0;
  while (usb->code == 0 && usb->received < total) {
    // Once a burst has come back completely, its transfer can be reused.
    while (usb->code == 0 && sent < bursts && sent < usb->received / size + in_flight) {
      struct libusb_transfer **write = &writes[sent % in_flight];
      if (*write == NULL && (*write = libusb_alloc_transfer(0)) == NULL) usb->code = ENOMEM;
      else {
        libusb_fill_bulk_transfer(*write, usb->handle, OUT, bytes, (int)size, went, usb, 0);
        if (libusb_submit_transfer(*write) != 0) usb->code = EIO;
        else usb->writes_in_flight++, sent++;
      }
    }
    if (usb->code == 0) libusb_handle_events(context);
  }
  while (usb->writes_in_flight > 0) libusb_handle_events(context);
  for (size_t index = 0; writes && index < in_flight; index++) libusb_free_transfer(writes[index]);
  free(writes);
  free(bytes);
  return usb->code;
}

int floor_usb_exchange(struct floor_usb *usb, size_t size) {
  uint8_t *bytes = malloc(size), *back = calloc(1, size);
  int code = bytes && back ? 0 : ENOMEM, done = 0;
  for (size_t index = 0; code == 0 && index < size; index++) bytes[index] = (uint8_t)(index * 7 + index / 251);
  if (code == 0 && libusb_bulk_transfer(usb->handle, OUT, bytes, (int)size, &done, 5000) != 0) code = EIO;
  for (size_t got = 0; code == 0 && got < size; got += (size_t)done)
    if (libusb_bulk_transfer(usb->handle, IN, back + got, (int)(size - got), &done, 5000) != 0) code = EIO;
  if (code == 0 && memcmp(bytes, back, size) != 0) code = EBADMSG;
  free(bytes);
  free(back);
  return code;
}

void floor_usb_close(struct floor_usb *usb) {
  usb->is_leaving = 1;
  for (int index = 0; index < READS; index++)
    if (usb->reads[index]) libusb_cancel_transfer(usb->reads[index]);
  while (usb->reads_in_flight > 0) libusb_handle_events(context);
  for (int index = 0; index < READS; index++) {
    if (usb->reads[index] == NULL) continue;
    free(usb->reads[index]->buffer);
    libusb_free_transfer(usb->reads[index]);
  }
  if (usb->handle) {
    libusb_release_interface(usb->handle, 0);
    libusb_close(usb->handle);
  }
  free(usb);
}
