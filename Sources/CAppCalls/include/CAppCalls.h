#pragma once

#include <stdbool.h>
#include <stdint.h>

// Functions of Dispatch and CoreFoundation that an app calls and that ExternalAccessorySimulation hears of first; Swift declares
// what is below itself. Queues, sources, run loops and timers are addresses; times of Dispatch are its own numbers.

/// Begins to call these functions:
///
/// - sync: before `dispatch_sync` on a queue.
/// - after: `dispatch_after` or `dispatch_after_f` for a time.
/// - set_timer, cancel: a dispatch timer is set, or a source cancelled.
/// - add_timer: before a timer is added to a run loop.
/// - move_timer: a timer is moved to a date; true if CoreFoundation must not hear of it.
/// - timer_date: the date of a timer; NaN if CoreFoundation knows it.
/// - forget_timer: after a timer was invalidated.
///
/// Returns false if nothing will be called, because the program contains Dispatch and CoreFoundation (-static-stdlib).
bool cappcalls_begin(
    void (*sync)(const void *queue), void (*after)(uint64_t time),
    void (*set_timer)(const void *source, uint64_t time, uint64_t interval), void (*cancel)(const void *source),
    void (*add_timer)(const void *loop, const void *timer), bool (*move_timer)(const void *timer, double date),
    double (*timer_date)(const void *timer), void (*forget_timer)(const void *timer));

/// CoreFoundation's own function, without the above.
void cappcalls_set_date(const void *timer, double date);

/// CoreFoundation's own function, without the above.
double cappcalls_date(const void *timer);
