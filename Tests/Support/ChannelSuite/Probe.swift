import AccessoryCore
import Glibc

/// One end of a channel, operated by the suite. The probe sends a known pattern and compares received bytes with that
/// pattern. In every check, the probe also enforces the rules that apply to all channels.
final class Probe: ChannelHandler {
  /// The period of the pattern, which is a prime number so that lost or duplicated blocks of any round size are
  /// noticed.
  static let period = 65_521
  private static let longestSpan = 256 * 1024
  static let pattern: [UInt8] = (0..<period + longestSpan).map {
    let place = $0 % period
    return UInt8(truncatingIfNeeded: place &* 31 &+ place >> 8)
  }

  let name: String
  let channel: any Channel
  private(set) var sent = 0
  private(set) var received = 0
  private(set) var receptions = 0
  private(set) var writableCalls = 0
  private(set) var end: ChannelEnd?
  private(set) var violation: String?

  private var left = 0
  private var chunk = 1

  var onReceived: ((Int) -> Void)?
  var onWritable: (() -> Void)?
  var onEnd: (() -> Void)?

  private let guardian: CallGuardian
  private var isClosed = false

  init(_ name: String, _ channel: any Channel, _ guardian: CallGuardian) {
    self.name = name
    self.channel = channel
    self.guardian = guardian
  }

  func forget() {
    onReceived = nil
    onWritable = nil
    onEnd = nil
  }

  // MARK: - Calling the channel

  func start() { guardian.during { channel.start(self) } }
  func pause() { guardian.during { channel.pauseReading() } }
  func resume() { guardian.during { channel.resumeReading() } }

  func close() {
    isClosed = true
    guardian.during { channel.close() }
  }

  @discardableResult
  func send(_ count: Int) -> Int {
    precondition(count <= Self.longestSpan, "the pattern is not that long")
    let place = sent % Self.period
    let taken = guardian.during {
      Self.pattern.withUnsafeBytes { channel.send(UnsafeRawBufferPointer(rebasing: $0[place..<place + count]).bytes) }
    }
    if taken < 0 || taken > count { note("send took \(taken) of \(count) bytes") }
    sent += taken
    return taken
  }

  private func send(_ head: Int, then body: Int) -> Int {
    precondition(head + body <= Self.longestSpan, "the pattern is not that long")
    let place = sent % Self.period
    let taken = guardian.during {
      Self.pattern.withUnsafeBytes {
        channel.send(
          UnsafeRawBufferPointer(rebasing: $0[place..<place + head]).bytes,
          then: UnsafeRawBufferPointer(rebasing: $0[place + head..<place + head + body]).bytes)
      }
    }
    if taken < 0 || taken > head + body { note("send took \(taken) of \(head) and \(body) bytes") }
    sent += taken
    return taken
  }

  /// The number of bytes at the start of each chunk that are sent separately, or nil to send each chunk in one piece.
  var headCount: Int?

  func stream(_ count: Int, chunk: Int) {
    left += count
    self.chunk = chunk
    streamOn()
  }

  var hasStreamed: Bool { left == 0 }

  private func streamOn() {
    while left > 0, end == nil, !isClosed {
      let next = min(chunk, left)
      let taken = headCount.map { send(min($0, next), then: max(0, next - $0)) } ?? send(next)
      left -= taken
      if taken < next { return }
    }
  }

  // MARK: - ChannelHandler

  func channel(_ channel: any Channel, received bytes: RawSpan) {
    enter("received", channel)
    receptions += 1
    if bytes.isEmpty { note("received nothing and was called for it") }
    var offset = 0
    while offset < bytes.byteCount {
      let count = min(bytes.byteCount - offset, Self.longestSpan)
      let place = received % Self.period
      let isRight = bytes.extracting(offset..<offset + count).withUnsafeBytes { got in
        Self.pattern.withUnsafeBytes { want in
          got.baseAddress.map { memcmp($0, want.baseAddress.map { $0 + place } ?? $0, count) == 0 } ?? true
        }
      }
      if !isRight { note("wrong bytes within \(count) from byte \(received) on") }
      received += count
      offset += count
    }
    onReceived?(bytes.byteCount)
  }

  func channelIsWritable(_ channel: any Channel) {
    enter("writable", channel)
    writableCalls += 1
    streamOn()
    onWritable?()
  }

  func channel(_ channel: any Channel, endedWith end: ChannelEnd) {
    enter("ended with \(end)", channel)
    self.end = end
    onEnd?()
  }

  private func enter(_ call: String, _ channel: any Channel) {
    if guardian.isInside { note("was told '\(call)' from inside a call to a channel") }
    if isClosed { note("was told '\(call)' after it had closed the channel") }
    if let end { note("was told '\(call)' after the end (\(end))") }
    if channel !== self.channel { note("was told '\(call)' about another channel") }
  }

  private func note(_ sentence: String) {
    if violation == nil { violation = "the \(name) end \(sentence)" }
  }
}

/// Tracks whether a call to a channel is in progress. During such a call, the channel must not call a handler.
final class CallGuardian {
  private var depth = 0

  var isInside: Bool { depth > 0 }

  func during<Result>(_ body: () -> Result) -> Result {
    depth += 1
    defer { depth -= 1 }
    return body()
  }
}
