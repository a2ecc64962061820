import CBuild

/// The version of easim that `easim --version` prints and bug reports should name.
enum Version {
  /// The newest heading in CHANGELOG.md; a test checks that the two agree.
  static let current = "0.1.0"

  /// The commit that was built, such as `1a2b3c4d5e6f`, followed by `-changed` if files differed from that commit; nil
  /// if the build was not told the commit.
  static var commit: String? { text(easim_build_commit()) }

  /// The date of that commit, such as `2026-11-22`; nil if the build was not told the date.
  static var date: String? { text(easim_build_date()) }

  static var line: String {
    let origin = [commit.map { "commit \($0)" }, date].compactMap(\.self)
    return "easim \(current) (\(origin.isEmpty ? "commit and date unknown" : origin.joined(separator: ", ")))"
  }

  private static func text(_ pointer: UnsafePointer<CChar>) -> String? {
    let text = String(cString: pointer)
    return text.isEmpty ? nil : text
  }

  /// The name used in reports, including the commit if it is known.
  static let program = "easim \(current)\(commit.map { " \($0)" } ?? "")"
}
