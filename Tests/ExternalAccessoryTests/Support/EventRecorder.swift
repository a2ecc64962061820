import CoreFoundation
import ExternalAccessory

final class EventRecorder: @unchecked Sendable {
  struct Heard {
    let name: String
    let accessory: EAAccessory
    let isSelected: Bool
    let isOnMainQueue: Bool
    let listed: [Int]
    let object: AnyObject?
  }

  private let lock = NSLock()
  private var list: [Heard] = []
  private var observers: [any NSObjectProtocol] = []
  private var onEach: (Heard) -> Void = { _ in }

  init(object: AnyObject? = nil, queue: OperationQueue? = nil, onEach: @escaping (Heard) -> Void = { _ in }) {
    self.onEach = onEach
    for (name, word) in [
      (Notification.Name.EAAccessoryDidConnect, "connect"), (.EAAccessoryDidDisconnect, "disconnect"),
    ] {
      observers.append(
        NotificationCenter.default.addObserver(forName: name, object: object, queue: queue) { [weak self] note in
          guard let self, let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory else { return }
          let heard = Heard(
            name: word, accessory: accessory, isSelected: note.userInfo?[EAAccessorySelectedKey] is EAAccessory,
            isOnMainQueue: OperationQueue.current === OperationQueue.main,
            listed: EAAccessoryManager.shared().connectedAccessories.map(\.connectionID),
            object: note.object as AnyObject?)
          self.lock.withLock { self.list.append(heard) }
          self.onEach(heard)
        })
    }
  }

  deinit { stop() }

  func stop() {
    for observer in observers { NotificationCenter.default.removeObserver(observer) }
    observers = []
  }

  var heard: [Heard] { lock.withLock { list } }

  var words: [String] { heard.map { "\($0.name) \($0.accessory.protocolStrings.count)" } }
}

final class StreamRecorder: NSObject, StreamDelegate, @unchecked Sendable {
  private let lock = NSLock()
  private var list: [(stream: Stream, event: Stream.Event, thread: Thread)] = []
  private var bytes: [UInt8] = []
  private let input: Stream?
  private let onEvent: (Stream, Stream.Event) -> Void
  /// The maximum number of bytes to read for each event. If the maximum is 0, nothing is read.
  let readSize: Int

  init(
    _ session: EASession, readSize: Int = 4096, onEvent: @escaping (Stream, Stream.Event) -> Void = { _, _ in }
  ) {
    input = session.inputStream
    self.readSize = readSize
    self.onEvent = onEvent
  }

  func stream(_ stream: Stream, handle event: Stream.Event) {
    lock.withLock { list.append((stream, event, Thread.current)) }
    if event == .hasBytesAvailable, readSize > 0, let input = stream as? InputStream {
      var buffer = [UInt8](repeating: 0, count: readSize)
      let count = input.read(&buffer, maxLength: readSize)
      if count > 0 { lock.withLock { bytes += buffer[..<count] } }
    }
    onEvent(stream, event)
  }

  var received: [UInt8] { lock.withLock { bytes } }
  var threads: [Thread] { lock.withLock { list.map(\.thread) } }
  var all: [String] { lock.withLock { list.map { word($0.stream, $0.event) } } }
  func events(of stream: Stream?) -> [Stream.Event] {
    lock.withLock { list.filter { $0.stream === stream }.map(\.event) }
  }

  private func word(_ stream: Stream, _ event: Stream.Event) -> String {
    let side = stream === input ? "in" : "out"
    switch event {
    case .openCompleted: return "\(side) open"
    case .hasBytesAvailable: return "\(side) bytes"
    case .hasSpaceAvailable: return "\(side) space"
    case .endEncountered: return "\(side) end"
    default: return "\(side) error"
    }
  }
}

/// A thread that runs its run loop in slices, as a client might, and counts the slices.
final class LoopThread: @unchecked Sendable {
  private let lock = NSLock()
  private var isAsked = false
  private var slices = 0
  private let ended = DispatchSemaphore(value: 0)
  private(set) var thread: Thread?
  private(set) var loop = RunLoop.main
  private var core: CFRunLoop?

  /// Runs `body` on the thread before its run loop starts. `slice` is the maximum duration of one slice. The run loop
  /// waits in its mode even if `body` adds nothing to that mode.
  init(slice: TimeInterval = 0.05, mode: RunLoop.Mode = .default, _ body: @escaping @Sendable () -> Void = {}) {
    let begun = DispatchSemaphore(value: 0)
    let made = Thread { [self] in
      (loop, core) = (.current, CFRunLoopGetCurrent())
      loop.add(Timer(timeInterval: 3_600, repeats: true) { _ in }, forMode: mode)
      body()
      begun.signal()
      while !lock.withLock({ isAsked }) {
        _ = RunLoop.current.run(mode: mode, before: Date(timeIntervalSinceNow: slice))
        lock.withLock { slices += 1 }
      }
      ended.signal()
    }
    thread = made
    made.start()
    begun.wait()
  }

  var sliceCount: Int { lock.withLock { slices } }

  func stop() {
    lock.withLock { isAsked = true }
    CFRunLoopStop(core)
    ended.wait()
  }
}

extension EASession {
  func listen(readSize: Int = 4096) -> StreamRecorder {
    let recorder = StreamRecorder(self, readSize: readSize)
    start(recorder)
    return recorder
  }

  func start(_ delegate: any StreamDelegate, on loop: RunLoop = .main, forMode mode: RunLoop.Mode = .default) {
    for stream in [inputStream, outputStream] as [Stream?] {
      stream?.delegate = delegate
      stream?.schedule(in: loop, forMode: mode)
      stream?.open()
    }
  }

  func stop() {
    inputStream?.close()
    outputStream?.close()
  }

  @discardableResult
  func write(_ bytes: [UInt8]) -> Int { outputStream?.write(bytes, maxLength: bytes.count) ?? -1 }
}

/// The resulting bytes are 0, 1, 2, …, 255, 0, …
func counting(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0) } }

let manager = EAAccessoryManager.shared()
let glassesProtocol = "com.lawaken.iap2"

final class DeadLoop: @unchecked Sendable {
  private let end = DispatchSemaphore(value: 0)

  init(_ body: @escaping @Sendable () -> Void) {
    let begun = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [end] in
      body()
      begun.signal()
      end.wait()
    }
    begun.wait()
  }

  deinit { end.signal() }
}
