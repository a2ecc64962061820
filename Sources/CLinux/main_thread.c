#include "CLinux.h"
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic(bool (*)(void)) is_also_main;

void clinux_main_thread_is_also(bool (*is_also)(void)) { atomic_store(&is_also_main, is_also); }

/* Foundation's question behind Thread.isMainThread. A program's function is called instead of a shared library's. Weak, so
   that in a program that contains Foundation (-static-stdlib) Foundation's own remains, and nothing is defined twice. */
__attribute__((weak)) bool _CFIsMainThread(void) {
  bool (*also)(void) = atomic_load(&is_also_main);
  return syscall(SYS_gettid) == getpid() || (also && also());
}
