import Foundation

/// A JSON value as read by Foundation. This reader shares no code with the writer under test.
public enum StrictJSON: Equatable, Sendable {
  case null
  case truth(Bool)
  case number(Double)
  case text(String)
  case list([StrictJSON])
  case object([String: StrictJSON])

  /// Reads one value. Text that is not JSON, or that contains more than one value, is an error.
  public init(reading text: String) throws {
    self = try JSONDecoder().decode(StrictJSON.self, from: Data(text.utf8))
  }

  /// The object's member with this key, or nil if there is none.
  public subscript(key: String) -> StrictJSON? {
    if case .object(let members) = self { members[key] } else { nil }
  }

  /// The object's keys, or an empty set if the value is not an object.
  public var keys: Set<String> {
    if case .object(let members) = self { Set(members.keys) } else { [] }
  }

  /// The value if it is a string, or nil if it is not.
  public var text: String? {
    if case .text(let text) = self { text } else { nil }
  }

  /// The value if it is a number, or nil if it is not.
  public var number: Double? {
    if case .number(let number) = self { number } else { nil }
  }
}

extension StrictJSON: Decodable {
  /// Tries the JSON types one by one. The decoder accepts a value only as its own type.
  public init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      self = .null
    } else if let truth = try? value.decode(Bool.self) {
      self = .truth(truth)
    } else if let number = try? value.decode(Double.self) {
      self = .number(number)
    } else if let text = try? value.decode(String.self) {
      self = .text(text)
    } else if let list = try? value.decode([StrictJSON].self) {
      self = .list(list)
    } else {
      self = .object(try value.decode([String: StrictJSON].self))
    }
  }
}
