import CBuild

/// Which easim this is: what `easim --version` prints, and what to name in a report of a bug.
enum Version {
  /// The newest heading of CHANGELOG.md, as a test sees to.
  static let current = "0.1.0"

  /// The commit that was built, such as `1a2b3c4d5e6f`, with `-changed` after it when files differed from it; nil when
  /// the build was not told.
  static var commit: String? { text(easim_build_commit()) }

  /// The day of that commit, as `2026-11-22`; nil when the build was not told.
  static var date: String? { text(easim_build_date()) }

  /// One line: the version, the commit and its day.
  static var line: String {
    let origin = [commit.map { "commit \($0)" }, date].compactMap(\.self)
    return "easim \(current) (\(origin.isEmpty ? "commit and date unknown" : origin.joined(separator: ", ")))"
  }

  private static func text(_ pointer: UnsafePointer<CChar>) -> String? {
    let text = String(cString: pointer)
    return text.isEmpty ? nil : text
  }

  /// As reports name it: with the commit, where it is known.
  static let program = "easim \(current)\(commit.map { " \($0)" } ?? "")"
}
