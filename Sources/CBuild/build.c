// A file of its own, in C, so that a new commit compiles these lines and links, and nothing else is built again.
#include "CBuild.h"

#ifndef EASIM_COMMIT
#define EASIM_COMMIT ""
#endif
#ifndef EASIM_DATE
#define EASIM_DATE ""
#endif

const char *easim_build_commit(void) { return EASIM_COMMIT; }
const char *easim_build_date(void) { return EASIM_DATE; }
