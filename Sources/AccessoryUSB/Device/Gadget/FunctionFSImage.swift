/// What must be written to endpoint 0 of FunctionFS first: the descriptors for each speed, then the strings. All
/// numbers are little-endian.
///
/// FunctionFS assigns its own numbers to interfaces, strings and endpoints when it is bound. The numbers here only show
/// which of them belong together. The files of the endpoints are named by their order in the descriptors: ep1, ep2, …
enum FunctionFSImage {
  private static let descriptorsMagic: UInt32 = 3
  private static let stringsMagic: UInt32 = 2

  private enum Flags {
    static let fullSpeed: UInt32 = 1
    static let highSpeed: UInt32 = 2
    /// The kernel passes on requests to the whole device that it does not answer itself, …
    static let everyRequest: UInt32 = 64
    /// … also before the host has selected the configuration.
    static let beforeConfiguration: UInt32 = 128
  }

  /// The descriptors for both speeds, because the host's port may only support full speed.
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

  /// The names of the interfaces, in English (United States).
  static func strings(_ shape: USBAccessoryShape) -> [UInt8] {
    let names = interfaceNames(shape)
    var body: [UInt8] = names.isEmpty ? [] : [0x09, 0x04]
    for name in names { body += (shape.text(name) ?? "").utf8 + [0] }
    let head = [stringsMagic, UInt32(16 + body.count), UInt32(names.count), names.isEmpty ? 0 : 1]
    return head.flatMap(\.littleEndianBytes) + body
  }

  /// The numbers of the names of interfaces, each once. FunctionFS identifies a string by its place here, counted from
  /// 1.
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
