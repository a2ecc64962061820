import AccessoryCore
import Glibc

/// A ``ByteStream`` over descriptors: stdin and stdout, or a connected socket.
///
/// The loop never blocks on a descriptor. Descriptors shared with other processes are not made nonblocking, because the
/// mode belongs to the open file, not to the descriptor. Each kind of descriptor is read and written differently:
///
/// | kind | read | written |
/// |---|---|---|
/// | socket | when it is ready, by a call that does not wait | the same |
/// | pipe | opened again without waiting, through `/proc/self/fd` | the same |
/// | terminal | when it is ready | on a thread: a stopped terminal blocks |
/// | file, device | on a thread | on a thread |
package final class DescriptorStream: ByteStream {
  private let source: any ByteSource
  private let sink: any ByteSink
  private let loop: any PollingLoop
  private var handler: (any ByteStreamHandler)?
  /// Bytes that were read but not accepted by the handler.
  private var kept = ByteQueue()
  private var isWanted = false
  private var isOffering = false
  private var isAskedAgain = false
  /// How the input ended. The end of the input is reported after the kept bytes.
  private var end: InputEnd?

  private enum InputEnd {
    case waiting(String?)
    case reported
  }

  package static func standard(on loop: any PollingLoop) throws -> DescriptorStream {
    try DescriptorStream(input: STDIN_FILENO, output: STDOUT_FILENO, on: loop)
  }

  /// Creates a stream over two descriptors, which the caller still owns.
  package init(input: Int32, output: Int32, on loop: any PollingLoop) throws {
    self.loop = loop
    switch DescriptorKind(of: input) {
    case .socket: source = try PolledSource(input, kind: .socket, on: loop)
    case .terminal: source = try PolledSource(input, kind: .terminal, on: loop)
    case .pipe:
      let own = DescriptorKind.reopen(input, O_RDONLY)
      source = try PolledSource(own ?? input, owns: own != nil, kind: .pipe, on: loop)
    case .other: source = ThreadSource(input, on: loop)
    }
    switch DescriptorKind(of: output) {
    case .socket: sink = try PolledSink(output, isSocket: true, on: loop)
    case .pipe:
      if let own = DescriptorKind.reopen(output, O_WRONLY) {
        sink = try PolledSink(own, owns: true, isSocket: false, on: loop)
      } else {
        sink = ThreadSink(output, on: loop)
      }
    case .terminal, .other: sink = ThreadSink(output, on: loop)
    }
  }

  /// Creates a stream that takes over a connected, nonblocking socket. The stream first delivers `read`, which contains
  /// bytes already read from the socket.
  package init(takingSocket socket: Int32, after read: [UInt8] = [], on loop: any PollingLoop) throws {
    self.loop = loop
    kept.append(contentsOf: read)
    // The descriptor is duplicated, because epoll accepts each descriptor only once and the two directions end
    // separately.
    let other = fcntl(socket, F_DUPFD_CLOEXEC, 0)
    let code = errno
    do {
      guard other >= 0 else { throw SystemError("duplicate a socket", code: code) }
      source = try PolledSource(socket, owns: true, kind: .socket, on: loop)
    } catch {
      if other >= 0 { Glibc.close(other) }
      Glibc.close(socket)
      throw error
    }
    sink = try PolledSink(other, owns: true, isSocket: true, on: loop)
  }

  package func start(_ handler: any ByteStreamHandler) {
    loop.preconditionCurrent()
    self.handler = handler
    source.received = { [unowned self] in take($0) }
    source.ended = { [unowned self] in inputEnded($0) }
    sink.isWritable = { [unowned self] in self.handler?.streamIsWritable(self) }
    sink.broke = { [unowned self] code in
      self.handler?.stream(self, outputBrokeBecause: Self.hasLeft(code) ? nil : SystemError.reason(code))
    }
    sink.isFlushed = { [unowned self] in self.handler?.streamOutputEnded(self) }
  }

  private static func hasLeft(_ code: Int32) -> Bool { code == EPIPE || code == ECONNRESET }

  // MARK: - Input

  package var unread: Int { kept.count }

  /// Offers the kept bytes to the handler again, and then resumes reading.
  package func resumeReading() {
    isWanted = true
    offer()
  }

  package func pauseReading() {
    isWanted = false
    source.change(isWanted: false)
  }

  private func take(_ bytes: RawSpan) {
    guard let handler else { return }
    var taken = 0
    if isWanted, kept.isEmpty {
      isOffering = true
      taken = handler.stream(self, received: bytes)
      isOffering = false
    }
    if taken < bytes.byteCount {
      kept.append(bytes.extracting(taken..<bytes.byteCount))
      source.change(isWanted: false)
    }
    if isAskedAgain { offer() }
  }

  private func inputEnded(_ code: Int32) {
    guard end == nil else { return }
    end = .waiting(code == 0 || Self.hasLeft(code) ? nil : SystemError.reason(code))
    source.change(isWanted: false)
    reportEnd()
  }

  /// Offers the kept bytes to the handler, and offers them again if the handler resumes reading during the call.
  private func offer() {
    isAskedAgain = true
    guard !isOffering else { return }
    isOffering = true
    while isAskedAgain, isWanted, !kept.isEmpty, let handler {
      isAskedAgain = false
      // The bytes are moved out, because the handler may read `unread`.
      let bytes = kept
      let taken = bytes.withBytes { handler.stream(self, received: $0) }
      kept.removeFirst(min(taken, kept.count))
    }
    isAskedAgain = false
    isOffering = false
    guard isWanted, kept.isEmpty else { return }
    if end == nil {
      source.change(isWanted: true)
    } else {
      loop.schedule(after: .zero) { [weak self] in self?.reportEnd() }
    }
  }

  private func reportEnd() {
    guard case .waiting(let reason) = end, kept.isEmpty, let handler else { return }
    end = .reported
    handler.stream(self, inputEndedBecause: reason)
  }

  // MARK: - Output

  package func send(_ bytes: RawSpan) -> Int {
    bytes.byteCount == 0 ? 0 : sink.write(bytes)
  }

  package func endOutput() { sink.finish() }

  package func close() {
    handler = nil
    kept = ByteQueue()
    sink.close()
    source.close()
  }
}

/// Determines how to read and write a descriptor without waiting.
enum DescriptorKind {
  case socket
  case pipe
  case terminal
  case other

  init(of descriptor: Int32) {
    var status = stat()
    switch fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0 {
    case S_IFSOCK: self = .socket
    case S_IFIFO: self = .pipe
    case S_IFCHR where isatty(descriptor) == 1: self = .terminal
    default: self = .other
    }
  }

  /// Opens the pipe a second time, in nonblocking mode. Returns nil if the system refuses.
  static func reopen(_ descriptor: Int32, _ mode: Int32) -> Int32? {
    let own = open("/proc/self/fd/\(descriptor)", mode | O_NONBLOCK | O_CLOEXEC)
    return own >= 0 ? own : nil
  }
}

protocol ByteSource: AnyObject {
  var received: (RawSpan) -> Void { get set }
  /// Called once, with 0 at EOF or with an error number.
  var ended: (Int32) -> Void { get set }
  func change(isWanted: Bool)
  func close()
}

protocol ByteSink: AnyObject {
  var isWritable: () -> Void { get set }
  /// Called once, in a later turn, with an error number.
  var broke: (Int32) -> Void { get set }
  var isFlushed: () -> Void { get set }
  func write(_ bytes: RawSpan) -> Int
  func finish()
  func close()
}
