// Loads a library when it is first needed, so that programs start faster and also run where the library is missing.
//
// The library's functions are listed as `F(result, name, parameters, arguments)` and are defined here under the same
// names:
//
//   #define LATE_LIBRARY "libsheep.so.1"
//   #define FUNCTIONS(F) F(void, sheep_feed, (struct sheep *sheep), (sheep))
//   FUNCTIONS(LATE_FUNCTION)
//   LATE_LOAD(, load, "sheep_feed")
#pragma once
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

/// Defines a function that calls the library's function.
#define LATE_FUNCTION(result, name, parameters, arguments)                                                              \
  static __typeof__(&name) late_##name;                                                                                 \
  result name parameters { return late_##name arguments; }

/// Finds a function in `library`; if it is missing, makes the enclosing function return an error sentence.
#define LATE_FIND(result, name, parameters, arguments)                                                                  \
  if (!(*(void **)&late_##name = dlsym(library, #name))) return LATE_LIBRARY " has no " #name;

/// A pointer to a variadic function, which cannot be wrapped. LATE_FIND finds such functions as well.
#define LATE_POINTER(name) static __typeof__(&name) late_##name;

/// The library, or NULL with dlerror. `file` includes the version, because a program and a library of different
/// versions do not work together. A program from a tarball or wheel is linked with its own copy of the library, whose
/// file may have another name; `any`, one of the library's functions, is used to find that copy. The macro requires
/// _GNU_SOURCE.
#define LATE_OPEN(file, any) (dlsym(RTLD_NEXT, any) ? RTLD_NEXT : dlopen(file, RTLD_NOW | RTLD_LOCAL))

/// Defines `storage const char *function(void)`, which loads the library and finds its functions, and those in `...`,
/// unless an earlier call has. It returns NULL or an error sentence. Any thread may call it.
#define LATE_LOAD(storage, function, any, ...)                                                                          \
  static const char *function##_unlocked(void) {                                                                        \
    void *library = LATE_OPEN(LATE_LIBRARY, any);                                                                       \
    if (!library) return dlerror();                                                                                     \
    FUNCTIONS(LATE_FIND)                                                                                                \
    __VA_ARGS__                                                                                                         \
    return NULL;                                                                                                        \
  }                                                                                                                     \
  storage const char *function(void) {                                                                                  \
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;                                                            \
    static int isLoaded;                                                                                                \
    pthread_mutex_lock(&lock);                                                                                          \
    const char *reason = isLoaded ? NULL : function##_unlocked();                                                       \
    isLoaded = !reason;                                                                                                 \
    pthread_mutex_unlock(&lock);                                                                                        \
    return reason;                                                                                                      \
  }
