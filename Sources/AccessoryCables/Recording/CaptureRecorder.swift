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
