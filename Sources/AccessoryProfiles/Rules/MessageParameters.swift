import AccessoryCore
import AccessoryFormats
import IAP2

/// Converts parameters from the form used in files to the form sent on the wire, based on the message catalog.
public struct MessageParameters {
  private let message: String
  /// The known parameters of the message or, for the parameters in a group, of the group.
  private var known: [MessageCatalog.ParameterEntry]
  private let asked: MessageID?

  /// Prepares to convert the parameters of `message`. `asking` is the message that `message` answers, if any.
  public init(of message: MessageID, answering asking: MessageID? = nil) {
    self.message = message.description
    known = MessageCatalog.entry(message)?.parameters ?? []
    asked = asking
  }

  /// Returns the object that converts the parameters in a group.
  private func inside(_ group: MessageCatalog.ParameterEntry?) -> MessageParameters {
    var inside = self
    inside.known = group?.group ?? []
    return inside
  }

  func conditions(_ members: [Named<MessageValue>]) throws(OptionError) -> [MessageRule.Condition] {
    var conditions: [MessageRule.Condition] = []
    for member in members {
      let (id, entry) = try find(member.name)
      if member.value == .boolean(true) {
        conditions.append(.init(id, .present))
      } else if case .group(let inner) = member.value, Self.hex(inner) == nil {
        conditions.append(.init(id, .group(try inside(entry).conditions(inner))))
      } else {
        for element in try elements([member]) {
          guard case .bytes(let bytes) = element.value else {
            throw OptionError("'\(member.name)': the condition needs a value")
          }
          conditions.append(.init(id, .bytes(bytes)))
        }
      }
    }
    return conditions
  }

  /// Returns the parameters as they are sent on the wire.
  public func elements(_ members: [Named<MessageValue>]) throws(OptionError) -> [MessageRule.Element] {
    var elements: [MessageRule.Element] = []
    for member in members {
      let (id, entry) = try find(member.name)
      if case .list(let values) = member.value, entry?.kind != .list {
        for value in values { elements.append(.init(id, try self.value(value, entry, member.name))) }
      } else {
        elements.append(.init(id, try value(member.value, entry, member.name)))
      }
    }
    return elements
  }

  /// Finds a parameter by number or name. Names may be written with spaces or dashes, in upper or lower case.
  private func find(_ key: String) throws(OptionError) -> (UInt16, MessageCatalog.ParameterEntry?) {
    if let id = UInt16(key) { return (id, known.first { $0.id == id }) }
    let wanted = Self.plain(key)
    if let entry = known.first(where: { !$0.name.isEmpty && Self.plain($0.name) == wanted }) {
      return (entry.id, entry)
    }
    let names = known.map(\.name).filter { !$0.isEmpty }
    let hint = names.isEmpty ? ": none of them has a name, so write a number" : Suggestion.hint(for: key, in: names)
    throw OptionError("\(message) has no parameter '\(Excerpt.of(key))'\(hint)")
  }

  private static func plain(_ name: String) -> String {
    String(name.lowercased().map { $0 == "-" ? " " : $0 })
  }

  private static func hex(_ members: [Named<MessageValue>]) -> String? {
    guard members.count == 1, members[0].name == "hex", case .text(let text) = members[0].value else { return nil }
    return text
  }

  private func value(
    _ value: MessageValue, _ entry: MessageCatalog.ParameterEntry?, _ name: String
  ) throws(OptionError) -> MessageRule.Element.Value {
    let kind = entry?.kind
    func wrong(_ expected: String) -> OptionError {
      OptionError("'\(Excerpt.of(name))' of \(message): expected \(expected)")
    }
    switch value {
    case .group(let members):
      if let hex = Self.hex(members) { return .bytes(try bytes(hex, name)) }
      guard kind == nil || kind == .group else { throw wrong(Self.expected(kind)) }
      return .group(try inside(entry).elements(members))
    case .list(let values):
      var bytes: [UInt8] = []
      for value in values { bytes += try messageNumber(value, name) }
      return .bytes(bytes)
    case .boolean(let isOn):
      if kind == .u8 { return .bytes([isOn ? 1 : 0]) }
      guard isOn, kind == nil || kind == MessageCatalog.ValueKind.none else { throw wrong(Self.expected(kind)) }
      return .bytes([])
    case .number(let number):
      guard let bytes = Self.bytes(of: number, kind) else { throw wrong(Self.expected(kind)) }
      return .bytes(bytes)
    case .text("=time"): return .time
    case .text(let text) where text.hasPrefix("="):
      guard let asked else { throw OptionError("'\(text)': only an answer copies parameters of a message ('on')") }
      return .copy(try MessageParameters(of: asked).find(String(text.dropFirst())).0)
    case .text(let text):
      switch kind {
      case .utf8: return .bytes(Array(text.utf8) + [0])
      case .u8, .u16, .u32, .u64, .i8, .i16:
        guard let bytes = Int64(text).flatMap({ Self.bytes(of: $0, kind) }) else { throw wrong(Self.expected(kind)) }
        return .bytes(bytes)
      case .list:
        var bytes: [UInt8] = []
        for word in text.split(separator: " ") { bytes += try messageNumber(.text(String(word)), name) }
        return .bytes(bytes)
      case .blob, .number, .group, .some(.none), nil: return .bytes(try bytes(text, name))
      }
    }
  }

  private func bytes(_ hex: String, _ name: String) throws(OptionError) -> [UInt8] {
    do { return try Hex.parse(hex) } catch { throw OptionError("'\(Excerpt.of(name))' of \(message): \(error)") }
  }

  private func messageNumber(_ value: MessageValue, _ name: String) throws(OptionError) -> [UInt8] {
    let id: UInt16
    switch value {
    case .number(let number) where (0...0xFFFF).contains(number): id = UInt16(number)
    case .text(let text): id = try MessageID(written: text).rawValue
    default: throw OptionError("'\(Excerpt.of(name))' of \(message): expected messages by number or name")
    }
    return [UInt8(id >> 8), UInt8(truncatingIfNeeded: id)]
  }

  /// The width in bytes of a number of this kind, and its range, or nil if the kind is not a number or has any width.
  private static func integers(_ kind: MessageCatalog.ValueKind?) -> (width: Int, range: ClosedRange<Int64>)? {
    switch kind {
    case .u8: (1, 0...0xFF)
    case .u16: (2, 0...0xFFFF)
    case .u32: (4, 0...0xFFFF_FFFF)
    case .u64: (8, 0...Int64.max)
    case .i8: (1, -0x80...0x7F)
    case .i16: (2, -0x8000...0x7FFF)
    case .utf8, .list, .group, .some(.none), .blob, .number, nil: nil
    }
  }

  /// Encodes a number. Returns nil if the number does not fit or the width is unknown.
  private static func bytes(of number: Int64, _ kind: MessageCatalog.ValueKind?) -> [UInt8]? {
    guard let (width, range) = integers(kind), range.contains(number) else { return nil }
    return (0..<width).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * Int64($0))) }
  }

  private static func expected(_ kind: MessageCatalog.ValueKind?) -> String {
    if let range = integers(kind)?.range {
      return "a number from \(range.lowerBound)" + (range.upperBound == .max ? "" : " to \(range.upperBound)")
    }
    return switch kind {
    case .utf8: "a text"
    case .list: "a list of messages"
    case .group: "an object with its parameters"
    case .some(.none): "true, because it has no value"
    default: "bytes in hex, such as \"00 2a\""
    }
  }
}

extension MessageID {
  /// Reads the name of a message, or its number as four hex digits with or without 0x.
  public init(written text: String) throws(OptionError) {
    if let entry = MessageCatalog.named(text) {
      self = entry.id
      return
    }
    let digits = text.lowercased().hasPrefix("0x") ? String(text.dropFirst(2)) : text
    if digits.count <= 4, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }), let id = UInt16(digits, radix: 16) {
      self.init(rawValue: id)
      return
    }
    throw OptionError(Self.complaint(about: text))
  }

  static func complaint(about name: String) -> String {
    let near = Suggestion.nearHint(for: name, in: MessageCatalog.all.map(\.name).filter { !$0.isEmpty })
    let advice = near.isEmpty ? "; write a message without a known name as its number, such as 0xAE01" : near
    return "there is no message '\(Excerpt.of(name))'\(advice)"
  }
}
