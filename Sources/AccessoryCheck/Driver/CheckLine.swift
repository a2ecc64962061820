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

  func send(_ bytes: [UInt8], as kind: WirePacket.Kind = .raw, remark: String = "") {
    write(bytes, as: kind, remark: remark)
    push(bytes)
  }

  func send(_ header: PacketHeader, payload: [UInt8] = [], remark: String = "") {
    send(PacketWriter.packet(header, payload: payload), as: .packet(header), remark: remark)
  }

  /// Records bytes without sending them. ``push(_:)`` then sends the recorded bytes in pieces.
  func write(_ bytes: [UInt8], as kind: WirePacket.Kind, remark: String = "") {
    note(bytes, kind, .fromDevice, remark: remark)
  }

  func sendGlued(_ packets: [(bytes: [UInt8], kind: WirePacket.Kind)]) {
    for packet in packets { note(packet.bytes, packet.kind, .fromDevice) }
    push(packets.flatMap(\.bytes))
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
    let packet = note(bytes, kind, .fromAccessory)
    if record.count > Self.mostPieces || recordedBytes > Self.mostBytes {
      end = .failed("the accessory sent more than easim can examine: \(record.count) packets, \(recordedBytes) bytes")
      ended = loop.now
      channel.close()
      return
    }
    onEvent(packet)
  }

  @discardableResult
  private func note(
    _ bytes: [UInt8], _ kind: WirePacket.Kind, _ direction: WireDirection, remark: String = ""
  ) -> WirePacket {
    recordedBytes += bytes.count
    record.append(
      WirePacket(
        index: record.count, time: loop.now, direction: direction, bytes: bytes, kind: kind, remark: remark))
    return record[record.count - 1]
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

  func wait(within limit: Duration, until condition: () -> Bool) throws -> Bool {
    try condition() || run(condition, limit) || condition()
  }

  func pause(_ time: Duration) throws {
    if time > .zero { _ = try run({ false }, time) }
  }
}

package enum WireDirection: String, CaseIterable, Sendable {
  case fromAccessory = "accessory"
  case fromDevice = "device"
}

/// A packet, a frame, or other consecutive bytes on the wire during an attachment.
struct WirePacket {
  enum Kind: Equatable {
    case packet(PacketHeader)
    case spoiled(PacketHeader)
    case detection
    /// An iAP1 frame other than the detection sequence.
    case legacy
    /// Bytes outside packets: `count` is the number of bytes, and `bytes` contains up to 16 of them.
    case garbage(count: Int)
    /// Bytes that the device intentionally sent outside a packet.
    case raw
  }

  let index: Int
  let time: Instant
  let direction: WireDirection
  let bytes: [UInt8]
  let kind: Kind
  var remark = ""

  var header: PacketHeader? { if case .packet(let header) = kind { header } else { nil } }

  var isFromAccessory: Bool { direction == .fromAccessory }

  var payload: ArraySlice<UInt8> {
    guard let header, header.payloadCount > 0 else { return [] }
    return bytes[PacketHeader.size..<PacketHeader.size + header.payloadCount]
  }

  /// Whether the packet has a payload and uses up a sequence number, unlike a SYN or an acknowledgement.
  var isData: Bool {
    guard let header else { return false }
    return header.payloadCount > 0 && header.control.isDisjoint(with: [.syn, .eak, .rst, .slp])
  }

  var text: String {
    let what =
      switch kind {
      case .packet(let header): Self.text(header, payload)
      case .spoiled(let header): Self.text(header, []) + ", wrong payload checksum"
      case .detection: "detection sequence"
      case .legacy: "frame of iAP1"
      case .garbage(let count): "\(count) bytes that are not a packet"
      case .raw: "\(bytes.count) bytes"
      }
    return remark.isEmpty ? what : "\(what) (\(remark))"
  }

  private static func text(_ header: PacketHeader, _ payload: ArraySlice<UInt8>) -> String {
    var text = "\(header.control) sequence \(Hex.number(header.sequence))"
    if header.control.contains(.ack) { text += " acknowledges \(Hex.number(header.acknowledgement))" }
    if header.payloadCount > 0 { text += ", session \(header.session), \(header.payloadCount) bytes" }
    if payload.count >= 6, payload.starts(with: [0x40, 0x40]) {
      let id = payload.startIndex + 4
      text += ": \(MessageID(rawValue: UInt16(payload[id]) << 8 | UInt16(payload[id + 1])))"
    }
    return text
  }

  enum Part {
    static let length = 2..<4
    static let control = 4..<5
    static let sequence = 5..<6
    static let acknowledgement = 6..<7
    static let session = 7..<8
  }

  func proof(since start: Instant, marking marks: [Range<Int>] = [], _ remark: String = "") -> CheckProof {
    CheckProof(
      time: time - start, direction: direction, bytes: Array(bytes.prefix(Self.shownBytes)), length: wholeLength,
      text: remark.isEmpty ? text : "\(text): \(remark)",
      marks: marks.map { $0.clamped(to: 0..<min(bytes.count, Self.shownBytes)) }.filter { !$0.isEmpty })
  }

  private var wholeLength: Int { if case .garbage(let count) = kind { count } else { bytes.count } }
  private static let shownBytes = 256
}
