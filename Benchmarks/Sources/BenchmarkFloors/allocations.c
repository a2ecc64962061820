// Counts allocations by replacing the C library's allocator: every library that an executable loads, including the
// Swift runtime, uses the executable's own malloc. This needs neither LD_PRELOAD nor linker flags.
#include "BenchmarkFloors.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ALLOCATOR_IS_TAKEN 1
#endif
#endif

#if defined(__GLIBC__) && !defined(ALLOCATOR_IS_TAKEN)

// glibc's allocator under its internal names.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_int counting;
static atomic_size_t allocations;

static void note(void) {
  if (atomic_load_explicit(&counting, memory_order_relaxed))
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

void *malloc(size_t size) {
  note();
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  note();
  return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
  note();
  return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  note();
  if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  void *made = __libc_memalign(alignment, size);
  if (made == NULL) return ENOMEM;
  *out = made;
  return 0;
}

void allocations_start(void) {
  atomic_store(&allocations, 0);
  atomic_store(&counting, 1);
}

size_t allocations_stop(void) {
  atomic_store(&counting, 0);
  return atomic_load(&allocations);
}

int allocations_are_counted(void) { return 1; }

#else

void allocations_start(void) {}
size_t allocations_stop(void) { return 0; }
int allocations_are_counted(void) { return 0; }

#endif
