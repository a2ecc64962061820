import Glibc

/// Clocks for measurements.
enum Stopwatch {
  /// Seconds of real time, from an arbitrary origin.
  static var now: Double {
    seconds(of: CLOCK_MONOTONIC)
  }

  /// The processor time that this process has used, in seconds.
  static var processorTime: Double {
    seconds(of: CLOCK_PROCESS_CPUTIME_ID)
  }

  /// The processor time that another process has used, in seconds.
  static func processorTime(of process: pid_t) -> Double {
    var clock = clockid_t()
    return clock_getcpuclockid(process, &clock) == 0 ? seconds(of: clock) : .nan
  }

  /// Returns how long `work` takes in real time. Use this for work that waits.
  static func time(_ work: () throws -> Void) rethrows -> Double {
    let start = now
    try work()
    return now - start
  }

  /// Returns how much processor time `work` takes. Use this for work that never waits, so that other load on the
  /// machine affects the result as little as possible.
  static func busyTime(_ work: () throws -> Void) rethrows -> Double {
    let start = seconds(of: CLOCK_THREAD_CPUTIME_ID)
    try work()
    return seconds(of: CLOCK_THREAD_CPUTIME_ID) - start
  }

  /// Returns how many times to repeat `work` so that a measurement takes `seconds`. The number is found by doubling.
  static func repetitions(for seconds: Double, _ work: (Int) throws -> Void) rethrows -> Int {
    var count = 1
    while true {
      let taken = try time { try work(count) }
      if taken >= seconds / 4 { return max(1, Int(Double(count) * seconds / taken)) }
      count *= 2
    }
  }

  private static func seconds(of clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }
}
