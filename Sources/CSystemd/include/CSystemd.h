// sd-bus as Swift sees it. If its header is missing: apt-get install libsystemd-dev
//
// libsystemd brings six more libraries with it, and only Bluetooth needs them. The program is therefore not linked with
// it: systemd.c defines the functions that easim calls, and they call those of the library, once csystemd_load has
// loaded it.
#if __has_include(<systemd/sd-bus.h>)
#include <systemd/sd-bus.h>
#else
#error "easim needs libsystemd's headers for Bluetooth: apt-get install libsystemd-dev"
#endif

// Loads the library when first called. Returns NULL, or the reason why it cannot be loaded. Call this before any other
// function.
const char *csystemd_load(void);
