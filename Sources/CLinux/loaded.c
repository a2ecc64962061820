#include "CLinux.h"

// Defined by a module that has something to do before the program has a second thread.
__attribute__((weak)) void easim_loaded(void);

__attribute__((constructor)) static void loaded(void) {
  if (easim_loaded) easim_loaded();
}
