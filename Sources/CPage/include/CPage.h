#pragma once

#include <stddef.h>

/// A file of the live page, which is part of the program.
struct cpage_file {
  /// The path in the address: "/", "/main.js".
  const char *path;
  /// The value of Content-Type.
  const char *type;
  /// The name in the folder files.
  const char *name;
  const unsigned char *bytes;
  size_t count;
};

/// The number of files.
extern const int cpage_file_count;

/// One of the files, by index from 0.
const struct cpage_file *cpage_file_at(int index);
