/// What is written to a FunctionFS's endpoint 0 before anything else: the descriptors of each speed, then the strings.
/// All numbers are little-endian.
///
/// FunctionFS gives numbers of its own to interfaces, strings and endpoints when it is bound: those that stand here only
/// say which belong together. An endpoint's file is named by its place in the descriptors: ep1, ep2, …
enum FunctionFSImage {
  private static let descriptorsMagic: UInt32 = 3
  private static let stringsMagic: UInt32 = 2

  private enum Flags {
    static let fullSpeed: UInt32 = 1
    static let highSpeed: UInt32 = 2
    /// Requests to the whole device that the kernel does not answer itself come here, …
    static let everyRequest: UInt32 = 64
    /// … before the host has chosen the configuration, too.
    static let beforeConfiguration: UInt32 = 128
  }

  /// The descriptors, for both speeds: the host's port may allow no more than full speed.
  static func descriptors(_ shape: USBAccessoryShape) -> [UInt8] {
    let speeds = [USBSpeed.full, .high].map { shape.interfaces(at: $0) }
    let counts = speeds.map { $0.reduce(0) { $0 + 1 + $1.endpoints.count } }
    let names = interfaceNames(shape)
    let body = speeds.joined().flatMap { interface in
      interface.descriptor(namedBy: UInt8((names.firstIndex(of: interface.nameIndex) ?? -1) + 1))
    }
    let flags = Flags.fullSpeed | Flags.highSpeed | Flags.everyRequest | Flags.beforeConfiguration
    let head = [descriptorsMagic, UInt32(12 + 4 * counts.count + body.count), flags] + counts.map { UInt32($0) }
    return head.flatMap(\.littleEndianBytes) + body
  }

  /// The strings that interfaces are named by, in English (United States).
  static func strings(_ shape: USBAccessoryShape) -> [UInt8] {
    let names = interfaceNames(shape)
    var body: [UInt8] = names.isEmpty ? [] : [0x09, 0x04]
    for name in names { body += (shape.text(name) ?? "").utf8 + [0] }
    let head = [stringsMagic, UInt32(16 + body.count), UInt32(names.count), names.isEmpty ? 0 : 1]
    return head.flatMap(\.littleEndianBytes) + body
  }

  /// The numbers of the strings that name interfaces, each once: their place here, from 1, is what FunctionFS knows them
  /// by.
  private static func interfaceNames(_ shape: USBAccessoryShape) -> [UInt8] {
    shape.interfaces(at: shape.speed).map(\.nameIndex).reduce(into: []) { names, name in
      if name != 0, !names.contains(name) { names.append(name) }
    }
  }
}

extension UInt32 {
  /// The four bytes, as USB orders them.
  fileprivate var littleEndianBytes: [UInt8] {
    UInt16(truncatingIfNeeded: self).littleEndianBytes + UInt16(self >> 16).littleEndianBytes
  }
}
