// libmicrohttpd as Swift sees it. If this header is missing: apt-get install libmicrohttpd-dev
#if __has_include(<microhttpd.h>)
#include <stddef.h>
#include <microhttpd.h>
#else
#error "easim needs libmicrohttpd's headers: apt-get install libmicrohttpd-dev"
#endif

// Swift cannot call functions with variable arguments; these have fixed ones.

static inline struct MHD_Daemon *cmicrohttpd_start(
    int listener, MHD_AcceptPolicyCallback accept, MHD_AccessHandlerCallback handle, MHD_RequestCompletedCallback done,
    void *context, unsigned connections, unsigned seconds, size_t memory) {
  return MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, accept, context, handle, context,
      MHD_OPTION_LISTEN_SOCKET, (MHD_socket)listener,
      MHD_OPTION_CONNECTION_LIMIT, connections,
      MHD_OPTION_CONNECTION_TIMEOUT, seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory,
      MHD_OPTION_STRICT_FOR_CLIENT, 1,
      MHD_OPTION_NOTIFY_COMPLETED, done, context,
      MHD_OPTION_END);
}

static inline enum MHD_Result cmicrohttpd_result(int isRight) { return isRight ? MHD_YES : MHD_NO; }

static inline const char *cmicrohttpd_header(struct MHD_Connection *connection, const char *name) {
  return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static inline struct MHD_Response *cmicrohttpd_response(const void *bytes, size_t count) {
  return MHD_create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}

// Milliseconds until the library wants to run; negative for never.
static inline long long cmicrohttpd_timeout(struct MHD_Daemon *daemon) {
  MHD_UNSIGNED_LONG_LONG milliseconds = 0;
  if (MHD_get_timeout(daemon, &milliseconds) != MHD_YES) return -1;
  return milliseconds > 60000 ? 60000 : (long long)milliseconds;
}

static inline int cmicrohttpd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? (int)info->connect_fd : -1;
}

static inline int cmicrohttpd_descriptor(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info ? info->epoll_fd : -1;
}
