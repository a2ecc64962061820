import Foundation

/// A separate folder for a test, deleted with everything in it when the last reference is gone.
///
/// ```swift
/// let folder = TemporaryFolder()
/// let plist = folder.write("<plist/>", to: "Info.plist")
/// ```
///
/// Without a place to write, no test can show anything, so an error here ends the run with a message.
public final class TemporaryFolder {
  /// The path, which is short, so that the path of a socket in it is not too long.
  public let path: String
  /// Whether it is kept after the last reference is gone, to be examined.
  public var isKept = false

  /// Creates the folder, which only this user can read.
  public init() {
    var template = Array("/tmp/easim-test-XXXXXX".utf8CString)
    precondition(mkdtemp(&template) != nil, "no folder for a test: \(String(cString: strerror(errno)))")
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    if !isKept { try? FileManager.default.removeItem(atPath: path) }
  }

  // MARK: Reading its contents

  /// The path of something in the folder.
  public func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Whether something with that name exists, even a link that leads nowhere.
  public func has(_ name: String) -> Bool {
    (try? FileManager.default.attributesOfItem(atPath: file(name))) != nil
  }

  /// The sorted contents.
  public var names: [String] { names("") }

  /// The sorted contents of a subfolder; empty if there is none.
  public func names(_ folder: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: file(folder))) ?? []).sorted()
  }

  /// The bytes of a file; nil if there is none.
  public func bytes(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: file(name)).map { Array($0) }
  }

  // MARK: Adding to it

  /// Creates a program in the folder. A process that another test started meanwhile may still have the file open for
  /// writing, and then the system refuses to run it; a lease for reading is refused for just as long.
  public func writeProgram(_ text: String, to name: String) {
    demand("write \(file(name))") { try Data(text.utf8).write(to: URL(fileURLWithPath: file(name))) }
    chmod(file(name), 0o755)
    let descriptor = open(file(name), O_RDONLY | O_CLOEXEC)
    let setLease: Int32 = 1_024  // F_SETLEASE, which Swift does not import.
    while descriptor >= 0, fcntl(descriptor, setLease, F_RDLCK) != 0, errno == EAGAIN { sched_yield() }
    close(descriptor)
  }

  /// Creates a subfolder, and those on the way there.
  public func makeFolder(_ name: String, mode: Int = 0o700) {
    demand("make \(file(name))") {
      try FileManager.default.createDirectory(atPath: file(name), withIntermediateDirectories: true)
      // Separate from creating it, because then the process's own mask would count.
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file(name))
    }
  }

  /// Writes a file, replacing any existing one, and returns its path.
  @discardableResult
  public func write(_ bytes: [UInt8], to name: String) -> String {
    demand("write \(file(name))") { try Data(bytes).write(to: URL(fileURLWithPath: file(name))) }
    return file(name)
  }

  /// Writes a string, replacing any existing file, and returns its path.
  @discardableResult
  public func write(_ text: some StringProtocol, to name: String) -> String { write(Array(text.utf8), to: name) }

  /// Creates a link in the folder.
  public func link(_ name: String, to target: String) {
    demand("link \(file(name))") {
      try FileManager.default.createSymbolicLink(atPath: file(name), withDestinationPath: target)
    }
  }

  private func demand(_ what: String, _ body: () throws -> Void) {
    do { try body() } catch { preconditionFailure("a test cannot \(what): \(error)") }
  }
}
