/// What a script reports on the timeline, so many times of each kind; further ones are only counted.
struct ScriptNotes {
  /// What is reported.
  enum Kind: CaseIterable {
    case unanswered, endless, skipped, wrongLength, wrongChecksum, unfit, dropped

    fileprivate var isWarning: Bool {
      switch self {
      case .unanswered, .skipped: false
      case .endless, .wrongLength, .wrongChecksum, .unfit, .dropped: true
      }
    }

    fileprivate var further: String {
      switch self {
      case .unanswered: "further requests without an answer"
      case .endless: "further requests without their delimiter"
      case .skipped: "further bytes between frames"
      case .wrongLength: "further frames of a wrong length"
      case .wrongChecksum: "further frames with a wrong checksum"
      case .unfit: "further numbers that do not fit"
      case .dropped: "further answers that cannot be sent"
      }
    }

    fileprivate func total(_ count: Int) -> String {
      switch self {
      case .unanswered: "\(count) requests were not answered by any rule"
      case .endless: "\(count) requests had no delimiter"
      case .skipped: "bytes between frames were skipped \(count) times"
      case .wrongLength: "\(count) frames had a wrong length"
      case .wrongChecksum: "\(count) frames had a wrong checksum"
      case .unfit: "\(count) numbers did not fit"
      case .dropped: "\(count) answers could not be sent"
      }
    }
  }

  /// One line.
  struct Line: Equatable {
    var isWarning: Bool
    var text: String
  }

  /// How many of a kind are reported one by one.
  static let most = 10

  private var counts: [Kind: Int] = [:]
  private var lines: [Line] = []

  /// Adds a line, unless there were many of its kind.
  mutating func add(_ kind: Kind, _ text: @autoclosure () -> String) {
    let count = counts[kind, default: 0] + 1
    counts[kind] = count
    guard count <= Self.most else { return }
    lines.append(Line(isWarning: kind.isWarning, text: text()))
    if count == Self.most { lines.append(Line(isWarning: false, text: "\(kind.further) are only counted")) }
  }

  /// The lines since the last call.
  mutating func take() -> [Line] {
    guard !lines.isEmpty else { return [] }
    defer { lines.removeAll() }
    return lines
  }

  /// How many there were of the kinds that were not all reported.
  var totals: [String] {
    Kind.allCases.compactMap { kind in
      counts[kind].flatMap { $0 > Self.most ? kind.total($0) : nil }
    }
  }
}
