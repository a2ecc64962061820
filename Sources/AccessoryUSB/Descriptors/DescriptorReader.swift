/// The descriptors of a device, as the kernel keeps them in sysfs: the device descriptor, then each configuration whole.
public struct USBDescriptors: Equatable, Sendable {
  /// idVendor.
  public var vendor: UInt16
  /// idProduct.
  public var product: UInt16
  /// bcdDevice.
  public var release: UInt16
  /// The configurations that could be read.
  public var configurations: [USBConfiguration]

  /// One configuration.
  public struct Configuration: Equatable, Sendable {
    /// bConfigurationValue, by which it is chosen.
    public var value: UInt8
    /// Every alternate setting of every interface, in order.
    public var interfaces: [USBInterface]
  }
}

/// One configuration of a device.
public typealias USBConfiguration = USBDescriptors.Configuration

/// What is wrong with descriptors, and at which byte.
public struct DescriptorError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The offset of the descriptor.
  public let offset: Int
  /// What is wrong with it.
  public let problem: String

  /// "byte 18: the configuration claims 900 bytes, and 32 are there".
  public var description: String { "byte \(offset): \(problem)" }
}

extension USBDescriptors {
  /// Reads untrusted descriptors: every length is checked against the actual bytes, and a wrong one is an error with
  /// its offset. Descriptors of unknown types are skipped; wrong counts are ignored, because the number of
  /// descriptors is known from the descriptors themselves.
  ///
  /// ```swift
  /// let found = try USBDescriptors(reading: bytes)
  /// print(found.configurations[0].interfaces[0].kind)   // FF/F0/00
  /// ```
  public init(reading bytes: [UInt8]) throws(DescriptorError) {
    guard bytes.count >= 18 else {
      throw DescriptorError(offset: 0, problem: "a device descriptor has 18 bytes, but only \(bytes.count) follow")
    }
    guard bytes[0] == 18, bytes[1] == 1 else {
      throw DescriptorError(
        offset: 0, problem: "no device descriptor: it begins with length \(bytes[0]), type \(bytes[1])")
    }
    vendor = UInt16(bytes[8]) | UInt16(bytes[9]) << 8
    product = UInt16(bytes[10]) | UInt16(bytes[11]) << 8
    release = UInt16(bytes[12]) | UInt16(bytes[13]) << 8
    configurations = []
    var offset = 18
    while offset < bytes.count {
      let (configuration, end) = try Configuration.read(bytes, at: offset)
      configurations.append(configuration)
      offset = end
    }
    if configurations.isEmpty { throw DescriptorError(offset: 18, problem: "there is no configuration") }
  }
}

extension USBDescriptors.Configuration {
  /// Reads one configuration with all that belongs to it, and where the next one begins.
  static func read(_ bytes: [UInt8], at start: Int) throws(DescriptorError) -> (Self, end: Int) {
    guard bytes.count - start >= 9, bytes[start] >= 9, bytes[start + 1] == 2 else {
      throw DescriptorError(offset: start, problem: "expected a configuration descriptor here")
    }
    let total = Int(bytes[start + 2]) | Int(bytes[start + 3]) << 8
    guard total >= Int(bytes[start]), total <= bytes.count - start else {
      throw DescriptorError(
        offset: start, problem: "the configuration claims \(total) bytes, but only \(bytes.count - start) follow")
    }
    var configuration = Self(value: bytes[start + 5], interfaces: [])
    let end = start + total
    var offset = start + Int(bytes[start])
    while offset < end {
      let length = Int(bytes[offset])
      guard length >= 2, length <= end - offset else {
        throw DescriptorError(
          offset: offset, problem: "a descriptor claims \(length) bytes, and \(end - offset) follow")
      }
      try configuration.add(bytes[offset..<offset + length])
      offset += length
    }
    return (configuration, end)
  }

  private mutating func add(_ part: ArraySlice<UInt8>) throws(DescriptorError) {
    let at = part.startIndex
    switch part[at + 1] {
    case 4:
      guard part.count >= 9 else {
        throw DescriptorError(offset: at, problem: "an interface descriptor has 9 bytes, not \(part.count)")
      }
      interfaces.append(
        USBInterface(
          number: part[at + 2], alternate: part[at + 3],
          kind: USBInterface.Kind(part[at + 5], part[at + 6], part[at + 7]), nameIndex: part[at + 8]))
    case 5:
      guard part.count >= 7 else {
        throw DescriptorError(offset: at, problem: "an endpoint descriptor has 7 bytes, not \(part.count)")
      }
      guard !interfaces.isEmpty else {
        throw DescriptorError(offset: at, problem: "an endpoint descriptor comes before any interface descriptor")
      }
      // Bits 11 and up say how often a microframe; no bulk endpoint uses them.
      let size = (UInt16(part[at + 4]) | UInt16(part[at + 5]) << 8) & 0x7FF
      interfaces[interfaces.endIndex - 1].endpoints.append(
        USBEndpoint(address: part[at + 2], attributes: part[at + 3], packetSize: size))
    default: break
    }
  }
}
