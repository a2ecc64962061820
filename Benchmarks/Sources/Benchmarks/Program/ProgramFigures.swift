import Glibc

extension Figure {
  /// Figures about the program as users start it.
  static var programs: [Figure] { [programStart, programSize] }

  private static var programStart: Figure {
    Figure(
      name: "cli.start", summary: "`easim --help` from its start to its end, output to /dev/null", unit: "ms",
      floor: "a program in C that prints one word, linked against the same C library", target: .none
    ) { plan in
      let (easim, hello) = (try Program.easim(), try Program.hello())
      let count = try Stopwatch.repetitions(for: plan.seconds) { count in
        for _ in 0..<count { try easim.run(["--help"]) }
      }
      func milliseconds(_ work: () throws -> Void) throws -> Double {
        try Stopwatch.time { for _ in 0..<count { try work() } } * 1e3 / Double(count)
      }
      return Measurement(
        try plan.pairs({ try milliseconds { try easim.run(["--help"]) } }, { try milliseconds { try hello.run([]) } }))
    }
  }

  private static var programSize: Figure {
    Figure(
      name: "cli.size", summary: "the size of easim's executable, without what it links at run time", unit: "MB",
      floor: "a program in C that prints one word", target: .none
    ) { _ in
      Measurement([(ours: try Program.easim().megabytes, floor: try Program.hello().megabytes)])
    }
  }
}

/// An executable in the same folder as this one.
private struct Program {
  let path: String

  /// The executable named by `EASIM`, which Scripts/bench sets by default, or else the easim next to this program.
  static func easim() throws(MeasuringError) -> Program {
    if let path = getenv("EASIM") { return try Program(String(cString: path)) }
    return try Program("\(directory)/easim")
  }

  static func hello() throws(MeasuringError) -> Program { try Program("\(directory)/BenchmarkHello") }

  private static var directory: String {
    var buffer = [CChar](repeating: 0, count: 4_096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
  }

  private init(_ path: String) throws(MeasuringError) {
    guard access(path, X_OK) == 0 else { throw .failed("there is no \(path): Scripts/bench builds it") }
    self.path = path
  }

  var megabytes: Double {
    var status = stat()
    return stat(path, &status) == 0 ? Double(status.st_size) / 1e6 : .nan
  }

  /// Runs the program until it exits.
  func run(_ words: [String]) throws(MeasuringError) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var arguments = ([path] + words).map { strdup($0) } + [nil]
    defer { arguments.forEach { free($0) } }
    var process: pid_t = 0
    let code = posix_spawn(&process, path, &actions, nil, &arguments, environ)
    if code != 0 { throw .system("start \(path)", code: code) }
    try ChildEnd.wait(for: process)
  }
}
