/// Writes one JSON object on one line. Keys appear in the order in which they were added.
///
/// ```swift
/// var object = JSONObject()
/// object.add("name", "李未可")
/// object.add("protocols", ["com.lawaken.iap2"])
/// print(object.text)   // {"name":"李未可","protocols":["com.lawaken.iap2"]}
/// ```
public struct JSONObject: Equatable, Sendable {
  private var members = ""

  /// Creates an object without members.
  public init() {}

  /// Creates the object that a tree represents; the object is empty if the tree is not an object.
  public init(_ tree: JSON5Value) {
    guard case .object(let members) = tree.content else { return }
    for member in members { add(member.key, raw: JSON5Writer.line(member.value)) }
  }

  /// The object as text.
  public var text: String { "{\(members)}" }

  /// Adds a string.
  public mutating func add(_ key: String, _ value: String) {
    add(key, raw: Self.quoted(value))
  }

  /// Adds a number.
  public mutating func add(_ key: String, _ value: Int) {
    add(key, raw: String(value))
  }

  /// Adds a number. JSON cannot represent NaN or infinity, so these become null.
  public mutating func add(_ key: String, _ value: Double) {
    add(key, raw: value.isFinite ? "\(value)" : "null")
  }

  /// Adds a Boolean.
  public mutating func add(_ key: String, _ value: Bool) {
    add(key, raw: value ? "true" : "false")
  }

  /// Adds a list of strings.
  public mutating func add(_ key: String, _ values: [String]) {
    add(key, raw: "[\(values.map(Self.quoted).joined(separator: ","))]")
  }

  /// Adds an object.
  public mutating func add(_ key: String, _ value: JSONObject) {
    add(key, raw: value.text)
  }

  /// Adds a time in seconds with six decimal places.
  public mutating func add(_ key: String, seconds time: Instant) {
    add(key, raw: time.secondsText)
  }

  /// Adds a member whose value is already JSON.
  public mutating func add(_ key: String, raw value: String) {
    if !members.isEmpty { members += "," }
    members += "\(Self.quoted(key)):\(value)"
  }

  /// The text as a JSON string, in which quotation marks, backslashes and invisible characters are escaped.
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

extension Instant {
  /// The time in seconds with six decimal places, for example "0.250113".
  public var secondsText: String {
    let microseconds = abs(nanoseconds) / 1_000
    let fraction = "\(microseconds % 1_000_000)".zeroPadded(to: 6)
    let sign = nanoseconds < 0 ? "-" : ""
    return "\(sign)\(microseconds / 1_000_000).\(fraction)"
  }
}
