/// A value that can be a member of a ``JSONObject``.
public protocol JSONPart {
  /// The value as JSON on one line.
  var jsonText: String { get }
}

/// Writes a JSON object on a single line. Keys appear in the order that they were added. Members with the value nil are
/// omitted.
///
/// ```swift
/// let object: JSONObject = ["name": "李未可", "protocols": ["com.lawaken.iap2"], "signal": Int?.none]
/// print(object.text)   // {"name":"李未可","protocols":["com.lawaken.iap2"]}
/// ```
public struct JSONObject: Equatable, Sendable, JSONPart, ExpressibleByDictionaryLiteral {
  private var members = ""

  /// Creates an object with members.
  public init(dictionaryLiteral members: (String, (any JSONPart)?)...) {
    for (key, value) in members { add(key, value) }
  }

  /// Creates an object from a dictionary literal.
  public init(_ members: JSONObject) { self = members }

  /// Creates an object from a tree. If the tree is not an object, the result is empty.
  public init(_ tree: JSON5Value) {
    guard case .object(let members) = tree.content else { return }
    for member in members { add(member.key, member.value) }
  }

  /// The object as text.
  public var text: String { "{\(members)}" }

  /// The object as text.
  public var jsonText: String { text }

  /// Adds a member unless the member's value is nil.
  public mutating func add(_ key: String, _ value: (any JSONPart)?) {
    guard let value else { return }
    if !members.isEmpty { members += "," }
    members += "\(Self.quoted(key)):\(value.jsonText)"
  }

  /// Adds the members of another object.
  public mutating func add(_ other: JSONObject) {
    members += (members.isEmpty || other.members.isEmpty ? "" : ",") + other.members
  }

  /// Returns the text as a JSON string. Quotation marks, backslashes and invisible characters are escaped.
  public static func quoted(_ text: String) -> String {
    var out = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": out += "\\\""
      case "\\": out += "\\\\"
      case "\n": out += "\\n"
      case "\r": out += "\\r"
      case "\t": out += "\\t"
      case _ where scalar.isUnprintable:
        for unit in String(scalar).utf16 { out += "\\u" + Hex.number(UInt32(unit), digits: 4, uppercase: false) }
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out + "\""
  }
}

/// Text that is already JSON.
public struct RawJSON: JSONPart {
  /// The text.
  public let jsonText: String

  /// Creates a value from its JSON.
  public init(_ json: String) { jsonText = json }
}

extension JSON5Value: JSONPart {
  /// The value as JSON on one line.
  public var jsonText: String { JSON5Writer.line(self) }
}

extension String: JSONPart {
  /// The text as a JSON string.
  public var jsonText: String { JSONObject.quoted(self) }
}

extension Bool: JSONPart {
  /// The value as JSON.
  public var jsonText: String { description }
}

extension FixedWidthInteger {
  /// The number as JSON.
  public var jsonText: String { description }
}

extension Int: JSONPart {}
extension Int64: JSONPart {}
extension UInt64: JSONPart {}

extension Double: JSONPart {
  /// The number as JSON, or null for NaN and infinity, which JSON cannot represent.
  public var jsonText: String { isFinite ? description : "null" }
}

extension Array: JSONPart where Element: JSONPart {
  /// The list as JSON.
  public var jsonText: String { "[\(map(\.jsonText).joined(separator: ","))]" }
}

extension Instant: JSONPart {
  /// The time in seconds with six decimal places.
  public var jsonText: String { secondsText }
}

extension Instant {
  /// The time in seconds with six decimal places, for example "0.250113".
  public var secondsText: String {
    let microseconds = abs(nanoseconds) / 1_000
    let fraction = "\(microseconds % 1_000_000)".zeroPadded(to: 6)
    let sign = nanoseconds < 0 ? "-" : ""
    return "\(sign)\(microseconds / 1_000_000).\(fraction)"
  }
}
