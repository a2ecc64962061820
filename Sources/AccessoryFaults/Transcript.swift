import AccessoryCore
import IAP2

/// The transcript of one channel of a cable: what passed in which direction, one line per packet:
///
/// ```
/// 0.000000 A DETECT
/// 0.000213 D DATA seq=1 ack=0 session=1 AA00 RequestAuthenticationCertificate
/// ```
///
/// A native channel carries no packets, so each transfer is a line: `1.002000 D SIDE com.example.files 10240 bytes 00 01 …`.
///
/// Times are the loop's; `A` is the accessory and `D` the device. A packet is written when its last byte passes, so
/// both ends of a cable without delay write the same lines. Each attachment has its own transcript, so that its
/// narrator knows the sessions of exactly the link it sees.
public final class Transcript: CableWitness {
  /// How many bytes of a payload are usually written.
  public static let usualBytes = 8

  private let protocolName: String?
  private let shownBytes: Int
  private let write: (String) -> Void
  private var fromAccessory = PacketScanner()
  private var fromDevice = PacketScanner()
  private var narrator: PacketNarrator

  /// `write` receives each line, without its line end. The first `shownBytes` of each payload are written.
  ///
  /// - Parameter protocolName: the protocol of a native channel; nil for the main channel.
  public init(
    of protocolName: String? = nil, shownBytes: Int = Transcript.usualBytes, write: @escaping (String) -> Void
  ) {
    (self.protocolName, self.shownBytes, self.write) = (protocolName, shownBytes, write)
    narrator = PacketNarrator(shownBytes: shownBytes)
  }

  /// A line for each packet, or for the transfer.
  public func passed(_ bytes: RawSpan, from end: Cable.End, at time: Instant) {
    if let protocolName {
      let shown = bytes.withUnsafeBytes { Hex.spaced($0.prefix(shownBytes)) }
      let more = bytes.byteCount > shownBytes ? " …" : ""
      return line(end, time, "SIDE \(protocolName) \(bytes.byteCount) bytes \(shown)\(more)")
    }
    switch end {
    case .accessory: fromAccessory.forEach(in: bytes) { line(end, time, text($0, $1)) }
    case .device: fromDevice.forEach(in: bytes) { line(end, time, text($0, $1)) }
    }
  }

  /// A line that gives the reason.
  public func ended(at end: Cable.End, _ reason: ChannelEnd?, at time: Instant) {
    write("\(time.secondsText) \(end.note(of: reason, protocolName))")
  }

  private func text(_ piece: PacketScanner.Piece, _ bytes: RawSpan) -> String {
    switch piece {
    case .packet(let header, _): narrator.line(for: header, packet: bytes)
    case .spoiled(let header, _): narrator.spoiledLine(for: header)
    case .detection: "DETECT"
    case .legacy: narrator.legacyLine(bytes)
    case .skipped(let skipped): "SKIPPED \(skipped)"
    }
  }

  private func line(_ end: Cable.End, _ time: Instant, _ text: String) {
    write("\(time.secondsText) \(end.rawValue) \(text)")
  }
}

extension Cable {
  /// The same cable with a transcript at this end: packets on the main channel, transfers on native channels. It pauses
  /// while `gate` is closed. The first `shownBytes` of each payload are written.
  public func transcribed(
    at end: End, on loop: any EventLoop, gate: CableGate? = nil, shownBytes: Int = Transcript.usualBytes,
    write: @escaping (String) -> Void
  ) -> Cable {
    witnessed(at: end, on: loop, gate: gate) { Transcript(of: $0, shownBytes: shownBytes, write: write) }
  }
}
