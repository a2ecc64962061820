import AccessoryCore
import IAP2

/// Finds the packets in a stream for the faults that act on packets, and keeps bytes that may become one.
///
/// The scanner decides what is a packet. Bytes between packets are passed on unchanged, so that a fault changes only
/// the packets that it affects.
struct PacketCutter {
  /// The scanner cannot be copied, and a stage is kept as a value.
  private final class Box {
    var scanner = PacketScanner()
  }

  private let unit: FaultUnit
  private let box = Box()
  /// Bytes that may be the beginning of a packet.
  private var undecided: [UInt8] = []

  init(unit: FaultUnit) {
    self.unit = unit
  }

  /// Bytes that are kept until they are known to be a packet or not.
  var held: Int { undecided.count }

  /// Calls `body` with each position in `bytes` after the end of a packet. Keeps nothing; do not mix it with ``cut``.
  mutating func countPackets(in bytes: RawSpan, _ body: (Int) -> Void) {
    guard unit == .linkPackets else { return body(bytes.byteCount) }
    var offset = 0
    while let piece = box.scanner.next(in: bytes, at: &offset) {
      // A packet that began in an earlier chunk ends in this one.
      if Self.size(of: piece) != nil { body(offset) }
    }
  }

  /// Calls the visitor with each packet. It passes on the packets that it wants itself; everything else is passed on
  /// unchanged.
  mutating func cut(_ bytes: RawSpan, _ visitor: inout some PacketVisitor, _ step: inout FaultStep) -> FaultPassage {
    guard unit == .linkPackets else {
      guard visitor.wants(nil, &step) else { return .whole }
      visitor.act(bytes, nil, &step)
      return .changed
    }
    if undecided.isEmpty { return search(bytes, fresh: bytes, &visitor, &step) }
    var all: [UInt8] = []
    swap(&all, &undecided)
    bytes.withUnsafeBytes { all.append(contentsOf: $0) }
    return search(all.span.bytes, fresh: bytes, &visitor, &step)
  }

  /// `fresh` is the end of `all`, and what of it the scanner has not seen.
  private mutating func search(
    _ all: RawSpan, fresh: RawSpan, _ visitor: inout some PacketVisitor, _ step: inout FaultStep
  ) -> FaultPassage {
    let seen = all.byteCount - fresh.byteCount
    var offset = 0
    var passed = 0
    while let piece = box.scanner.next(in: fresh, at: &offset) {
      guard let size = Self.size(of: piece) else { continue }
      let end = seen + offset - box.scanner.heldCount
      let header = Self.header(of: piece)
      guard visitor.wants(header, &step) else { continue }
      step.pass(all.extracting(passed..<end - size))
      visitor.act(all.extracting(end - size..<end), header, &step)
      passed = end
    }
    let decided = all.byteCount - box.scanner.heldCount
    if seen == 0, passed == 0, decided == all.byteCount { return .whole }
    step.pass(all.extracting(passed..<decided))
    all.extracting(decided..<all.byteCount).withUnsafeBytes { undecided.append(contentsOf: $0) }
    return .changed
  }

  /// Passes on the bytes that may have become a packet.
  mutating func finish(_ step: inout FaultStep) {
    step.pass(undecided.span.bytes)
    undecided.removeAll(keepingCapacity: true)
    box.scanner.forget()
  }

  private static func header(of piece: PacketScanner.Piece) -> PacketHeader? {
    switch piece {
    case .packet(let header, _), .spoiled(let header, _): header
    case .detection, .legacy, .skipped: nil
    }
  }

  private static func size(of piece: PacketScanner.Piece) -> Int? {
    switch piece {
    case .packet(let header, _), .spoiled(let header, _): Int(header.length)
    case .detection: PacketWriter.detection.count
    case .legacy(.input(let range)), .legacy(.carry(let range)): range.count
    case .skipped: nil
    }
  }
}

/// Receives the packets of a stream.
protocol PacketVisitor {
  /// Whether a packet is wanted; the header is nil for transfers, and for frames that are not link packets.
  mutating func wants(_ header: PacketHeader?, _ step: inout FaultStep) -> Bool

  /// A packet that was wanted. The bytes that are passed on replace it.
  mutating func act(_ packet: RawSpan, _ header: PacketHeader?, _ step: inout FaultStep)
}
