#pragma once

#include <stdbool.h>
#include <stdint.h>

// Intercepts an app's calls to Dispatch and CoreFoundation for ExternalAccessorySimulation. The Swift code declares the
// functions below itself. Queues, sources, run loops and timers are passed as addresses, and Dispatch times as their
// 64-bit values.

/// Starts the interception, which calls these functions:
///
/// - sync: before `dispatch_sync` on a queue.
/// - after: before `dispatch_after` or `dispatch_after_f` with a time.
/// - set_timer, cancel: when a dispatch timer is set, or a source is cancelled.
/// - add_timer: before a timer is added to a run loop.
/// - move_timer: when a timer's next fire date is set; returns true if CoreFoundation must not receive the call.
/// - timer_date: returns a timer's next fire date; NaN if CoreFoundation has to provide it.
/// - forget_timer: after a timer has been invalidated.
///
/// Returns false if calls cannot be intercepted, because the program is linked statically to Dispatch and
/// CoreFoundation (-static-stdlib).
bool cappcalls_begin(
    void (*sync)(const void *queue), void (*after)(uint64_t time),
    void (*set_timer)(const void *source, uint64_t time, uint64_t interval), void (*cancel)(const void *source),
    void (*add_timer)(const void *loop, const void *timer), bool (*move_timer)(const void *timer, double date),
    double (*timer_date)(const void *timer), void (*forget_timer)(const void *timer));

/// Calls CoreFoundation's `CFRunLoopTimerSetNextFireDate` without interception.
void cappcalls_set_date(const void *timer, double date);

/// Calls CoreFoundation's `CFRunLoopTimerGetNextFireDate` without interception.
double cappcalls_date(const void *timer);
