import AccessorySessions
import AccessorySimulator
import ExternalAccessory
import IAP2

/// The bytes of a session. The first four bytes are the session's number. Every other byte depends on that number and
/// on the byte's position.
enum SoakBytes {
  static let headCount = 4
  private static let longest = 65_536
  private static let table = counting(256 + longest)

  /// Returns up to `longest` of a session's bytes, starting at the given position.
  static func of(_ token: UInt32, _ place: Int, _ count: Int) -> ArraySlice<UInt8> {
    let start = (Int(token) &* 89 &+ place) & 255
    let count = min(count, longest)
    if place >= headCount { return table[start..<(start + count)] }
    let head = (place..<headCount).map { UInt8(truncatingIfNeeded: token >> UInt32(8 * $0)) }
    return (head + of(token, headCount, max(0, count - head.count)))[..<count]
  }

  static func areRight(_ bytes: ArraySlice<UInt8>, _ token: UInt32, _ place: Int) -> Bool {
    var (rest, place) = (bytes, place)
    while !rest.isEmpty {
      let expected = of(token, place, rest.count)
      let isRight = rest.withUnsafeBytes { found in
        expected.withUnsafeBytes { expected in
          // In a debug build, a Swift loop over the bytes would take most of the time.
          guard let one = found.baseAddress, let other = expected.baseAddress else { return true }
          return memcmp(one, other, expected.count) == 0
        }
      }
      if !isRight { return false }
      rest = rest.dropFirst(expected.count)
      place += expected.count
    }
    return true
  }

  static func token(_ head: ArraySlice<UInt8>) -> UInt32 { head.reversed().reduce(0) { $0 << 8 | UInt32($1) } }
}

/// The accessory's behavior. The accessory checks every byte, records it in the ledger and sends it back. While too
/// many bytes are waiting to be sent, the accessory stops reading.
struct SoakBehavior: AccessoryBehavior {
  let ledger: SoakLedger

  func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler { End(ledger) }

  /// The accessory's end of one session. Use this object only on the event loop.
  private final class End: SessionHandler {
    private let ledger: SoakLedger
    private var token: UInt32?
    private var early: [UInt8] = []
    private var count = 0
    private var waiting: [UInt8] = []
    private var isOver = false

    init(_ ledger: SoakLedger) { self.ledger = ledger }

    func sessionIsReadable(_ session: Session) { pull(session) }

    func sessionIsWritable(_ session: Session) {
      push(session)
      pull(session)
    }

    func session(_ session: Session, endedWith end: SessionEnd) {
      isOver = true
      pull(session)
      if let token { ledger.over(token) }
    }

    private func pull(_ session: Session) {
      while waiting.count < 32_768 || isOver {
        let read = session.read { span in
          span.withUnsafeBytes { take(Array($0)[...]) }
          return span.byteCount
        }
        if read == 0 { return }
        push(session)
      }
    }

    private func take(_ bytes: ArraySlice<UInt8>) {
      waiting += bytes
      if let token { return check(bytes, token) }
      early += bytes
      guard early.count >= SoakBytes.headCount else { return }
      let found = SoakBytes.token(early.prefix(SoakBytes.headCount))
      token = found
      check(early[...], found)
      early = []
    }

    private func check(_ bytes: ArraySlice<UInt8>, _ token: UInt32) {
      if !SoakBytes.areRight(bytes, token, count) { ledger.find("session \(token): other bytes arrived at \(count)") }
      count += bytes.count
      ledger.read(bytes.count, token)
    }

    private func push(_ session: Session) {
      while !waiting.isEmpty, !isOver {
        let taken = session.write(waiting.span.bytes)
        if taken == 0 { return }
        waiting.removeFirst(taken)
      }
    }
  }
}
