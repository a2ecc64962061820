import Foundation

/// This process's open descriptors.
public enum OpenDescriptors {
  /// What each descriptor refers to, for example `socket:[4711]`, keyed by its number.
  public static var targets: [String: String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return names.reduce(into: [:]) { targets, name in
      targets[name] = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
    }
  }
}
