#pragma once

#include <stddef.h>

// The files of the live page, embedded in the program. Swift code declares these functions by hand.

/// The number of files.
int cpage_count(void);

/// The URL path of the file at an index, counted from 0, such as "/" or "/main.js".
const char *cpage_path(int index);

/// The value of Content-Type.
const char *cpage_type(int index);

/// The file's name in the folder `files`.
const char *cpage_name(int index);

const unsigned char *cpage_bytes(int index);
size_t cpage_size(int index);
