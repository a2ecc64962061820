import CEasim

/// The version that `easim --version` prints, for use in bug reports.
enum Version {
  /// The version in the newest heading of CHANGELOG.md; a test checks that the two agree.
  static let current = "0.1.0"

  /// The commit that was built, such as `1a2b3c4d5e6f`, followed by `-changed` if files differed from that commit; nil
  /// if the commit was unknown when easim was built.
  static var commit: String? { text(easim_build_commit()) }

  /// The date of the built commit, such as `2026-11-22`; nil if the date was unknown when easim was built.
  static var date: String? { text(easim_build_date()) }

  static var line: String {
    let origin = [commit.map { "commit \($0)" }, date].compactMap(\.self)
    return "easim \(current) (\(origin.isEmpty ? "commit and date unknown" : origin.joined(separator: ", ")))"
  }

  private static func text(_ pointer: UnsafePointer<CChar>) -> String? {
    let text = String(cString: pointer)
    return text.isEmpty ? nil : text
  }

  /// easim's name in reports, including the version and, if known, the commit.
  static let program = "easim \(current)\(commit.map { " \($0)" } ?? "")"
}
