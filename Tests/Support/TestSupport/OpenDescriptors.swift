import Foundation

/// This process's open descriptors.
public enum OpenDescriptors {
  /// The target of each descriptor, for example `socket:[4711]`, keyed by the descriptor's number.
  public static var targets: [String: String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return names.reduce(into: [:]) { targets, name in
      targets[name] = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
    }
  }
}
