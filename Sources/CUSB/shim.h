// libusb as Swift sees it. If this header is missing: apt-get install libusb-1.0-0-dev
#if __has_include(<libusb.h>)
#include <libusb.h>
#else
#error "easim needs libusb's headers: apt-get install libusb-1.0-0-dev"
#endif

// Swift cannot call variadic functions. Contexts created after this call do not search for devices; they are given open
// ones.
static inline int clibusb_look_for_no_devices(void) {
  return libusb_set_option(NULL, LIBUSB_OPTION_NO_DEVICE_DISCOVERY);
}

// libudev as Swift sees it. If this header is missing: apt-get install libudev-dev
#if __has_include(<libudev.h>)
#include <libudev.h>
#else
#error "easim needs libudev's headers: apt-get install libudev-dev"
#endif
