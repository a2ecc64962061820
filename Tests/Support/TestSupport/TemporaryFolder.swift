import Foundation

/// A test's own folder. When the last reference to this object is gone, the folder is deleted with all its contents.
///
/// ```swift
/// let folder = TemporaryFolder()
/// let plist = folder.write("<plist/>", to: "Info.plist")
/// ```
///
/// Without a writable folder, the tests are meaningless, so an error stops the run with a message.
public final class TemporaryFolder {
  /// The folder's path, which is kept short so that the path of a socket in the folder is not too long.
  public let path: String
  /// Whether the folder is kept after the last reference is gone, so that its contents can be examined.
  public var isKept = false

  /// Creates the folder. Only this user can read the folder.
  public init() {
    var template = Array("/tmp/easim-test-XXXXXX".utf8CString)
    precondition(mkdtemp(&template) != nil, "no folder for a test: \(String(cString: strerror(errno)))")
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    if !isKept { try? FileManager.default.removeItem(atPath: path) }
  }

  // MARK: Reading its contents

  /// Returns the path of a file in the folder.
  public func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Returns true if something with this name exists, even if it is a broken link.
  public func has(_ name: String) -> Bool {
    (try? FileManager.default.attributesOfItem(atPath: file(name))) != nil
  }

  /// The sorted names of the contents.
  public var names: [String] { names("") }

  /// Returns the sorted names of a subfolder's contents, or an empty list if the subfolder does not exist.
  public func names(_ folder: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: file(folder))) ?? []).sorted()
  }

  /// Returns a file's bytes, or nil if the file does not exist.
  public func bytes(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: file(name)).map { Array($0) }
  }

  // MARK: Adding to it

  /// Creates an executable file in the folder. A process that another test has just started may still have the file
  /// open for writing. Until that process closes the file, the kernel refuses to execute it. During that time the
  /// kernel also refuses a read lease, so this function waits until it gets one.
  public func writeProgram(_ text: String, to name: String) {
    demand("write \(file(name))") { try Data(text.utf8).write(to: URL(fileURLWithPath: file(name))) }
    chmod(file(name), 0o755)
    let descriptor = open(file(name), O_RDONLY | O_CLOEXEC)
    let setLease: Int32 = 1_024  // F_SETLEASE, which Swift does not import.
    while descriptor >= 0, fcntl(descriptor, setLease, F_RDLCK) != 0, errno == EAGAIN { sched_yield() }
    close(descriptor)
  }

  /// Creates a subfolder, and any missing folders above it.
  public func makeFolder(_ name: String, mode: Int = 0o700) {
    demand("make \(file(name))") {
      try FileManager.default.createDirectory(atPath: file(name), withIntermediateDirectories: true)
      // The mode is set separately, because the process's umask would change the mode of a new folder.
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file(name))
    }
  }

  /// Writes a file, replacing any existing one. Returns its path.
  @discardableResult
  public func write(_ bytes: [UInt8], to name: String) -> String {
    demand("write \(file(name))") { try Data(bytes).write(to: URL(fileURLWithPath: file(name))) }
    return file(name)
  }

  /// Writes a string to a file, replacing any existing one. Returns its path.
  @discardableResult
  public func write(_ text: some StringProtocol, to name: String) -> String { write(Array(text.utf8), to: name) }

  /// Creates a symbolic link in the folder.
  public func link(_ name: String, to target: String) {
    demand("link \(file(name))") {
      try FileManager.default.createSymbolicLink(atPath: file(name), withDestinationPath: target)
    }
  }

  private func demand(_ what: String, _ body: () throws -> Void) {
    do { try body() } catch { preconditionFailure("a test cannot \(what): \(error)") }
  }
}
