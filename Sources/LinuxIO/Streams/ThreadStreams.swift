import AccessoryCore
import Glibc

/// Reads a file or device on a thread, one block ahead at most.
final class ThreadSource: ByteSource {
  private static let blockSize = 65_536

  private struct State {
    var isWanted = false
    /// A block is read and not taken by the loop.
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
    let target = LoopBound(WeakSource(self), on: loop)
    do {
      try Worker.start {
        var block = [UInt8](repeating: 0, count: Self.blockSize)
        while state.wait({ $0.isClosed ? false : $0.isWanted && !$0.isFull ? true : nil }) == true {
          let count = read(descriptor, &block, block.count)
          let code = errno
          if count < 0, code == EINTR || code == EAGAIN { continue }
          state.withLock { $0.isFull = true }
          let bytes = Array(block[..<max(0, count)])
          loop.execute { target.value.source?.deliver(bytes, count < 0 ? code : 0) }
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

  private struct WeakSource {
    weak var source: ThreadSource?

    init(_ source: ThreadSource) { self.source = source }
  }
}

/// Writes to a terminal, file or device on a thread, however long a write blocks.
final class ThreadSink: ByteSink {
  /// The most bytes that wait.
  private static let limit = 256 * 1024

  private struct State {
    var waiting: [UInt8] = []
    var isWriting = false
    var isFinished = false
    var isClosed = false
    var failure: Int32?
    /// A write was partial.
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
    let target = LoopBound(WeakSink(self), on: loop)
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
              loop.execute { target.value.sink?.broke(failure) }
              return
            }
            if isAwaited { loop.execute { target.value.sink?.isWritable() } }
          case .flushed:
            loop.execute { target.value.sink?.isFlushed() }
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

  private struct WeakSink {
    weak var sink: ThreadSink?

    init(_ sink: ThreadSink) { self.sink = sink }
  }
}
