import Foundation

/// The files in this repository, for tests that check the repository itself.
///
/// Paths are relative to the repository's root: `Sources/IAP2/Link/Link.swift`.
public enum Repository {
  /// The path of the repository on this machine.
  public static let root: String = {
    var url = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { url.deleteLastPathComponent() }
    return url.path
  }()

  /// Returns a file's text.
  public static func text(_ path: String) throws -> String {
    try String(contentsOfFile: absolute(path), encoding: .utf8)
  }

  /// Returns all files below a folder, sorted. Links to folders are not followed.
  public static func files(under folder: String, suffix: String = "") -> [String] {
    let found = FileManager.default.enumerator(atPath: absolute(folder))?.compactMap { $0 as? String } ?? []
    return found.map { "\(folder)/\($0)" }.filter { $0.hasSuffix(suffix) && !isFolder($0) }.sorted()
  }

  /// Returns true if a folder exists at this path.
  public static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: absolute(path), isDirectory: &isFolder) && isFolder.boolValue
  }

  private static func absolute(_ path: String) -> String { "\(root)/\(path)" }
}
