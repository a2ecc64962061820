#pragma once

// The commit that this program is built from, and its date as YYYY-MM-DD; both are empty if the build did not receive
// them.
const char *_Nonnull easim_build_commit(void);
const char *_Nonnull easim_build_date(void);
