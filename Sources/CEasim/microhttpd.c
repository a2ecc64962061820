#define _GNU_SOURCE  // RTLD_NEXT
#include "CMicroHTTPD.h"

#define LATE_LIBRARY "libmicrohttpd.so.12"
#include <CLateLibrary.h>

// Lists the functions that easim calls: result, name, parameters, arguments.
#define FUNCTIONS(F)                                                                                                       \
  F(enum MHD_Result, MHD_run, (struct MHD_Daemon * daemon), (daemon))                                                      \
  F(void, MHD_stop_daemon, (struct MHD_Daemon * daemon), (daemon))                                                         \
  F(enum MHD_Result, MHD_add_connection,                                                                                   \
    (struct MHD_Daemon * daemon, MHD_socket client, const struct sockaddr *name, socklen_t size),                          \
    (daemon, client, name, size))                                                                                          \
  F(enum MHD_Result, MHD_get_timeout, (struct MHD_Daemon * daemon, MHD_UNSIGNED_LONG_LONG * left), (daemon, left))         \
  F(void, MHD_suspend_connection, (struct MHD_Connection * connection), (connection))                                     \
  F(void, MHD_resume_connection, (struct MHD_Connection * connection), (connection))                                      \
  F(const char *, MHD_lookup_connection_value,                                                                             \
    (struct MHD_Connection * connection, enum MHD_ValueKind kind, const char *key), (connection, kind, key))               \
  F(enum MHD_Result, MHD_queue_response,                                                                                   \
    (struct MHD_Connection * connection, unsigned int status, struct MHD_Response *response),                              \
    (connection, status, response))                                                                                        \
  F(struct MHD_Response *, MHD_create_response_from_buffer,                                                                \
    (size_t size, void *buffer, enum MHD_ResponseMemoryMode mode), (size, buffer, mode))                                   \
  F(struct MHD_Response *, MHD_create_response_from_callback,                                                              \
    (uint64_t size, size_t block, MHD_ContentReaderCallback read, void *context,                                           \
     MHD_ContentReaderFreeCallback release), (size, block, read, context, release))                                        \
  F(enum MHD_Result, MHD_add_response_header, (struct MHD_Response * response, const char *name, const char *value),       \
    (response, name, value))                                                                                               \
  F(void, MHD_destroy_response, (struct MHD_Response * response), (response))

FUNCTIONS(LATE_FUNCTION)
LATE_POINTER(MHD_start_daemon)
LATE_POINTER(MHD_get_connection_info)
LATE_POINTER(MHD_get_daemon_info)

LATE_LOAD(, cmicrohttpd_load, "MHD_run",                                                                                \
  LATE_FIND(, MHD_start_daemon, , )                                                                                     \
  LATE_FIND(, MHD_get_connection_info, , )                                                                              \
  LATE_FIND(, MHD_get_daemon_info, , ))

struct MHD_Daemon *cmicrohttpd_start(
    MHD_AccessHandlerCallback handle, MHD_RequestCompletedCallback done, MHD_NotifyConnectionCallback changed,
    void *context, unsigned connections, unsigned seconds, size_t memory) {
  return late_MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, handle, context,
      MHD_OPTION_CONNECTION_LIMIT, connections,
      MHD_OPTION_CONNECTION_TIMEOUT, seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory,
      MHD_OPTION_STRICT_FOR_CLIENT, 1,
      MHD_OPTION_NOTIFY_COMPLETED, done, context,
      MHD_OPTION_NOTIFY_CONNECTION, changed, context,
      MHD_OPTION_END);
}

enum MHD_Result cmicrohttpd_add(struct MHD_Daemon *daemon, int socket) {
  struct sockaddr_storage name = {0};
  socklen_t size = sizeof name;
  getpeername(socket, (struct sockaddr *)&name, &size);
  return MHD_add_connection(daemon, socket, (struct sockaddr *)&name, size);
}

int cmicrohttpd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = late_MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? (int)info->connect_fd : -1;
}

int cmicrohttpd_descriptor(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = late_MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info ? info->epoll_fd : -1;
}
