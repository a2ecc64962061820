// libplist as Swift sees it. If this header is missing: apt-get install libplist-dev
#include <stddef.h>
#if __has_include(<plist/plist.h>)
#include <plist/plist.h>
#else
#error "easim needs libplist's headers: apt-get install libplist-dev"
#endif

// Versions of libplist return different types here; NULL means that the bytes cannot be read in all of them.
static inline plist_t easim_plist_from_xml(const char *bytes, uint32_t length) {
  plist_t list = NULL;
  plist_from_xml(bytes, length, &list);
  return list;
}

static inline plist_t easim_plist_from_bin(const char *bytes, uint32_t length) {
  plist_t list = NULL;
  plist_from_bin(bytes, length, &list);
  return list;
}
