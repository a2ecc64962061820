import IAP2

/// The results of a scan together with their bytes. This makes it possible to compare scans of one stream that was
/// split in different ways.
enum Found: Equatable, CustomStringConvertible {
  case packet([UInt8])
  case spoiled([UInt8])
  case detection
  case legacy([UInt8])
  case skipped(count: Int, sample: [UInt8])

  var description: String {
    switch self {
    case .packet(let bytes): "packet \(Sheet.hex(bytes))"
    case .spoiled(let bytes): "spoiled \(Sheet.hex(bytes))"
    case .detection: "detection"
    case .legacy(let bytes): "legacy \(Sheet.hex(bytes))"
    case .skipped(let count, let sample): "skipped \(count): \(Sheet.hex(sample))"
    }
  }
}

func scan(_ chunks: [[UInt8]], maximumLength: UInt16 = .max) -> [Found] {
  var scanner = PacketScanner(maximumLength: maximumLength)
  var found: [Found] = []
  for chunk in chunks {
    var offset = 0
    while let piece = scanner.next(in: chunk.span.bytes, at: &offset) {
      func bytes(_ place: PacketScanner.Place) -> [UInt8] {
        switch place {
        case .input(let range): return Array(chunk[range])
        case .carry(let range):
          let lent = scanner.lendCarry()
          let copy = lent.with(range) { $0.withUnsafeBytes { [UInt8]($0) } }
          scanner.returnCarry(lent)
          return copy
        }
      }
      switch piece {
      case .packet(_, let place): found.append(.packet(bytes(place)))
      case .spoiled(_, let place): found.append(.spoiled(bytes(place)))
      case .detection: found.append(.detection)
      case .legacy(let place): found.append(.legacy(bytes(place)))
      case .skipped(let skipped): found.append(.skipped(count: skipped.count, sample: skipped.sample))
      }
    }
    precondition(offset == chunk.count, "the scanner left bytes of its input lying")
  }
  if let rest = scanner.finish() { found.append(.skipped(count: rest.count, sample: rest.sample)) }
  return found
}

struct ScannerReference {
  private(set) var found: [Found] = []
  /// The number of zero bytes that were skipped without a report.
  private(set) var padding = 0
  private var gap: [UInt8] = []

  init(_ stream: [UInt8], maximumLength: Int = 65_535) {
    var at = 0
    while at < stream.count {
      if let (piece, length) = Self.piece(Array(stream[at...].prefix(65_535)), maximumLength) {
        endGap()
        found.append(piece)
        at += length
      } else if Self.isUnfinished(Array(stream[at...].prefix(65_535)), maximumLength) {
        // The last bytes of the stream are reported in one piece.
        for byte in stream[at...] { skip(byte, steps: false) }
        at = stream.count
      } else {
        skip(stream[at])
        at += 1
      }
    }
    endGap()
  }

  private mutating func skip(_ byte: UInt8, steps: Bool = true) {
    if gap.isEmpty, byte == 0 {
      padding += 1
      return
    }
    gap.append(byte)
    if steps, gap.count == 4_096 { endGap() }
  }

  private mutating func endGap() {
    if !gap.isEmpty { found.append(.skipped(count: gap.count, sample: Array(gap.prefix(16)))) }
    gap = []
  }

  private static func isZero(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.reduce(0) { ($0 + Int($1)) % 256 } == 0
  }

  private static func piece(_ bytes: [UInt8], _ maximumLength: Int) -> (Found, Int)? {
    guard let length = announced(bytes, maximumLength), bytes.count >= length else { return nil }
    let piece = Array(bytes[..<length])
    if bytes[1] == 0x5A { return (length == 9 || isZero(piece[9...]) ? .packet(piece) : .spoiled(piece), length) }
    guard isZero(piece[2...]) else { return nil }
    return (piece == [0xFF, 0x55, 2, 0, 0xEE, 0x10] ? .detection : .legacy(piece), length)
  }

  /// Returns the length of the piece that seems to start with these bytes. Returns nil if no piece starts with them or
  /// if there are too few bytes to tell.
  private static func announced(_ bytes: [UInt8], _ maximumLength: Int) -> Int? {
    guard bytes.count >= 3, bytes[0] == 0xFF else { return nil }
    if bytes[1] == 0x55 { return (1...32).contains(bytes[2]) ? Int(bytes[2]) + 4 : nil }
    guard bytes[1] == 0x5A, bytes.count >= 9, isZero(bytes[..<9]) else { return nil }
    let length = Int(bytes[2]) * 256 + Int(bytes[3])
    return (9...maximumLength).contains(length) ? length : nil
  }

  /// Returns true if the stream ends before the piece that starts with these bytes can be identified.
  private static func isUnfinished(_ bytes: [UInt8], _ maximumLength: Int) -> Bool {
    guard bytes[0] == 0xFF else { return false }
    if bytes.count == 1 { return true }
    if bytes[1] == 0x55, bytes.count == 2 { return true }
    if bytes[1] == 0x5A, bytes.count < 9 { return true }
    guard let length = announced(bytes, maximumLength) else { return false }
    return bytes.count < length
  }
}

extension [Found] {
  var byteCount: Int {
    reduce(0) { sum, piece in
      switch piece {
      case .packet(let bytes), .spoiled(let bytes), .legacy(let bytes): sum + bytes.count
      case .detection: sum + 6
      case .skipped(let count, _): sum + count
      }
    }
  }
}
