enum ExitCode: Int32, CaseIterable {
  case done = 0
  case checkFailed = 1
  /// Usage error, invalid input, or output that easim could not write.
  case usage = 2
  case unreachable = 3
  case timedOut = 4
  case gone = 5
  /// The accessory was refused or cannot be used: authentication, identification or the SYN exchange failed, or the
  /// accessory supports only iAP1.
  case refused = 6

  var meaning: String {
    switch self {
    case .done: "success, and every check passed"
    case .checkFailed: "a check failed, for example because a reply differs or a scenario ended unexpectedly"
    case .usage: "usage error, or output could not be written"
    case .unreachable: "no accessory found"
    case .timedOut: "timed out"
    case .gone: "the accessory disconnected"
    case .refused:
      "the accessory was refused: its authentication, identification or SYN (the first packet of a link) is wrong"
    }
  }
}

struct UsageError: Error, Equatable {
  let message: String

  init(_ message: String) {
    self.message = message
  }
}

struct CommandFailure: Error {
  let code: ExitCode
  let message: String
}
