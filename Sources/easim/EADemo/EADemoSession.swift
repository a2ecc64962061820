import AccessoryCore
import AccessoryHost

struct EADemoSession: Equatable {
  let number: Int
  let connectionID: Int
  let protocolName: String
  private(set) var asked = 0
  private(set) var sent = 0
  private(set) var received = ReceivedBytes()
  /// The number of received bytes that `read` has printed or `expect` has consumed.
  var readCount = 0
  private var checks: [EchoCheck] = []

  init(number: Int, connectionID: Int, protocolName: String) {
    (self.number, self.connectionID, self.protocolName) = (number, connectionID, protocolName)
  }

  /// Expects the 10,000-byte pattern to be echoed `times` times, after the echo of everything sent earlier.
  mutating func expectPattern(times: Int) {
    checks.append(EchoCheck(start: max(received.count, asked), unit: CountingPattern.usual, times: times))
  }

  mutating func ask(_ count: Int) { asked += count }
  mutating func note(sent count: Int) { sent += count }

  /// Processes received bytes. Returns a verdict for each pattern that is now complete or has turned out to be wrong.
  mutating func take(_ bytes: [UInt8]) -> [EADemoApp.Line] {
    let start = received.count
    received.append(bytes)
    let verdicts = checks.indices.compactMap { checks[$0].take(bytes, at: start) }
    checks.removeAll(where: \.isOver)
    return verdicts
  }
}

extension CountingPattern {
  /// The number of bytes that EADemo sends for "Send 10K".
  static let usual = 10_000
}

struct EchoCheck: Equatable {
  let start: Int
  let unit: Int
  let times: Int
  private var done = 0
  private(set) var isOver = false

  init(start: Int, unit: Int, times: Int) { (self.start, self.unit, self.times) = (start, unit, times) }

  mutating func take(_ bytes: [UInt8], at offset: Int) -> EADemoApp.Line? {
    guard !isOver, offset + bytes.count > start + done else { return nil }
    for byte in bytes.dropFirst(max(0, start + done - offset)) where done < unit * times {
      let expected = UInt8(truncatingIfNeeded: done % unit)
      guard byte == expected else {
        isOver = true
        let came = "was sent as \(Hex.spaced([expected])) but came back as \(Hex.spaced([byte]))"
        return EADemoApp.Line(text: "✗ byte \(done.groupedDigits) \(came)", isError: true)
      }
      done += 1
    }
    guard done == unit * times else { return nil }
    isOver = true
    return EADemoApp.Line(text: "✓ \(done.groupedDigits) bytes came back as sent")
  }
}

struct ReceivedBytes: Equatable {
  static let limit = 8 << 20

  private(set) var first = 0
  private(set) var bytes: [UInt8] = []

  var count: Int { first + bytes.count }

  mutating func append(_ more: [UInt8]) {
    bytes += more
    if bytes.count > 2 * Self.limit {
      first += bytes.count - Self.limit
      bytes.removeFirst(bytes.count - Self.limit)
    }
  }

  func from(_ number: Int) -> ArraySlice<UInt8> { bytes.dropFirst(max(0, number - first)) }
}
