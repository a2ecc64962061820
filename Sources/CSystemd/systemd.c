#define _GNU_SOURCE  // RTLD_NEXT
#include "CSystemd.h"

#define LATE_LIBRARY "libsystemd.so.0"
#include <CLateLibrary.h>

// Lists the functions that easim calls: result, name, parameters, arguments.
#define FUNCTIONS(F)                                                                                                    \
  F(int, sd_bus_new, (sd_bus **ret), (ret))                                                                             \
  F(int, sd_bus_open_system, (sd_bus **ret), (ret))                                                                     \
  F(int, sd_bus_set_address, (sd_bus *bus, const char *address), (bus, address))                                        \
  F(int, sd_bus_set_bus_client, (sd_bus *bus, int b), (bus, b))                                                         \
  F(int, sd_bus_start, (sd_bus *bus), (bus))                                                                            \
  F(sd_bus *, sd_bus_unref, (sd_bus *bus), (bus))                                                                       \
  F(sd_bus *, sd_bus_close_unref, (sd_bus *bus), (bus))                                                                 \
  F(int, sd_bus_is_ready, (sd_bus *bus), (bus))                                                                         \
  F(int, sd_bus_get_fd, (sd_bus *bus), (bus))                                                                           \
  F(int, sd_bus_get_events, (sd_bus *bus), (bus))                                                                       \
  F(int, sd_bus_get_timeout, (sd_bus *bus, uint64_t *timeout_usec), (bus, timeout_usec))                                \
  F(int, sd_bus_process, (sd_bus *bus, sd_bus_message **r), (bus, r))                                                   \
  F(int, sd_bus_send, (sd_bus *bus, sd_bus_message *m, uint64_t *cookie), (bus, m, cookie))                             \
  F(int, sd_bus_call,                                                                                                   \
    (sd_bus *bus, sd_bus_message *m, uint64_t usec, sd_bus_error *ret_error, sd_bus_message **reply),                   \
    (bus, m, usec, ret_error, reply))                                                                                   \
  F(int, sd_bus_call_async,                                                                                             \
    (sd_bus *bus, sd_bus_slot **slot, sd_bus_message *m, sd_bus_message_handler_t callback, void *userdata,             \
     uint64_t usec),                                                                                                    \
    (bus, slot, m, callback, userdata, usec))                                                                           \
  F(int, sd_bus_request_name, (sd_bus *bus, const char *name, uint64_t flags), (bus, name, flags))                      \
  F(int, sd_bus_add_match_async,                                                                                        \
    (sd_bus *bus, sd_bus_slot **slot, const char *match, sd_bus_message_handler_t callback,                             \
     sd_bus_message_handler_t install_callback, void *userdata),                                                        \
    (bus, slot, match, callback, install_callback, userdata))                                                           \
  F(int, sd_bus_add_object,                                                                                             \
    (sd_bus *bus, sd_bus_slot **slot, const char *path, sd_bus_message_handler_t callback, void *userdata),             \
    (bus, slot, path, callback, userdata))                                                                              \
  F(sd_bus_slot *, sd_bus_slot_unref, (sd_bus_slot *slot), (slot))                                                      \
  F(int, sd_bus_error_set, (sd_bus_error *e, const char *name, const char *message), (e, name, message))                \
  F(void, sd_bus_error_free, (sd_bus_error *e), (e))                                                                    \
  F(int, sd_bus_message_new_method_call,                                                                                \
    (sd_bus *bus, sd_bus_message **m, const char *destination, const char *path, const char *interface,                 \
     const char *member),                                                                                               \
    (bus, m, destination, path, interface, member))                                                                     \
  F(int, sd_bus_message_new_method_return, (sd_bus_message *call, sd_bus_message **m), (call, m))                       \
  F(int, sd_bus_message_new_method_error,                                                                               \
    (sd_bus_message *call, sd_bus_message **m, const sd_bus_error *e), (call, m, e))                                    \
  F(int, sd_bus_message_new_signal,                                                                                     \
    (sd_bus *bus, sd_bus_message **m, const char *path, const char *interface, const char *member),                     \
    (bus, m, path, interface, member))                                                                                  \
  F(sd_bus_message *, sd_bus_message_ref, (sd_bus_message *m), (m))                                                     \
  F(sd_bus_message *, sd_bus_message_unref, (sd_bus_message *m), (m))                                                   \
  F(const char *, sd_bus_message_get_path, (sd_bus_message *m), (m))                                                    \
  F(const char *, sd_bus_message_get_interface, (sd_bus_message *m), (m))                                               \
  F(const char *, sd_bus_message_get_member, (sd_bus_message *m), (m))                                                  \
  F(const char *, sd_bus_message_get_sender, (sd_bus_message *m), (m))                                                  \
  F(const sd_bus_error *, sd_bus_message_get_error, (sd_bus_message *m), (m))                                           \
  F(int, sd_bus_message_is_method_call,                                                                                 \
    (sd_bus_message *m, const char *interface, const char *member), (m, interface, member))                             \
  F(int, sd_bus_message_is_method_error, (sd_bus_message *m, const char *name), (m, name))                              \
  F(int, sd_bus_message_append_basic, (sd_bus_message *m, char type, const void *p), (m, type, p))                      \
  F(int, sd_bus_message_open_container, (sd_bus_message *m, char type, const char *contents), (m, type, contents))      \
  F(int, sd_bus_message_close_container, (sd_bus_message *m), (m))                                                      \
  F(int, sd_bus_message_peek_type, (sd_bus_message *m, char *type, const char **contents), (m, type, contents))         \
  F(int, sd_bus_message_read_basic, (sd_bus_message *m, char type, void *p), (m, type, p))                              \
  F(int, sd_bus_message_enter_container, (sd_bus_message *m, char type, const char *contents), (m, type, contents))     \
  F(int, sd_bus_message_exit_container, (sd_bus_message *m), (m))

FUNCTIONS(LATE_FUNCTION)

LATE_LOAD(, csystemd_load, "sd_bus_new")
