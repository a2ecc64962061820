import AccessoryCore
import IAP2
import LinuxIO

/// The device's end of one cable, which records all traffic.
///
/// Each packet that arrives is passed to ``CheckDevice``, which decides what to send.
final class CheckLine: ChannelHandler {
  /// The number of pieces on one attachment above which an accessory counts as flooding the device.
  private static let mostPieces = 20_000
  private static let mostBytes = 64 << 20

  let loop: any EventLoop
  let start: Instant
  private let channel: any Channel
  private let release: () -> Void
  private var scanner = PacketScanner()
  private(set) var record: [WirePacket] = []
  private var recordedBytes = 0
  private var outbox: [[UInt8]] = []
  /// How the accessory ended the connection, or nil if it did not.
  private(set) var end: ChannelEnd?
  private(set) var ended: Instant?
  private(set) var isUnplugged = false
  var onEvent: (WirePacket) -> Void = { _ in }

  init(_ cable: Cable, on loop: any EventLoop, release: @escaping () -> Void) {
    (self.loop, channel, self.release) = (loop, cable.main, release)
    start = loop.now
    channel.start(self)
  }

  var isOpen: Bool { end == nil && !isUnplugged }

  func unplug() {
    guard !isUnplugged else { return }
    isUnplugged = true
    if ended == nil { ended = loop.now }
    channel.close()
    release()
  }

  // MARK: Sending

  @discardableResult
  func send(_ bytes: [UInt8], as kind: WirePacket.Kind = .raw, remark: String = "") -> Int {
    let index = write(bytes, as: kind, remark: remark)
    push(bytes)
    return index
  }

  func send(_ header: PacketHeader, payload: [UInt8] = [], remark: String = "") {
    send(PacketWriter.packet(header, payload: payload), as: .packet(header), remark: remark)
  }

  /// Records bytes without sending them. ``push(_:)`` then sends the recorded bytes in pieces.
  @discardableResult
  func write(_ bytes: [UInt8], as kind: WirePacket.Kind, remark: String = "") -> Int {
    let index = note(bytes, kind, .fromDevice)
    record[index].remark = remark
    return index
  }

  func sendGlued(_ packets: [(bytes: [UInt8], kind: WirePacket.Kind)]) {
    for packet in packets { note(packet.bytes, packet.kind, .fromDevice) }
    push(packets.flatMap(\.bytes))
  }

  @discardableResult
  func lose(_ bytes: [UInt8], as kind: WirePacket.Kind) -> Int {
    write(bytes, as: kind, remark: "lost on purpose")
  }

  func remark(_ index: Int, _ text: String) {
    if record.indices.contains(index) { record[index].remark = text }
  }

  func push(_ chunk: [UInt8]) {
    outbox.append(chunk)
    flush()
  }

  private func flush() {
    while isOpen, let first = outbox.first {
      let taken = channel.send(first.span.bytes)
      if taken == first.count {
        outbox.removeFirst()
      } else {
        outbox[0].removeFirst(taken)
        return
      }
    }
  }

  // MARK: Receiving

  func channel(_ channel: any Channel, received bytes: RawSpan) {
    scanner.forEach(in: bytes) { piece, packet in
      if isOpen { take(piece, packet.withUnsafeBytes { Array($0) }) }
    }
  }

  func channelIsWritable(_ channel: any Channel) { flush() }

  func channel(_ channel: any Channel, endedWith end: ChannelEnd) {
    if let rest = scanner.finish() { took(rest.sample, .garbage(count: rest.count)) }
    if self.end == nil { self.end = end }
    if ended == nil { ended = loop.now }
    outbox = []
  }

  private func take(_ piece: PacketScanner.Piece, _ bytes: [UInt8]) {
    switch piece {
    case .packet(let header, _): took(bytes, .packet(header))
    case .spoiled(let header, _): took(bytes, .spoiled(header))
    case .detection: took(bytes, .detection)
    case .legacy: took(bytes, .legacy)
    case .skipped(let skipped): if skipped.count > 0 { took(skipped.sample, .garbage(count: skipped.count)) }
    }
  }

  private func took(_ bytes: [UInt8], _ kind: WirePacket.Kind) {
    let index = note(bytes, kind, .fromAccessory)
    if record.count > Self.mostPieces || recordedBytes > Self.mostBytes {
      end = .failed("the accessory sent more than easim can examine: \(record.count) packets, \(recordedBytes) bytes")
      ended = loop.now
      channel.close()
      return
    }
    onEvent(record[index])
  }

  @discardableResult
  private func note(_ bytes: [UInt8], _ kind: WirePacket.Kind, _ direction: WireDirection) -> Int {
    recordedBytes += bytes.count
    record.append(WirePacket(index: record.count, time: loop.now, direction: direction, bytes: bytes, kind: kind))
    return record.count - 1
  }
}

/// Runs the event loop while a script is waiting, so that scripts can be written as sequential code.
///
/// ```swift
/// let pump = CheckPump(VirtualLoop(seed: 7))
/// ```
package struct CheckPump {
  package let loop: any EventLoop
  private let run: (() -> Bool, Duration) throws -> Bool

  package init(_ loop: VirtualLoop) {
    self.loop = loop
    run = { condition, limit in try loop.run(until: condition, limit: limit) }
  }

  /// Creates a pump that runs in real time until `isStopped` returns true.
  package init(_ loop: EpollLoop, isStopped: @escaping () -> Bool = { false }) {
    self.loop = loop
    run = { condition, limit in
      let held = loop.run(until: { condition() || isStopped() }, limit: limit)
      if isStopped() { throw CheckStopped() }
      return held
    }
  }

  /// Waits until `condition` is true or `limit` passes. Returns whether `condition` is true.
  func wait(within limit: Duration, until condition: () -> Bool) throws -> Bool {
    try condition() || run(condition, limit) || condition()
  }

  func pause(_ time: Duration) throws {
    if time > .zero { _ = try run({ false }, time) }
  }
}
