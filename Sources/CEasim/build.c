// This is a separate C file, so that after a new commit only these lines are compiled before linking.
#include "CBuild.h"

#ifndef EASIM_COMMIT
#define EASIM_COMMIT ""
#endif
#ifndef EASIM_DATE
#define EASIM_DATE ""
#endif

const char *easim_build_commit(void) { return EASIM_COMMIT; }
const char *easim_build_date(void) { return EASIM_DATE; }
