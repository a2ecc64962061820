#pragma once

// The commit that this program is built from, and its day as YYYY-MM-DD; both are empty when the build was not told.
const char *_Nonnull easim_build_commit(void);
const char *_Nonnull easim_build_date(void);
