import AccessoryCore
import IAP2

/// The transcript of one cable: what passed in which direction, one line per packet.
///
/// A transcript is made per attachment, so that its narrator's knowledge of the sessions is that of the link it sees.
public final class Transcript {
  /// Which end of the cable bytes come from.
  public enum End: String, Sendable {
    /// The accessory.
    case accessory = "A"
    /// The device.
    case device = "D"

    var other: End { self == .accessory ? .device : .accessory }
  }

  /// How many bytes of a payload are usually written.
  public static let usualBytes = 8

  private let shownBytes: Int
  private let write: (String) -> Void
  private var fromAccessory = PacketScanner()
  private var fromDevice = PacketScanner()
  private var narrator: PacketNarrator

  /// `write` takes each line, without its end. Of each payload the first `shownBytes` are written.
  public init(shownBytes: Int = Transcript.usualBytes, write: @escaping (String) -> Void) {
    self.write = write
    self.shownBytes = shownBytes
    narrator = PacketNarrator(shownBytes: shownBytes)
  }

  /// Bytes passed, sent by `end`.
  public func record(_ bytes: RawSpan, from end: End, at time: Instant) {
    switch end {
    case .accessory: scan(bytes, &fromAccessory, end, time)
    case .device: scan(bytes, &fromDevice, end, time)
    }
  }

  /// A transfer passed on the native channel of a protocol, sent by `end`.
  public func recordTransfer(_ bytes: RawSpan, of protocolName: String, from end: End, at time: Instant) {
    let shown = bytes.withUnsafeBytes { Hex.spaced($0.prefix(shownBytes)) }
    let more = bytes.byteCount > shownBytes ? " …" : ""
    line(end, time, "SIDE \(protocolName) \(bytes.byteCount) bytes \(shown)\(more)")
  }

  /// Something else happened.
  public func note(_ text: String, at time: Instant) {
    write("\(time.secondsText) \(text)")
  }

  private func scan(_ bytes: RawSpan, _ scanner: inout PacketScanner, _ end: End, _ time: Instant) {
    var offset = 0
    while let piece = scanner.next(in: bytes, at: &offset) {
      switch piece {
      case .packet(let header, .input(let range)):
        line(end, time, narrator.line(for: header, packet: bytes.extracting(range)))
      case .packet(let header, .carry(let range)):
        let carry = scanner.lendCarry()
        carry.with(range) { line(end, time, narrator.line(for: header, packet: $0)) }
        scanner.returnCarry(carry)
      case .spoiled(let header, _): line(end, time, narrator.spoiledLine(for: header))
      case .detection: line(end, time, "DETECT")
      case .legacy(.input(let range)): line(end, time, narrator.legacyLine(bytes.extracting(range)))
      case .legacy(.carry(let range)):
        let carry = scanner.lendCarry()
        carry.with(range) { line(end, time, narrator.legacyLine($0)) }
        scanner.returnCarry(carry)
      case .skipped(let skipped): line(end, time, "SKIPPED \(skipped)")
      }
    }
  }

  private func line(_ end: End, _ time: Instant, _ text: String) {
    write("\(time.secondsText) \(end.rawValue) \(text)")
  }
}
