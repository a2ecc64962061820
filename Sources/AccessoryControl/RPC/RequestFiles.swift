import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import LinuxIO

/// Reads the files that a request names.
///
/// Files are never read on the loop, because a disk might not respond. If a method needs a file that has not been read
/// yet, the method fails. After another thread has read the required file, the method is called again. Methods must
/// therefore read their files before they change anything.
final class RequestFiles: Sendable {
  private struct State {
    var files: [String: Result<[UInt8], TextFileError>] = [:]
    var missing: (path: String, limit: Int)?
  }

  private let limit: Duration
  private let state = Locked(State())

  init(within limit: Duration = TextFile.patience) { self.limit = limit }

  /// Whether the method needs a file that has not been read yet.
  var isMissing: Bool { state.withLock { $0.missing != nil } }

  /// Returns the bytes of a regular file.
  func read(_ path: String, limit: Int) throws(TextFileError) -> [UInt8] {
    let found = state.withLock { state in
      if state.files[path] == nil, state.missing == nil { state.missing = (path, limit) }
      return state.files[path]
    }
    guard let found else { throw TextFileError(path, "it has not been read yet") }
    return try found.get()
  }

  /// Reads the file that the method still needs, and then calls `done` on the loop. In virtual time, the file is read
  /// on the loop itself, because the loop cannot wait for a thread.
  func fetch(on loop: any EventLoop, _ done: @escaping () -> Void) {
    guard let (path, most) = state.withLock({ $0.missing }) else { return done() }
    let read: @Sendable () -> Result<[UInt8], TextFileError> = {
      Result { () throws(TextFileError) in try TextFile.read(path, limit: most, onlyRegular: true) }
    }
    guard loop is any PollingLoop else {
      put(read(), for: path)
      return done()
    }
    let late = loop.schedule(after: limit) { [self] in
      if put(.failure(TextFileError(path, "it took more than \(DurationText.format(limit))")), for: path) { done() }
    }
    // `late` and `done` are used only on the loop.
    nonisolated(unsafe) let end = (late, done)
    let finish: @Sendable (Result<[UInt8], TextFileError>) -> Void = { [self] result in
      loop.execute {
        end.0.cancel()
        if self.put(result, for: path) { end.1() }
      }
    }
    do { try Worker.start { finish(read()) } } catch { finish(.failure(TextFileError(path, "\(error)"))) }
  }

  /// Stores a result. Returns true if this result is the first one for the file.
  @discardableResult
  private func put(_ result: Result<[UInt8], TextFileError>, for path: String) -> Bool {
    state.withLock { state in
      guard state.files[path] == nil else { return false }
      state.files[path] = result
      state.missing = nil
      return true
    }
  }
}
