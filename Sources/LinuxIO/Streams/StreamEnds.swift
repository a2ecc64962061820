import AccessoryCore
import Glibc

/// Reads a descriptor when the loop reports that it is readable.
final class PolledSource: ByteSource, DescriptorHandler {
  /// How long a closed socket may take to send its last bytes.
  private static let closingTime = Duration.seconds(2)

  var received: (RawSpan) -> Void = { _ in }
  var ended: (Int32) -> Void = { _ in }
  private var descriptor: Int32
  private let owns: Bool
  private let kind: DescriptorKind
  private let loop: any PollingLoop
  private var watch: (any DescriptorWatch)?
  private var isWanted = false

  init(_ descriptor: Int32, owns: Bool = false, kind: DescriptorKind, on loop: any PollingLoop) throws {
    (self.descriptor, self.owns, self.kind, self.loop) = (descriptor, owns, kind, loop)
    watch = try loop.watch(descriptor, for: [], self)
  }

  deinit { close() }

  func change(isWanted: Bool) {
    guard isWanted != self.isWanted else { return }
    self.isWanted = isWanted
    watch?.change(to: isWanted ? .readable : [])
  }

  func descriptorReady(_ readiness: Readiness) {
    guard isWanted, !readiness.isDisjoint(with: [.readable, .hangup]) else { return }
    let (count, code) = loop.withReadBuffer { buffer -> (Int, Int32) in
      // At most half of the buffer is read, to limit how many bytes must be kept if the reader accepts none.
      let room = buffer.count / 2
      let count =
        kind == .socket
        ? recv(descriptor, buffer.baseAddress, room, Int32(MSG_DONTWAIT))
        : read(descriptor, buffer.baseAddress, room)
      let code = errno
      if count > 0 { received(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes) }
      return (count, code)
    }
    if count > 0 || (count < 0 && (code == EAGAIN || code == EINTR)) { return }
    // Reading a terminal whose other side is closed fails with an error.
    ended(count == 0 || code == EIO && kind == .terminal ? 0 : code)
  }

  func close() {
    guard let watch else { return }
    watch.cancel()
    self.watch = nil
    guard owns else { return }
    if kind == .socket {
      _ = ClosingSocket(descriptor, on: loop, atMost: Self.closingTime)
    } else {
      Glibc.close(descriptor)
    }
    descriptor = -1
  }
}

/// Writes to a socket, or to a pipe that was reopened in nonblocking mode.
final class PolledSink: ByteSink, DescriptorHandler {
  var isWritable: () -> Void = {}
  var broke: (Int32) -> Void = { _ in }
  var isFlushed: () -> Void = {}
  private let descriptor: Int32
  private let owns: Bool
  private let isSocket: Bool
  private let loop: any PollingLoop
  private var watch: (any DescriptorWatch)?
  private var isWaiting = false
  private var isBroken = false

  init(_ descriptor: Int32, owns: Bool = false, isSocket: Bool, on loop: any PollingLoop) throws {
    (self.descriptor, self.owns, self.isSocket, self.loop) = (descriptor, owns, isSocket, loop)
    do { watch = try loop.watch(descriptor, for: [], self) } catch {
      if owns { Glibc.close(descriptor) }
      throw error
    }
  }

  deinit { close() }

  func write(_ bytes: RawSpan) -> Int {
    guard !isBroken, watch != nil else { return 0 }
    let count = bytes.withUnsafeBytes { bytes in
      isSocket
        ? send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
        : clinux_write_to_pipe(descriptor, bytes.baseAddress, bytes.count)
    }
    if count == bytes.byteCount { return count }
    if count >= 0 || errno == EAGAIN || errno == EINTR {
      isWaiting = true
      watch?.change(to: .writable)
      return max(0, count)
    }
    breakLater(errno)
    return 0
  }

  private func breakLater(_ code: Int32) {
    guard !isBroken else { return }
    isBroken = true
    watch?.change(to: [])
    loop.schedule(after: .zero) { [weak self] in self?.broke(code) }
  }

  func descriptorReady(_ readiness: Readiness) {
    // The reader has disconnected, which is detected even if there is nothing to write.
    if readiness.contains(.hangup) { return breakLater(EPIPE) }
    guard isWaiting, readiness.contains(.writable) else { return }
    isWaiting = false
    watch?.change(to: [])
    isWritable()
  }

  func finish() {
    guard watch != nil else { return }
    // A socket shared with other processes would otherwise stay open until the last of them closes it.
    if isSocket, owns { shutdown(descriptor, Int32(SHUT_WR)) } else { close() }
    loop.schedule(after: .zero) { [weak self] in self?.isFlushed() }
  }

  func close() {
    guard let watch else { return }
    watch.cancel()
    self.watch = nil
    if owns { Glibc.close(descriptor) }
  }
}

/// Reads a file or device on a thread, at most one block ahead.
final class ThreadSource: ByteSource {
  private static let blockSize = 65_536

  private struct State {
    var isWanted = false
    /// Whether a block has been read and is waiting for the loop to take it.
    var isFull = false
    var isClosed = false
  }

  var received: (RawSpan) -> Void = { _ in }
  var ended: (Int32) -> Void = { _ in }
  private let state = Monitor(State())
  private let descriptor: Int32
  private let loop: any PollingLoop
  private var hasThread = false

  init(_ descriptor: Int32, on loop: any PollingLoop) {
    (self.descriptor, self.loop) = (descriptor, loop)
  }

  deinit { close() }

  func change(isWanted: Bool) {
    state.change { $0.isWanted = isWanted }
    guard isWanted, !hasThread else { return }
    hasThread = true
    let (state, descriptor, loop) = (state, descriptor, loop)
    let target = LoopBound(Weak(self), on: loop)
    do {
      try Worker.start {
        var block = [UInt8](repeating: 0, count: Self.blockSize)
        while state.wait({ $0.isClosed ? false : $0.isWanted && !$0.isFull ? true : nil }) == true {
          let count = read(descriptor, &block, block.count)
          let code = errno
          if count < 0, code == EINTR || code == EAGAIN { continue }
          state.withLock { $0.isFull = true }
          let bytes = Array(block[..<max(0, count)])
          loop.execute { target.value.object?.deliver(bytes, count < 0 ? code : 0) }
          if count <= 0 { return }
        }
      }
    } catch {
      let code = error.code
      loop.schedule(after: .zero) { [weak self] in self?.ended(code) }
    }
  }

  private func deliver(_ bytes: [UInt8], _ code: Int32) {
    if bytes.isEmpty { return ended(code) }
    received(bytes.span.bytes)
    state.change { $0.isFull = false }
  }

  func close() { state.change { $0.isClosed = true } }
}

/// Writes to a terminal, file or device on a thread, because writes may block indefinitely.
final class ThreadSink: ByteSink {
  private static let limit = 256 * 1024

  private struct State {
    var waiting: [UInt8] = []
    var isFinished = false
    var isClosed = false
    var failure: Int32?
    /// Whether the last write was partial and its caller is waiting for room.
    var isAwaited = false
  }

  var isWritable: () -> Void = {}
  var broke: (Int32) -> Void = { _ in }
  var isFlushed: () -> Void = {}
  private let state = Monitor(State())
  private let descriptor: Int32
  private let loop: any PollingLoop
  private var hasThread = false

  init(_ descriptor: Int32, on loop: any PollingLoop) {
    (self.descriptor, self.loop) = (descriptor, loop)
  }

  deinit { close() }

  func write(_ bytes: RawSpan) -> Int {
    guard startThread() else { return 0 }
    return state.change { state in
      guard state.failure == nil, !state.isClosed else { return 0 }
      let room = max(0, min(bytes.byteCount, Self.limit - state.waiting.count))
      bytes.extracting(0..<room).withUnsafeBytes { state.waiting.append(contentsOf: $0) }
      if room < bytes.byteCount { state.isAwaited = true }
      return room
    }
  }

  func finish() {
    guard startThread() else { return }
    state.change { $0.isFinished = true }
  }

  func close() { state.change { $0.isClosed = true } }

  private enum Step {
    case write([UInt8])
    case flushed
    case over
  }

  private func startThread() -> Bool {
    if hasThread { return true }
    let (state, descriptor, loop) = (state, descriptor, loop)
    let target = LoopBound(Weak(self), on: loop)
    do {
      try Worker.start {
        while true {
          let step = state.wait { state -> Step? in
            if !state.waiting.isEmpty {
              defer { state.waiting = [] }
              return .write(state.waiting)
            }
            if state.isFinished { return .flushed }
            return state.isClosed ? .over : nil
          }
          switch step {
          case .write(let bytes):
            let failure = FileWriting.write(bytes, to: descriptor)
            let isAwaited = state.withLock { state in
              defer { state.isAwaited = false }
              state.failure = failure
              return state.isAwaited
            }
            if let failure {
              loop.execute { target.value.object?.broke(failure) }
              return
            }
            if isAwaited { loop.execute { target.value.object?.isWritable() } }
          case .flushed:
            loop.execute { target.value.object?.isFlushed() }
            return
          case .over, nil: return
          }
        }
      }
      hasThread = true
      return true
    } catch {
      let code = error.code
      loop.schedule(after: .zero) { [weak self] in self?.broke(code) }
      return false
    }
  }
}
