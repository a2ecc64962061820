import AccessoryFormats
import IAP2

/// The secrets found in one or more files, and their replacements. A replacement has the same length as its secret and
/// is used in all files.
public struct SecretNames: Sendable {
  /// The number of replaced secrets of one kind.
  public struct Count: Equatable, Sendable {
    /// The number of distinct secrets.
    public var values = 0
    /// How many times secrets of this kind were replaced.
    public var places = 0
  }

  /// The kinds of secrets that are not replaced.
  public let kept: Set<SecretKind>
  /// How many secrets were replaced, by kind.
  public private(set) var counts: [SecretKind: Count] = [:]
  private var names: [[UInt8]: (kind: SecretKind, name: [UInt8])] = [:]
  /// The secrets and their kinds, not including the hex forms of the secrets.
  private var values: [[UInt8]: SecretKind] = [:]
  private var replacements: Set<[UInt8]> = []
  /// The secrets, by their first two bytes. If several secrets begin with the same two bytes, longer secrets come
  /// first.
  private var index: [UInt16: [[UInt8]]] = [:]

  /// Creates an empty set of secrets.
  public init(keeping kept: Set<SecretKind> = []) { self.kept = kept }

  /// Adds a secret. A single byte is ignored because it reveals nothing.
  mutating func add(_ value: some Collection<UInt8>, _ kind: SecretKind) {
    var value = [UInt8](value)
    // An address in text form is the same secret as the address in bytes.
    if value.count == 17, kind == .address, let bytes = Self.address(value) { value = bytes }
    guard value.count > 1, !kept.contains(kind), names[value] == nil, value.contains(where: { $0 != 0 }) else { return }
    counts[kind, default: Count()].values += 1
    let name = Self.name(counts[kind, default: Count()].values, kind, for: value)
    names[value] = (kind, name)
    values[value] = kind
    replacements.insert(name)
    index(value)
    // Text may contain the secret in hex, so the hex forms are added as well.
    guard value.count >= 4 else { return }
    for separator in ["", " ", ":", "-"] {
      for isUpper in [false, true] {
        let (shown, renamed) = (Self.hex(value, separator, isUpper), Self.hex(name, separator, isUpper))
        guard names[shown] == nil else { continue }
        names[shown] = (kind, renamed)
        replacements.insert(renamed)
        index(shown)
      }
    }
  }

  private mutating func index(_ value: [UInt8]) {
    let key = UInt16(value[0]) << 8 | UInt16(value[1])
    let place = index[key]?.firstIndex { $0.count < value.count }
    index[key, default: []].insert(value, at: place ?? index[key]?.count ?? 0)
  }

  /// Returns the replacement for a value, or nil if the value is not a secret or its kind is kept.
  mutating func name(of value: [UInt8]) -> [UInt8]? {
    guard let found = names[value] else {
      // Addresses may be written with uppercase or lowercase letters.
      guard value.count == 17, let bytes = Self.address(value), let name = names[bytes]?.name else { return nil }
      return Self.hex(name, String(decoding: [value[2]], as: UTF8.self), true)
    }
    counts[found.kind, default: Count()].places += 1
    return found.name
  }

  private static func hex(_ bytes: [UInt8], _ separator: String, _ isUpper: Bool) -> [UInt8] {
    let text = bytes.map { byte in Hex.number(UInt(byte), digits: 2, uppercase: isUpper) }.joined(separator: separator)
    return Array(text.utf8)
  }

  /// Parses an address such as `3C:06:30:1B:2A:9E`. Returns nil for any other text.
  static func address(_ text: some Collection<UInt8>) -> [UInt8]? {
    let parts = text.split(omittingEmptySubsequences: false) { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "-") }
    let bytes = parts.compactMap { part in
      part.count == 2 ? UInt8(String(decoding: Array(part), as: UTF8.self), radix: 16) : nil
    }
    return parts.count == 6 && bytes.count == 6 ? bytes : nil
  }

  /// Returns a replacement of the same length, such as "serial-1------". An address is replaced with a locally
  /// administered one.
  private static func name(_ number: Int, _ kind: SecretKind, for value: [UInt8]) -> [UInt8] {
    if kind == .address, value.count == 6 {
      return [0x02, 0, 0, 0, UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
    }
    let whole = Array("\(kind.rawValue)-\(number)".utf8)
    if whole.count <= value.count {
      return whole + [UInt8](repeating: UInt8(ascii: "-"), count: value.count - whole.count)
    }
    // A value that is too short for the kind is replaced with the number, written in base 26.
    var rest = number
    var letters: [UInt8] = []
    for _ in 0..<value.count {
      letters.append(UInt8(ascii: "a") + UInt8(rest % 26))
      rest /= 26
    }
    return letters.reversed()
  }

  // MARK: Searching

  /// Returns the kind of the first secret in `found` that was not replaced, or nil if all of them were replaced.
  func first(leftIn found: SecretNames) -> SecretKind? {
    let left = found.values.filter { !replacements.contains($0.key) && $0.key.contains { $0 != UInt8(ascii: "x") } }
    return SecretKind.allCases.first { left.values.contains($0) }
  }

  func areAbsent(from bytes: [UInt8]) -> Bool {
    var (names, bytes) = (self, bytes)
    // In a file that was redacted before, the secrets are replacements themselves.
    names.index = index.mapValues { values in values.filter { !replacements.contains($0) } }
    return !names.replace(in: &bytes, isText: false)
  }

  /// Replaces every secret in the bytes, and returns whether there were any. In text (`isText`), short secrets are also
  /// replaced if they are whole words.
  mutating func replace(in bytes: inout [UInt8], isText: Bool) -> Bool {
    guard !index.isEmpty, bytes.count > 1 else { return false }
    var isChanged = false
    var place = 0
    while place + 1 < bytes.count {
      let key = UInt16(bytes[place]) << 8 | UInt16(bytes[place + 1])
      guard let value = index[key]?.first(where: { matches($0, bytes, place, isText) }), let name = name(of: value)
      else {
        place += 1
        continue
      }
      bytes.replaceSubrange(place..<place + value.count, with: name)
      isChanged = true
      place += value.count
    }
    return isChanged
  }

  /// If the bytes are cut off within a secret, replaces the part of the secret that is present.
  mutating func replaceTail(of bytes: inout [UInt8]) {
    for count in stride(from: bytes.count, through: 3, by: -1) {
      let tail = bytes.suffix(count)
      let key = UInt16(tail[tail.startIndex]) << 8 | UInt16(tail[tail.startIndex + 1])
      // If several secrets begin with these bytes, the longest is used. Among secrets of equal length, the one found
      // first is used.
      guard let value = index[key]?.first(where: { $0.count > count && $0.starts(with: tail) }),
        let name = name(of: value)
      else { continue }
      return bytes.replaceSubrange(bytes.count - count..<bytes.count, with: name.prefix(count))
    }
  }

  private func matches(_ value: [UInt8], _ bytes: [UInt8], _ place: Int, _ isText: Bool) -> Bool {
    let end = place + value.count
    guard end <= bytes.count, bytes[place..<end].elementsEqual(value) else { return false }
    if value.count >= 4 { return true }
    guard isText else { return false }
    return (place == 0 || !Self.isWord(bytes[place - 1])) && (end == bytes.count || !Self.isWord(bytes[end]))
  }

  static func isWord(_ byte: UInt8) -> Bool {
    byte >= 0x80 || Hex.digit(byte) != nil || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
  }
}

/// The kinds of secrets that ``Redaction`` replaces.
public enum SecretKind: String, CaseIterable, Sendable {
  /// Serial numbers and device identifiers.
  case serial
  /// MAC addresses and pairing keys.
  case address
  /// Names of accessories, devices and people.
  case name
  /// Certificates and signatures.
  case certificate
  /// Network names and passphrases.
  case wifi
  /// Geographic positions.
  case location
  /// Other text, and values that are not described in the message catalog.
  case other
  /// Data that apps and accessories exchange.
  case payload
}

/// A parameter in a control message: its position in the message, and its entry in the catalog.
struct ParameterPlace {
  let message: UInt16
  /// The numbers of the enclosing groups, followed by the parameter's own number.
  let path: [UInt16]
  let entry: MessageCatalog.ParameterEntry?

  /// Returns what kind of secret this parameter is, or nil if its value is not secret.
  ///
  /// Values known to be harmless are kept. All other values of three or more bytes are replaced, so parameters that are
  /// missing from the catalog cannot reveal anything.
  func kind(count: Int) -> SecretKind? {
    switch message {
    case 0xAA01, 0xAA03, 0xAA06: return .certificate
    case 0xAA02, 0x1D03, 0x6800, 0x4E0A, 0xEA02: return nil
    case 0x5701, 0x5703:
      if let entry, entry.kind != .utf8 { return nil }
      return .wifi
    case 0x6801, 0x6802: return entry?.kind == .blob ? .payload : nil
    case 0xFFFB: return .location
    default: break
    }
    guard let entry else { return count >= 3 ? .other : nil }
    switch entry.kind {
    case .u8, .u16, .u32, .u64, .i8, .i16, .number, .list, .none, .group: return nil
    case .utf8, .blob: break
    }
    let name = entry.name
    if name.contains("MAC") || name.contains("link key") || name == "Bluetooth id" { return .address }
    if name.contains("serial number") || name.hasSuffix("uid") || name.hasSuffix("UUID") || name == "USB id" {
      return .serial
    }
    if message == 0x1D01 || message == 0x1D06 {
      // The other values in an identification, such as protocols and versions, are the same for every unit of a
      // product.
      return path == [0] ? .name : nil
    }
    return name.hasSuffix("name") ? .name : .other
  }
}
