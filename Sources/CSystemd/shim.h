// sd-bus as Swift sees it. If this header is missing: apt-get install libsystemd-dev
#if __has_include(<systemd/sd-bus.h>)
#include <systemd/sd-bus.h>
#else
#error "easim needs libsystemd's headers for Bluetooth: apt-get install libsystemd-dev"
#endif
