import Foundation

/// A folder of its own for one test, gone with everything in it when the test is over.
final class Place {
  let path: String

  init() {
    path = "/tmp/easim-test-\(UUID().uuidString.prefix(8))"
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    } catch {
      preconditionFailure("no folder for a test: \(error)")
    }
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Whether there is something of that name, be it a link that leads nowhere.
  func has(_ name: String) -> Bool {
    (try? FileManager.default.attributesOfItem(atPath: file(name))) != nil
  }

  /// What is in a folder, sorted; nothing when there is none.
  func names(_ folder: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: file(folder))) ?? []).sorted()
  }

  func makeFolder(_ name: String, mode: Int) {
    do {
      try FileManager.default.createDirectory(atPath: file(name), withIntermediateDirectories: false)
      // Apart from making it, because then the process's own mask would count.
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file(name))
    } catch {
      preconditionFailure("no folder for a test: \(error)")
    }
  }

  func write(_ bytes: [UInt8], to name: String) {
    let isWritten = FileManager.default.createFile(atPath: file(name), contents: Data(bytes))
    precondition(isWritten, "\(file(name)) cannot be written")
  }

  func link(_ name: String, to path: String) {
    do {
      try FileManager.default.createSymbolicLink(atPath: file(name), withDestinationPath: path)
    } catch {
      preconditionFailure("no link for a test: \(error)")
    }
  }

  /// The bytes of a file; nil when there is none.
  func bytes(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: file(name)).map { Array($0) }
  }
}
