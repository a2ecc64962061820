import Glibc

/// The limit on open descriptors for this process and its children.
enum DescriptorLimit {
  /// The current limit on open descriptors.
  static var current: Int { Int(clamping: limit.rlim_cur) }

  private static var limit: rlimit {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return limit
  }

  /// Raises the limit to `wanted`, or as close to it as the system allows. Throws an error if the result is below
  /// `least`.
  static func raise(to wanted: Int, atLeast least: Int) throws(MeasuringError) {
    var limit = limit
    if limit.rlim_cur >= wanted { return }
    limit.rlim_cur = min(limit.rlim_max, rlim_t(wanted))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    if limit.rlim_cur < least {
      throw .failed("this needs \(least) descriptors per process, and the system allows \(limit.rlim_max): ulimit -Hn")
    }
  }
}
