import AccessoryFormats
import ExternalAccessory
import TestSupport

/// One of the app's threads in a soak. Until it is stopped, the thread repeatedly opens a session with one of the
/// accessories, writes, reads what comes back, and closes the session in one of several ways.
final class SoakThread: @unchecked Sendable {
  private let number: Int
  private let ledger: SoakLedger
  private let watch: SoakWatch
  private let lock = NSLock()
  private var isAsked = false
  private var random: SeededRandom
  private let ended = DispatchSemaphore(value: 0)
  private let never = DispatchSemaphore(value: 0)

  init(_ number: Int, _ ledger: SoakLedger, _ watch: SoakWatch) {
    self.number = number
    self.ledger = ledger
    self.watch = watch
    random = SeededRandom(seed: UInt64(number + 1))
    Thread { [self] in
      while !isDone { playOne() }
      ended.signal()
    }.start()
  }

  func stop() {
    lock.withLock { isAsked = true }
    ended.wait()
  }

  private func waitABit() { _ = never.wait(timeout: .now() + 0.001) }

  private var isDone: Bool { lock.withLock { isAsked } }

  private func playOne() {
    // Usually the thread uses its own accessory. Sometimes the thread picks a random accessory, and takes the session
    // from another thread.
    let keys = manager.connectedAccessories.flatMap { accessory in accessory.protocolStrings.map { (accessory, $0) } }
    guard !keys.isEmpty else { return waitABit() }
    let own = keys.first { $0.0.serialNumber == "SOAK-\(number % 4)" && $0.1 == SoakRound.protocols[number / 4] }
    let any = keys[random.below(keys.count)]
    guard let (accessory, name) = random.below(8) > 0 ? own : any else { return waitABit() }
    let token = ledger.begin(accessory.connectionID, name)
    guard let session = EASession(accessory: accessory, forProtocol: name) else {
      ledger.forget(token)
      return waitABit()
    }
    let client = SoakClient(
      session, token, ledger, quota: 1 + random.below(12_000), isPatient: random.below(3) > 0,
      readSize: 1 << random.below(14))
    watch.watch(accessory, session, client)
    switch random.below(3) {
    case 0:
      session.inputStream?.open()
      session.outputStream?.open()
      client.go {
        client.read()
        client.write()
        client.waitABit()
      }
    case 1:
      session.start(client, on: .current)
      client.go { _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.005)) }
    default:
      session.start(client, on: .main)
      client.go { client.waitABit() }
    }
    client.finish()
    // The thread either closes both streams, in either order, or releases everything. Both ways of ending the session
    // have the same effect.
    switch random.below(3) {
    case 0: session.stop()
    case 1:
      session.outputStream?.close()
      session.inputStream?.close()
    default: break
    }
  }
}

final class SoakClient: NSObject, StreamDelegate, @unchecked Sendable {
  private let token: Int
  private let ledger: SoakLedger
  private let quota: Int
  /// Whether the client waits until everything has come back.
  private let isPatient: Bool
  private var buffer: [UInt8]
  private let lock = NSRecursiveLock()
  private let moved = DispatchSemaphore(value: 0)
  private var session: EASession?
  private var written = 0
  private var echoed = 0
  private var isBroken = false

  init(_ session: EASession, _ token: Int, _ ledger: SoakLedger, quota: Int, isPatient: Bool, readSize: Int) {
    self.session = session
    self.token = token
    self.ledger = ledger
    self.quota = quota
    self.isPatient = isPatient
    buffer = [UInt8](repeating: 0, count: readSize)
  }

  private var isWhole: Bool { lock.withLock { written >= quota && (!isPatient || echoed == written) } }

  /// Alternates reads and writes until the session breaks, or until everything has been written and, if the client is
  /// patient, echoed back.
  func go(turn: () -> Void) {
    let limit = Date(timeIntervalSinceNow: 30)
    while !isWhole, !lock.withLock({ isBroken }) {
      turn()
      if Date() > limit { return ledger.find("session \(token) stands still: \(written) of \(quota), \(echoed) back") }
    }
  }

  func waitABit() { _ = moved.wait(timeout: .now() + 0.001) }

  func finish() {
    let isWhole = isWhole
    lock.withLock { session = nil }
    ledger.closed(token, isWhole: isWhole)
  }

  func stream(_ stream: Stream, handle event: Stream.Event) {
    switch event {
    case .hasBytesAvailable: read()
    case .hasSpaceAvailable: write()
    case .endEncountered, .errorOccurred: lock.withLock { isBroken = true }
    default: break
    }
    moved.signal()
  }

  func read() {
    lock.withLock {
      guard let input = session?.inputStream else { return }
      while input.hasBytesAvailable {
        let count = input.read(&buffer, maxLength: buffer.count)
        guard count > 0 else { break }
        ledger.echoed(buffer[..<count], token)
        echoed += count
      }
      if input.streamStatus != .open { isBroken = true }
    }
  }

  func write() {
    lock.withLock {
      guard let output = session?.outputStream, written < quota else { return }
      guard output.hasSpaceAvailable else {
        // A client without a delegate recognizes the end of a stream by the stream's status.
        if output.streamStatus != .open { isBroken = true }
        return
      }
      let bytes = Array(SoakBytes.of(token, written, min(quota - written, 5000)))
      let count = output.write(bytes, maxLength: bytes.count)
      guard count > 0 else {
        isBroken = true
        return
      }
      written += count
      ledger.wrote(count, token)
    }
  }
}

/// Keeps track of objects that must have been released by the end of the soak.
final class SoakWatch: @unchecked Sendable {
  private struct Weak { weak var object: AnyObject? }

  private let lock = NSLock()
  private var watched: [Weak] = []

  func watch(_ accessory: EAAccessory, _ session: EASession, _ client: SoakClient) {
    let objects: [AnyObject?] = [accessory, session, session.inputStream, session.outputStream, client]
    lock.withLock { watched += objects.compactMap(\.self).map { Weak(object: $0) } }
  }

  var count: Int { lock.withLock { watched.count } }
  var left: [String] { lock.withLock { watched.compactMap { $0.object.map { "\(type(of: $0))" } } } }
}
