// Reexported because instants, hex and byte queues from WireBasics appear in this module's public interface.
@_exported import WireBasics

/// Defines in one place how a value is written in files and on the command line.
///
/// A format is a value that describes a type. Everything else is derived from the format: the reader (which reports all
/// mistakes at once, each with its position and the nearest valid word), the writer (which writes only what differs
/// from the defaults), the JSON Schema, the tables in the documentation, help, completion, and the text form
/// `name,key=value`. To define a format, write the type and its ``Record``, as in this example:
///
/// ```swift
/// struct Lamp: Equatable {
///   enum Color: String, CaseIterable { case red, green }
///   var color = Color.red
///   var brightness: UInt8 = 50
///   var fading: Duration?
///
///   static let format = Record("lamp", "a lamp at the door", Lamp()) {
///     Field("color", \.color, .choice, "its color")
///     Field("brightness", \.brightness, .integer(0...100), "in per cent")
///     Field("fading", \.fading, .optional(.duration(.zero ... .seconds(10))), "how long a change takes")
///   }
/// }
///
/// let lamp = try Lamp.format.read("{ color: 'green', fading: '2s' }", file: "lamp.json5")
/// Lamp.format.tree(lamp)                  // { color: "green", fading: "2s" }
/// Lamp.format.shape.schema(id: "lamp.schema.json")
/// Lamp.format.shape.table                 // Markdown: key, value, default, meaning
/// ```
///
/// A default is specified only once, as the default value of the type's property. Rules that involve several keys are
/// written as code. See ``Record/checked(_:)``. A type with several kinds, each with different keys, is an enum
/// described by a ``OneOf``.
public struct Format<Value: Equatable & Sendable>: Sendable {
  /// The shape of the format's values.
  public let shape: Shape
  /// Reads a value. Missing keys keep their values from the default, if there is one. Reports a problem and returns nil
  /// if the value is invalid.
  let decode: @Sendable (JSON5Value, Value?, Place) -> Value?
  /// Writes a value, or returns nil if the value equals the given default.
  let encode: @Sendable (Value, Value?) -> JSON5Value?

  init(
    _ shape: Shape, decode: @escaping @Sendable (JSON5Value, Value?, Place) -> Value?,
    encode: @escaping @Sendable (Value, Value?) -> JSON5Value?
  ) {
    self.shape = shape
    self.decode = decode
    self.encode = encode
  }

  /// Creates a format from custom code. If the value is invalid, `read` must report a problem and return nil.
  public init(
    _ shape: Shape, read: @escaping @Sendable (JSON5Value, Place) -> Value?,
    write: @escaping @Sendable (Value) -> JSON5Value
  ) {
    self.init(shape, decode: { value, _, place in read(value, place) }) { value, standard in
      value == standard ? nil : write(value)
    }
  }

  /// Reads one value.
  public func read(_ value: JSON5Value, at place: Place) -> Value? { decode(value, nil, place) }

  /// Reads a word from the command line. The error describes the mistake but leaves it to the caller to quote the word.
  public func read(word: String) throws(OptionError) -> Value {
    let problems = ProblemCollector(ofOneWord: true)
    let read = decode(JSON5Value(shape.content(of: word)), nil, Place(problems))
    if let read, problems.errorCount == 0 { return read }
    throw OptionError(problems.problems.map(\.description).joined(separator: "; "))
  }

  /// Returns the value as a word for the command line, or nil if the value is omitted on the command line.
  public func word(of value: Value) -> String? { encode(value, nil)?.word }

  /// Writes a single value, even if it equals the default.
  public func write(_ value: Value) -> JSON5Value { encode(value, nil) ?? .null }

  /// Converts the format to another type. The conversion must always succeed.
  public func map<Other>(
    _ other: @escaping @Sendable (Value) -> Other, back: @escaping @Sendable (Other) -> Value
  ) -> Format<Other> {
    Format<Other>(shape, decode: { value, now, place in decode(value, now.map(back), place).map(other) }) {
      encode(back($0), $1.map(back))
    }
  }

  /// Converts the format to another type. `complaint` is the message for values that cannot be converted.
  public func map<Other>(
    _ other: @escaping @Sendable (Value) -> Other?, otherwise complaint: @escaping @Sendable () -> String,
    back: @escaping @Sendable (Other) -> Value
  ) -> Format<Other> {
    Format<Other>(shape) { value, now, place in
      let errors = place.problems.errorCount
      guard let read = decode(value, now.map(back), place) else { return nil }
      if let made = other(read) { return made }
      // Mistakes inside the value have already been reported.
      if place.problems.errorCount == errors { place.error(value, complaint()) }
      return nil
    } encode: {
      encode(back($0), $1.map(back))
    }
  }
}

/// A value in an object, with its name.
public struct Named<Value: Equatable & Sendable>: Equatable, Sendable {
  /// The value's name in the object.
  public var name: String
  /// The value.
  public var value: Value

  /// Creates a named value.
  public init(_ name: String, _ value: Value) {
    self.name = name
    self.value = value
  }
}

/// Where a value is being read. A place consists of the path for messages and the collector for problems.
public struct Place {
  private let base: String
  /// The keys and indices that lead from ``base`` to the value. Formatting a path takes longer than reading a number,
  /// so a path is formatted only when it is shown.
  private var indices: (outer: Int, inner: Int?)?
  /// Collects the problems.
  public let problems: ProblemCollector

  /// Creates a place from a path and a collector.
  public init(_ path: String, _ problems: ProblemCollector) {
    base = path
    self.problems = problems
  }

  /// The path of the value, or an empty string for the whole document.
  public var path: String {
    guard let indices else { return base }
    return "\(base)[\(indices.outer)]" + (indices.inner.map { "[\($0)]" } ?? "")
  }

  /// Creates the place of the whole document.
  public init(_ problems: ProblemCollector) { self.init("", problems) }

  /// Returns the place of a key in the object at this place.
  public func key(_ key: String) -> Place {
    let path = path
    return Place(path.isEmpty ? key : "\(path).\(key)", problems)
  }

  /// Returns the place of an element in the list at this place.
  public func element(_ index: Int) -> Place {
    var place = indices?.inner == nil ? self : Place(path, problems)
    place.indices = place.indices.map { ($0.outer, index) } ?? (index, nil)
    return place
  }

  /// Reports an error about the value at this place.
  public func error(_ value: JSON5Value, _ message: String) {
    problems.error(at: value.position, path: path, message)
  }

  /// Warns that the value at this place is probably not what the user intended.
  public func warning(_ value: JSON5Value, _ message: String) {
    problems.add(SourceProblem(.warning, at: value.position, path: path, message))
  }

  /// Reports that the value should have been `what`, and returns nil.
  public func expected<Value>(_ what: String, _ value: JSON5Value) -> Value? {
    error(value, problems.isOfOneWord ? "expected \(what)" : "expected \(what), found \(value.summary)")
    return nil
  }
}
