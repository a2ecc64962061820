import CEasim

enum Version {
  /// The version in the newest heading of CHANGELOG.md. A test checks that this version matches the changelog.
  static let current = "0.1.0"

  /// The commit that easim was built from, such as `1a2b3c4d5e6f`, or nil if it was unknown during the build. If any
  /// files differed from the commit, `-changed` is appended.
  static var commit: String? { text(easim_build_commit()) }

  /// The date of the commit that easim was built from, such as `2026-11-22`, or nil if it was unknown during the build.
  static var date: String? { text(easim_build_date()) }

  static var line: String {
    let origin = [commit.map { "commit \($0)" }, date].compactMap(\.self)
    return "easim \(current) (\(origin.isEmpty ? "commit and date unknown" : origin.joined(separator: ", ")))"
  }

  private static func text(_ pointer: UnsafePointer<CChar>) -> String? {
    let text = String(cString: pointer)
    return text.isEmpty ? nil : text
  }

  /// How reports refer to easim: its name, its version and, if known, its commit.
  static let program = "easim \(current)\(commit.map { " \($0)" } ?? "")"
}
