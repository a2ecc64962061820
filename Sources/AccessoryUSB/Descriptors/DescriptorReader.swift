/// A device's descriptors in the order that sysfs uses: the device descriptor, then each complete configuration.
struct USBDescriptors: Equatable {
  var vendor: UInt16
  var product: UInt16
  /// The device's release number, bcdDevice.
  var release: UInt16
  var configurations: [Configuration] = []

  struct Configuration: Equatable {
    /// The number that selects this configuration, bConfigurationValue.
    var value: UInt8
    var interfaces: [USBInterface] = []
  }

  /// Parses untrusted descriptors. Checks each length against the available bytes, and throws an error that gives the
  /// offset of the first wrong length. Skips unknown descriptors. Ignores the descriptors' count fields and counts the
  /// descriptors instead.
  ///
  /// ```swift
  /// let found = try USBDescriptors(reading: bytes)
  /// print(found.configurations[0].interfaces[0].kind)   // FF/F0/00
  /// ```
  init(reading bytes: [UInt8]) throws(DescriptorError) {
    guard bytes.count >= 18 else {
      throw DescriptorError(0, "a device descriptor has 18 bytes, but only \(bytes.count) follow")
    }
    guard bytes[0] == 18, bytes[1] == 1 else {
      throw DescriptorError(0, "no device descriptor: it begins with length \(bytes[0]), type \(bytes[1])")
    }
    (vendor, product, release) = (
      bytes.littleEndian16(at: 8), bytes.littleEndian16(at: 10), bytes.littleEndian16(at: 12)
    )
    var offset = 18
    while offset < bytes.count {
      let (configuration, end) = try Configuration.read(bytes, at: offset)
      configurations.append(configuration)
      offset = end
    }
    if configurations.isEmpty { throw DescriptorError(18, "there is no configuration") }
  }
}

struct DescriptorError: Error, Equatable, CustomStringConvertible {
  let description: String

  init(_ offset: Int, _ problem: String) { description = "byte \(offset): \(problem)" }
}

extension USBDescriptors.Configuration {
  /// Parses one configuration with all its descriptors, and stores the offset of the next configuration in `end`.
  static func read(_ bytes: [UInt8], at start: Int) throws(DescriptorError) -> (Self, end: Int) {
    guard bytes.count - start >= 9, bytes[start] >= 9, bytes[start + 1] == 2 else {
      throw DescriptorError(start, "expected a configuration descriptor here")
    }
    let total = Int(bytes.littleEndian16(at: start + 2))
    guard total >= Int(bytes[start]), total <= bytes.count - start else {
      throw DescriptorError(
        start, "the configuration claims \(total) bytes, but only \(bytes.count - start) follow")
    }
    var configuration = Self(value: bytes[start + 5])
    let end = start + total
    var offset = start + Int(bytes[start])
    while offset < end {
      let length = Int(bytes[offset])
      guard length >= 2, length <= end - offset else {
        throw DescriptorError(offset, "a descriptor claims \(length) bytes, but only \(end - offset) follow")
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
        throw DescriptorError(at, "an interface descriptor has 9 bytes, not \(part.count)")
      }
      interfaces.append(
        USBInterface(
          number: part[at + 2], alternate: part[at + 3],
          kind: USBInterface.Kind(part[at + 5], part[at + 6], part[at + 7]), nameIndex: part[at + 8]))
    case 5:
      guard part.count >= 7 else {
        throw DescriptorError(at, "an endpoint descriptor has 7 bytes, not \(part.count)")
      }
      guard !interfaces.isEmpty else {
        throw DescriptorError(at, "an endpoint descriptor comes before any interface descriptor")
      }
      // The bits from 11 upward hold the number of transactions per microframe, which does not apply to bulk endpoints.
      let size = part.littleEndian16(at: at + 4) & 0x7FF
      interfaces[interfaces.endIndex - 1].endpoints.append(
        USBEndpoint(address: part[at + 2], attributes: part[at + 3], packetSize: size))
    default: break
    }
  }
}
