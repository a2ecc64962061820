import Foundation

/// A folder of a test's own, gone with everything in it when the last reference is.
///
/// ```swift
/// let folder = TemporaryFolder()
/// let plist = folder.write("<plist/>", to: "Info.plist")
/// ```
///
/// Without a place to write no test can tell anything, so what the system refuses here ends the run with a sentence.
public final class TemporaryFolder {
  /// Where it is. Short, so that the path of a socket in it is none too long.
  public let path: String
  /// Whether it is kept when the last reference is gone, to be examined.
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

  // MARK: What is in it

  /// The path of something in it.
  public func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Whether there is something of that name, be it a link that leads nowhere.
  public func has(_ name: String) -> Bool {
    (try? FileManager.default.attributesOfItem(atPath: file(name))) != nil
  }

  /// What is in it, sorted.
  public var names: [String] { names("") }

  /// What is in a folder in it, sorted; nothing when there is none.
  public func names(_ folder: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: file(folder))) ?? []).sorted()
  }

  /// The bytes of a file; nil when there is none.
  public func bytes(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: file(name)).map { Array($0) }
  }

  // MARK: Putting something into it

  /// Makes a program in it. A process that another test started meanwhile may still hold the file open for writing, and
  /// then the system refuses to run it; a lease for reading is refused just as long.
  public func writeProgram(_ text: String, to name: String) {
    demand("write \(file(name))") { try Data(text.utf8).write(to: URL(fileURLWithPath: file(name))) }
    chmod(file(name), 0o755)
    let descriptor = open(file(name), O_RDONLY | O_CLOEXEC)
    let setLease: Int32 = 1_024  // F_SETLEASE, which Swift does not import.
    while descriptor >= 0, fcntl(descriptor, setLease, F_RDLCK) != 0, errno == EAGAIN { sched_yield() }
    close(descriptor)
  }

  /// Makes a folder in it, and those on the way there.
  public func makeFolder(_ name: String, mode: Int = 0o700) {
    demand("make \(file(name))") {
      try FileManager.default.createDirectory(atPath: file(name), withIntermediateDirectories: true)
      // Apart from making it, because then the process's own mask would count.
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file(name))
    }
  }

  /// Writes a file, in place of what was there, and returns its path.
  @discardableResult
  public func write(_ bytes: [UInt8], to name: String) -> String {
    demand("write \(file(name))") { try Data(bytes).write(to: URL(fileURLWithPath: file(name))) }
    return file(name)
  }

  /// Writes a text, in place of what was there, and returns its path.
  @discardableResult
  public func write(_ text: some StringProtocol, to name: String) -> String { write(Array(text.utf8), to: name) }

  /// Makes a link in it.
  public func link(_ name: String, to target: String) {
    demand("link \(file(name))") {
      try FileManager.default.createSymbolicLink(atPath: file(name), withDestinationPath: target)
    }
  }

  private func demand(_ what: String, _ body: () throws -> Void) {
    do { try body() } catch { preconditionFailure("a test cannot \(what): \(error)") }
  }
}
