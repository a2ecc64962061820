// sd-bus as Swift sees it. If its header is missing: apt-get install libsystemd-dev
//
// libsystemd depends on six more libraries, and only Bluetooth needs them. The program is therefore not linked with
// libsystemd: systemd.c defines the functions that easim calls, which call the library's own once csystemd_load has
// loaded it.
#if __has_include(<systemd/sd-bus.h>)
#include <systemd/sd-bus.h>
#else
#error "easim needs libsystemd's headers for Bluetooth: apt-get install libsystemd-dev"
#endif

// Loads the library when first called. Returns NULL, or the reason why it cannot be loaded. Call this before any other
// function.
const char *csystemd_load(void);
