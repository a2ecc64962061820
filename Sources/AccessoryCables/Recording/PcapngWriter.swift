import AccessoryCore

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
