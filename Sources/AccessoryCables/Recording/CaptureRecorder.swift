import AccessoryCore
import AccessoryFaults

/// Records cables as pcapng. The file contains every byte sent in either direction, with a timestamp, and records each
/// event as a comment. Each cable and each native channel is a separate interface in the file, and events have an
/// interface of their own.
///
/// ```swift
/// let recorder = CaptureRecorder(program: "tests") { file += $0 }
/// let cable = cable.recorded(by: recorder, at: .device, named: "local:", description: "", on: loop)
/// ```
///
/// Each call to `write` passes complete blocks, so the file is readable at any time.
public final class CaptureRecorder {
  /// Pauses the cables while bytes arrive faster than they can be written to the file.
  public let gate: CableGate
  /// Creates an additional observer, such as a trace, for each recorded channel.
  public var companion: Companion?
  private var channels: [Weak<RecordedChannel>] = []
  private let epoch: Int64
  private let write: ([UInt8]) -> Void
  private var writer: PcapngWriter

  /// Creates an observer for a channel of a cable. `side` is a native channel's protocol, or nil for the main channel.
  public typealias Companion = (_ name: String, _ description: String, _ side: String?) -> any CableWitness

  /// Starts a capture file.
  ///
  /// - Parameters:
  ///   - epoch: the loop's origin in nanoseconds since 1970, or 0 for virtual time.
  ///   - comment: a description of the recording, stored in the file.
  ///   - gate: pauses the cables while bytes arrive faster than they can be written to the file.
  ///   - write: receives complete blocks.
  public init(
    program: String, epoch: Int64 = 0, comment: String = "", gate: CableGate = CableGate(),
    write: @escaping ([UInt8]) -> Void
  ) {
    (self.epoch, self.gate) = (epoch, gate)
    self.write = write
    writer = PcapngWriter(program: program)
    let comments = comment.isEmpty ? [] : [comment]
    let begin = writer.begin(comments: comments)
    write(begin + writer.interface(named: "timeline", description: "events", .iap2))
    // The comment is the first packet, because readers show times relative to the first packet.
    note(comment.isEmpty ? "recording" : comment, at: .origin)
  }

  /// Creates an observer for one channel of a cable. The channel becomes an interface in the file.
  ///
  /// - Parameter side: the protocol of a native channel, or nil for the main channel.
  public func witness(named name: String, description: String, side: String?) -> any CableWitness {
    RecordedChannel(self, name, description, side: side)
  }

  /// Records that a fault at this end affected a packet on the newest cable that has this name.
  public func struck(_ strike: FaultStrike, at end: Cable.End, named name: String) {
    let channel = channels.last { $0.object?.isMain(named: name) == true }?.object
    channel?.companion?.struck(
      strike.packet.span.bytes, by: strike.fault.description, from: strike.sender(at: end), at: strike.time)
  }

  fileprivate func keep(_ channel: RecordedChannel) {
    guard companion != nil else { return }
    channels.removeAll { $0.object == nil }
    channels.append(Weak(channel))
  }

  /// Records an event as a comment.
  public func note(_ text: String, at time: Instant) { note(text, on: 0, at: time) }

  fileprivate func note(_ text: String, on interface: Int, at time: Instant) {
    let none: [UInt8] = []
    write(writer.packet(none.span.bytes, on: interface, at: nanoseconds(time), comments: [text]))
  }

  fileprivate func record(_ bytes: RawSpan, on interface: Int, from end: Cable.End, at time: Instant) {
    write(writer.packet(bytes, on: interface, at: nanoseconds(time), from: end))
  }

  private func nanoseconds(_ time: Instant) -> Int64 { epoch &+ time.nanoseconds }

  fileprivate func makeInterface(_ name: String, _ description: String, _ kind: PcapngWriter.Kind) -> Int {
    let number = writer.nextInterface
    write(writer.interface(named: name, description: description, kind))
    return number
  }
}

private final class RecordedChannel: CableWitness {
  private let recorder: CaptureRecorder
  private let interface: Int
  private let name: String
  private let side: String?
  let companion: (any CableWitness)?

  init(_ recorder: CaptureRecorder, _ name: String, _ description: String, side: String?) {
    (self.recorder, self.name, self.side) = (recorder, name, side)
    companion = recorder.companion?(name, description, side)
    interface = recorder.makeInterface(
      side.map { "\(name) \($0)" } ?? name, side ?? description, side == nil ? .iap2 : .nativeTransport)
    recorder.keep(self)
  }

  func isMain(named name: String) -> Bool { side == nil && self.name == name }

  func passed(_ bytes: RawSpan, from end: Cable.End, at time: Instant) {
    recorder.record(bytes, on: interface, from: end, at: time)
    companion?.passed(bytes, from: end, at: time)
  }

  func ended(at end: Cable.End, _ reason: ChannelEnd?, at time: Instant) {
    recorder.note(end.note(of: reason, side), on: interface, at: time)
    companion?.ended(at: end, reason, at: time)
  }
}

extension Cable {
  /// Returns the cable with a recorder attached to this end. Each channel of the cable becomes a separate interface.
  public func recorded(
    by recorder: CaptureRecorder, at end: Cable.End, named name: String, description: String,
    on loop: any EventLoop
  ) -> Cable {
    witnessed(at: end, on: loop, gate: recorder.gate) { side in
      RecordedChannel(recorder, name, description, side: side)
    }
  }
}

/// The observers, such as captures and transcripts, of all cables that belong to one owner. Observers can be added and
/// removed while the cables are in use.
///
/// A new observer sees all future cables. On cables already in use, the observer sees only bytes sent after it was
/// added.
///
/// ```swift
/// let taps = CableTaps()
/// device.plugIn(taps.tap(cable, at: .device, on: loop), at: "a cable")
/// taps.add(1) { cable, protocolName in Transcript(of: protocolName) { print($0) } }
/// taps.remove(1)
/// ```
public final class CableTaps {
  /// Creates the observer for one channel. `cable` is the number of the cable, counted from 1. `protocolName` is the
  /// protocol of a native channel, or nil for the main channel.
  public typealias Maker = (_ cable: Int, _ protocolName: String?) -> any CableWitness

  private var makers: [(key: Int, make: Maker)] = []
  private var channels: [Weak<TappedChannel>] = []
  private var cableCount = 0

  /// Creates a set without observers.
  public init() {}

  /// Adds an observer for every current and future channel. To remove the observer, pass the same key to
  /// ``remove(_:)``.
  public func add(_ key: Int, _ make: @escaping Maker) {
    makers.append((key, make))
    for entry in channels { entry.object?.add(key, make) }
  }

  /// Removes the observers with this key.
  public func remove(_ key: Int) {
    makers.removeAll { $0.key == key }
    for entry in channels { entry.object?.remove(key) }
  }

  /// Notifies the observers that a fault at this end affected a packet on the newest cable's main channel.
  public func struck(_ strike: FaultStrike, at end: Cable.End) {
    let channel = channels.last { $0.object?.isMain == true }?.object
    channel?.struck(
      strike.packet.span.bytes, by: strike.fault.description, from: strike.sender(at: end), at: strike.time)
  }

  /// Returns the cable with the observers attached to this end.
  public func tap(_ cable: Cable, at end: Cable.End, on loop: any EventLoop) -> Cable {
    cableCount += 1
    let number = cableCount
    return cable.witnessed(at: end, on: loop) { protocolName in
      let channel = TappedChannel(number, protocolName)
      for (key, make) in self.makers { channel.add(key, make) }
      self.channels.removeAll { $0.object == nil }
      self.channels.append(Weak(channel))
      return channel
    }
  }
}

private final class TappedChannel: CableWitness {
  private let cable: Int
  private let protocolName: String?
  private var witnesses: [(key: Int, witness: any CableWitness)] = []
  var isMain: Bool { protocolName == nil }

  init(_ cable: Int, _ protocolName: String?) {
    (self.cable, self.protocolName) = (cable, protocolName)
  }

  func add(_ key: Int, _ make: CableTaps.Maker) { witnesses.append((key, make(cable, protocolName))) }
  func remove(_ key: Int) { witnesses.removeAll { $0.key == key } }

  func passed(_ bytes: RawSpan, from end: Cable.End, at time: Instant) {
    for (_, witness) in witnesses { witness.passed(bytes, from: end, at: time) }
  }

  func struck(_ packet: RawSpan, by fault: String, from end: Cable.End, at time: Instant) {
    for (_, witness) in witnesses { witness.struck(packet, by: fault, from: end, at: time) }
  }

  func ended(at end: Cable.End, _ reason: ChannelEnd?, at time: Instant) {
    for (_, witness) in witnesses { witness.ended(at: end, reason, at: time) }
  }
}

/// Writes pcapng block by block. Every call returns complete blocks, so the file is always readable.
///
/// ```swift
/// var writer = PcapngWriter(program: "easim 0.1.0")
/// write(writer.begin())
/// let cable = writer.nextInterface
/// write(writer.interface(named: "unix:/tmp/a", description: "Lawk View", .iap2))
/// write(writer.packet(bytes, on: cable, at: nanoseconds, from: .accessory))
/// ```
///
/// Times are in nanoseconds. Directions are given from the device's point of view, so bytes that the accessory sends
/// are marked as received.
package struct PcapngWriter: Sendable {
  private let program: String
  /// The number of the interface that the next call to ``interface(named:description:_:)`` describes.
  package private(set) var nextInterface = 0

  /// Creates a writer for one file. `program` is recorded in the file as the application that created it.
  package init(program: String) {
    self.program = program
  }

  /// Returns the beginning of the file.
  package func begin(comments: [String] = []) -> [UInt8] {
    Self.block(0x0A0D_0D0A) { body in
      Self.put(0x1A2B_3C4D, 4, &body)
      Self.put(1, 2, &body)
      Self.put(0, 2, &body)
      // The value -1 means that the length of the section is unknown.
      Self.put(.max, 8, &body)
      for comment in comments { Self.option(1, comment.utf8, &body) }
      Self.option(4, program.utf8, &body)
      Self.put(0, 4, &body)
    }
  }

  /// Returns a block that describes an interface.
  package mutating func interface(named name: String, description: String, _ kind: Kind) -> [UInt8] {
    nextInterface += 1
    return Self.block(1) { body in
      Self.put(kind.linkType, 2, &body)
      Self.put(0, 2, &body)
      Self.put(0, 4, &body)
      Self.option(2, name.utf8, &body)
      if !description.isEmpty { Self.option(3, description.utf8, &body) }
      // The time resolution is 10 to the power of -9 seconds.
      Self.option(9, [9], &body)
      Self.put(0, 4, &body)
    }
  }

  /// Returns a block that contains a packet. A packet without bytes can carry comments.
  package func packet(
    _ bytes: RawSpan, on interface: Int, at nanoseconds: Int64, from end: Cable.End? = nil, comments: [String] = []
  ) -> [UInt8] {
    Self.block(6) { body in
      let ticks = UInt64(max(0, nanoseconds))
      Self.put(UInt64(interface), 4, &body)
      Self.put(ticks >> 32, 4, &body)
      Self.put(ticks & 0xFFFF_FFFF, 4, &body)
      Self.put(UInt64(bytes.byteCount), 4, &body)
      Self.put(UInt64(bytes.byteCount), 4, &body)
      bytes.withUnsafeBytes { body += $0 }
      Self.pad(&body)
      let flags: UInt64 =
        switch end {
        case nil: 0
        case .accessory: 1
        case .device: 2
        }
      if flags == 0, comments.isEmpty { return }
      for comment in comments { Self.option(1, comment.utf8, &body) }
      if flags != 0 {
        Self.put(2, 2, &body)
        Self.put(4, 2, &body)
        Self.put(flags, 4, &body)
      }
      Self.put(0, 4, &body)
    }
  }

  /// What an interface contains in a file written by easim.
  package enum Kind: Sendable {
    case iap2
    case nativeTransport

    var linkType: UInt64 { self == .iap2 ? 147 : 148 }
  }

  // MARK: Blocks

  private static func block(_ type: UInt64, _ fill: (inout [UInt8]) -> Void) -> [UInt8] {
    var bytes: [UInt8] = []
    put(type, 4, &bytes)
    put(0, 4, &bytes)
    fill(&bytes)
    let count = bytes.count + 4
    for index in 0..<4 { bytes[4 + index] = UInt8(truncatingIfNeeded: count >> (8 * index)) }
    put(UInt64(count), 4, &bytes)
    return bytes
  }

  private static func put(_ value: UInt64, _ count: Int, _ bytes: inout [UInt8]) {
    for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index))) }
  }

  private static func pad(_ bytes: inout [UInt8]) {
    while bytes.count % 4 != 0 { bytes.append(0) }
  }

  private static func option(_ code: UInt64, _ value: some Collection<UInt8>, _ bytes: inout [UInt8]) {
    let value = value.prefix(Int(UInt16.max) - 3)
    put(code, 2, &bytes)
    put(UInt64(value.count), 2, &bytes)
    bytes += value
    pad(&bytes)
  }
}
