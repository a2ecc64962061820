/// Which easim this is: what `easim --version` prints, and what to name in a report of a bug.
enum Version {
  /// The newest heading of CHANGELOG.md, as a test sees to.
  static let current = "0.1.0"
}
