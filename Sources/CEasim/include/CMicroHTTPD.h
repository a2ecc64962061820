// libmicrohttpd as Swift sees it. If this header is missing: apt-get install libmicrohttpd-dev
//
// libmicrohttpd depends on TLS and eight more libraries, which take longer to load than all the rest of easim, and only
// `easim serve` needs them. The program is therefore not linked with libmicrohttpd: microhttpd.c defines the functions
// that easim calls, which call the library's own once cmicrohttpd_load has loaded it.
#if __has_include(<microhttpd.h>)
#include <stddef.h>
#include <microhttpd.h>
#else
#error "easim needs libmicrohttpd's headers: apt-get install libmicrohttpd-dev"
#endif

// Loads the library when first called. Returns NULL, or the reason why it cannot be loaded. Call this before any other
// function.
const char *cmicrohttpd_load(void);

// Swift cannot call variadic functions, so these have fixed parameters.

struct MHD_Daemon *cmicrohttpd_start(
    MHD_AccessHandlerCallback handle, MHD_RequestCompletedCallback done, MHD_NotifyConnectionCallback changed,
    void *context, unsigned connections, unsigned seconds, size_t memory);
// Serves a connected socket, which the library closes even if this call fails.
enum MHD_Result cmicrohttpd_add(struct MHD_Daemon *daemon, int socket);
int cmicrohttpd_socket(struct MHD_Connection *connection);
int cmicrohttpd_descriptor(struct MHD_Daemon *daemon);

static inline enum MHD_Result cmicrohttpd_result(int isRight) { return isRight ? MHD_YES : MHD_NO; }

static inline int cmicrohttpd_has_begun(enum MHD_ConnectionNotificationCode change) {
  return change == MHD_CONNECTION_NOTIFY_STARTED;
}

static inline const char *cmicrohttpd_header(struct MHD_Connection *connection, const char *name) {
  return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static inline struct MHD_Response *cmicrohttpd_response(const void *bytes, size_t count) {
  return MHD_create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

// The milliseconds until the library needs to run again; negative means never.
static inline long long cmicrohttpd_timeout(struct MHD_Daemon *daemon) {
  MHD_UNSIGNED_LONG_LONG milliseconds = 0;
  if (MHD_get_timeout(daemon, &milliseconds) != MHD_YES) return -1;
  return milliseconds > 60000 ? 60000 : (long long)milliseconds;
}
