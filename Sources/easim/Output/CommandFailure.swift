/// The exit codes of easim.
enum ExitCode: Int32, CaseIterable {
  /// Success; everything that was verified was correct.
  case done = 0
  /// A check failed.
  case checkFailed = 1
  /// Usage error, wrong input, or output that could not be written.
  case usage = 2
  /// No accessory found.
  case unreachable = 3
  /// The time limit was reached.
  case timedOut = 4
  /// The accessory disconnected.
  case gone = 5
  /// The accessory was refused, or refused to work: authentication, identification, an unusable SYN, iAP1 only.
  case refused = 6

  /// The description in the manual.
  var meaning: String {
    switch self {
    case .done: "success, and every check passed"
    case .checkFailed: "a check failed: the reply differs, a scenario did not end as expected"
    case .usage: "usage error, or output could not be written"
    case .unreachable: "no accessory found"
    case .timedOut: "timed out"
    case .gone: "the accessory disconnected"
    case .refused:
      "the accessory was refused: its authentication, identification or SYN (the first packet of a link) is wrong"
    }
  }
}

/// What is wrong with a command line.
struct UsageError: Error {
  let message: String

  init(_ message: String) {
    self.message = message
  }
}

/// Why a command ends, and its exit code.
struct CommandFailure: Error {
  let code: ExitCode
  let message: String
}
