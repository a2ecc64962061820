#include "CLinux.h"
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic(bool (*)(void)) is_also_main;

void clinux_main_thread_is_also(bool (*is_also)(void)) { atomic_store(&is_also_main, is_also); }

/* Overrides the function that Thread.isMainThread calls in Foundation: a function of the program takes precedence over
   one of a shared library. It is weak, so that a program that contains Foundation (-static-stdlib) keeps Foundation's own
   function and nothing is defined twice. */
__attribute__((weak)) bool _CFIsMainThread(void) {
  bool (*also)(void) = atomic_load(&is_also_main);
  return syscall(SYS_gettid) == getpid() || (also && also());
}
