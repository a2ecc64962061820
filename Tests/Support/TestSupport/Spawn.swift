import Glibc

/// Starts a process that inherits no open files and no blocked signals from the test, and has a minimal environment.
public struct Spawn {
  /// The reason why a program could not be started.
  public struct Failure: Error, CustomStringConvertible {
    /// The reason as a sentence.
    public let description: String
  }

  /// The process ID.
  public let pid: pid_t

  /// Starts the program at `path`. The program writes to the descriptors `out` and `err`, and reads its stdin from the
  /// file `input`. By default, its stdin is empty.
  public init(
    _ path: String, _ words: [String], environment: [String: String], input: String = "/dev/null", out: Int32,
    err: Int32
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO)
    // The descriptors that libraries open, and the test runner's pipe, are not always close-on-exec.
    if let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") {
      let closeFrom = unsafeBitCast(
        symbol, to: (@convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32).self)
      _ = closeFrom(&actions, STDERR_FILENO + 1)
    }

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let variables = Self.environment.merging(environment) { $1 }.map { "\($0.key)=\($0.value)" }.sorted()
    var pid: pid_t = 0
    let code = Self.withPointers([path] + words) { arguments in
      Self.withPointers(variables) { posix_spawn(&pid, path, &actions, &attributes, arguments, $0) }
    }
    guard code == 0 else { throw Failure(description: "\(path): \(String(cString: strerror(code)))") }
    self.pid = pid
  }

  /// A minimal environment. The user's profiles, local directory and colors must not affect a test, but a sanitizer's
  /// settings must apply.
  private static var environment: [String: String] {
    var out = ["HOME": "/nonexistent", "EASIM_LOCAL": "/nonexistent/local", "LC_ALL": "C.UTF-8"]
    for name in ["PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"] {
      if let value = getenv(name) { out[name] = String(cString: value) }
    }
    // The tests themselves run without leak detection. If an option occurs twice, the last occurrence counts.
    if let options = out["ASAN_OPTIONS"] { out["ASAN_OPTIONS"] = "\(options):detect_leaks=1" }
    return out
  }

  private static func withPointers<Result>(
    _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let copies = texts.map { strdup($0) }
    defer { copies.forEach { free($0) } }
    return body(copies + [nil])
  }
}
