// libudev as Swift sees it. If this header is missing: apt-get install libudev-dev
#if __has_include(<libudev.h>)
#include <libudev.h>
#else
#error "easim needs libudev's headers: apt-get install libudev-dev"
#endif
