#define _GNU_SOURCE
#include "CAppCalls.h"
#include <dlfcn.h>
#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

// If a program defines a function with the same name as a function in a shared library, the program's definition is
// used, even by other libraries that call the function, such as Foundation. All functions here are weak, so that in a
// program that links the libraries statically (-static-stdlib), the libraries' own functions are used and no symbol is
// defined twice.
#define WEAK __attribute__((weak))

static void (*sync_hook)(const void *);
static void (*after_hook)(uint64_t);
static void (*set_timer_hook)(const void *, uint64_t, uint64_t);
static void (*cancel_hook)(const void *);
static void (*add_timer_hook)(const void *, const void *);
static bool (*move_timer_hook)(const void *, double);
static double (*timer_date_hook)(const void *);
static void (*forget_timer_hook)(const void *);
// This flag is set after all hooks, so that a thread that finds it set also sees the hooks.
static atomic_bool has_begun;

// Returns the system's function, which is the next definition of the name after this program's.
static void *system_function(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (found) return found;
  fprintf(stderr, "easim: no library of this program has the function %s\n", name);
  abort();
}

// Defines `own` as the system function with this type and name, and looks it up only once.
#define SYSTEM(type, name)                                                                                             \
  static _Atomic(__typeof__(type)) known;                                                                              \
  __typeof__(type) own = atomic_load_explicit(&known, memory_order_relaxed);                                           \
  if (!own) atomic_store_explicit(&known, own = (__typeof__(type))system_function(name), memory_order_relaxed)

bool cappcalls_begin(
    void (*sync)(const void *), void (*after)(uint64_t), void (*set_timer)(const void *, uint64_t, uint64_t),
    void (*cancel)(const void *), void (*add_timer)(const void *, const void *), bool (*move_timer)(const void *, double),
    double (*timer_date)(const void *), void (*forget_timer)(const void *)) {
  sync_hook = sync;
  after_hook = after;
  set_timer_hook = set_timer;
  cancel_hook = cancel;
  add_timer_hook = add_timer;
  move_timer_hook = move_timer;
  timer_date_hook = timer_date;
  forget_timer_hook = forget_timer;
  atomic_store(&has_begun, true);
  return dlsym(RTLD_NEXT, "dispatch_sync") != NULL;
}

WEAK void dispatch_sync(const void *queue, const void *block) {
  SYSTEM(void (*)(const void *, const void *), "dispatch_sync");
  if (atomic_load(&has_begun)) sync_hook(queue);
  own(queue, block);
}

WEAK void dispatch_after(uint64_t time, const void *queue, const void *block) {
  SYSTEM(void (*)(uint64_t, const void *, const void *), "dispatch_after");
  if (atomic_load(&has_begun)) after_hook(time);
  own(time, queue, block);
}

WEAK void dispatch_after_f(uint64_t time, const void *queue, const void *context, const void *function) {
  SYSTEM(void (*)(uint64_t, const void *, const void *, const void *), "dispatch_after_f");
  if (atomic_load(&has_begun)) after_hook(time);
  own(time, queue, context, function);
}

// Distinguishes the timers that Dispatch itself sets (to monitor its threads once a second) from the app's timers.
static bool are_in_one_library(const void *one, const void *other) {
  Dl_info first, second;
  return dladdr(one, &first) && dladdr(other, &second) && first.dli_fbase == second.dli_fbase;
}

WEAK void dispatch_source_set_timer(const void *source, uint64_t time, uint64_t interval, uint64_t leeway) {
  SYSTEM(void (*)(const void *, uint64_t, uint64_t, uint64_t), "dispatch_source_set_timer");
  if (atomic_load(&has_begun) && !are_in_one_library(__builtin_return_address(0), (const void *)own))
    set_timer_hook(source, time, interval);
  own(source, time, interval, leeway);
}

WEAK void dispatch_source_cancel(const void *source) {
  SYSTEM(void (*)(const void *), "dispatch_source_cancel");
  if (atomic_load(&has_begun)) cancel_hook(source);
  own(source);
}

WEAK void CFRunLoopAddTimer(const void *loop, const void *timer, const void *mode) {
  SYSTEM(void (*)(const void *, const void *, const void *), "CFRunLoopAddTimer");
  if (atomic_load(&has_begun)) add_timer_hook(loop, timer);
  own(loop, timer, mode);
}

void cappcalls_set_date(const void *timer, double date) {
  SYSTEM(void (*)(const void *, double), "CFRunLoopTimerSetNextFireDate");
  own(timer, date);
}

double cappcalls_date(const void *timer) {
  SYSTEM(double (*)(const void *), "CFRunLoopTimerGetNextFireDate");
  return own(timer);
}

WEAK void CFRunLoopTimerSetNextFireDate(const void *timer, double date) {
  if (!atomic_load(&has_begun) || !move_timer_hook(timer, date)) cappcalls_set_date(timer, date);
}

WEAK double CFRunLoopTimerGetNextFireDate(const void *timer) {
  double date = atomic_load(&has_begun) ? timer_date_hook(timer) : NAN;
  return isnan(date) ? cappcalls_date(timer) : date;
}

WEAK void CFRunLoopTimerInvalidate(const void *timer) {
  SYSTEM(void (*)(const void *), "CFRunLoopTimerInvalidate");
  own(timer);
  if (atomic_load(&has_begun)) forget_timer_hook(timer);
}
