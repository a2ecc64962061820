import AccessoryFormats

/// Describes the options of a command. An option has a property that it sets, a format for its value, and one line of
/// help. The property's initial value is the default.
///
/// ```swift
/// struct LampOptions: CommandOptions {
///   var brightness = 50
///   var color: Lamp.Color?
///   var shared = SharedOptions()
///
///   static let options: [Option<Self>] = [
///     Option("--brightness", \.brightness, .integer(0...100), "per cent of full power"),
///     Option("--color", \.color, .optional(.choice), "its color"),
///     .timeout, .json,
///   ]
/// }
/// ```
///
/// The parser, the help text and completion all use this description. ``rules`` restricts which options can be
/// combined.
protocol CommandOptions: Sendable {
  init()
  var shared: SharedOptions { get set }
  static var operands: [Operand<Self>] { get }
  static var options: [Option<Self>] { get }
  static var rules: [OptionRule] { get }
}

extension CommandOptions {
  static var operands: [Operand<Self>] { [] }
  static var rules: [OptionRule] { [] }

  static var operandSpecs: [OperandSpec] { operands.map(\.spec) }
  static var optionSpecs: [OptionSpec] { options.map(\.spec) }
}

struct Option<Root: CommandOptions>: Sendable {
  var spec: OptionSpec
  /// Stores the value, which is an empty string for an option without a value.
  let take: @Sendable (String, inout Root) throws -> Void

  init(_ name: String, short: String? = nil, _ path: Property<Root, Bool>, _ summary: String) {
    spec = OptionSpec(name: name, short: short, summary: summary)
    take = { _, root in root[keyPath: path] = true }
  }

  /// Creates an option with a value.
  ///
  /// - Parameters:
  ///   - placeholder: the name of the value in help, if the format has none.
  ///   - standard: the default shown in help, if it is not the property's initial value.
  init<Value>(
    _ name: String, _ path: Property<Root, Value>, _ format: Format<Value>, as placeholder: String? = nil,
    _ summary: String, standard: String? = nil
  ) {
    spec = OptionSpec(
      name: name, value: placeholder ?? format.shape.placeholder, summary: summary,
      standard: standard ?? format.word(of: Root()[keyPath: path]), choices: format.shape.onlyChoices)
    take = { word, root in root[keyPath: path] = try format.read(word: word) }
  }

  /// Creates an option that can be given several times; its values are stored in an array.
  init<Value>(
    each name: String, _ path: Property<Root, [Value]>, _ format: Format<Value>, as placeholder: String? = nil,
    _ summary: String
  ) {
    spec = OptionSpec(
      name: name, value: placeholder ?? format.shape.placeholder, summary: summary,
      choices: format.shape.onlyChoices, isRepeatable: true)
    take = { word, root in root[keyPath: path].append(try format.read(word: word)) }
  }

  /// Creates an option whose value `read` parses. If `read` throws an `OptionError`, the error is reported for this
  /// option's value; any other error is reported for the whole command line.
  init<Value>(
    _ name: String, _ path: Property<Root, Value>, as placeholder: String, _ summary: String,
    isRepeatable: Bool = false, reading read: @escaping @Sendable (inout Value, String) throws -> Void
  ) {
    spec = OptionSpec(name: name, value: placeholder, summary: summary, isRepeatable: isRepeatable)
    take = { word, root in try read(&root[keyPath: path], word) }
  }

  func described(_ summary: String) -> Option {
    var option = self
    option.spec.summary = summary
    return option
  }

  func heading(_ title: String) -> Option {
    var option = self
    option.spec.group = title
    return option
  }

  func standard(_ text: String?) -> Option {
    var option = self
    option.spec.standard = text
    return option
  }
}

/// One or more words that are neither options nor values of options.
struct Operand<Root: CommandOptions>: Sendable {
  let spec: OperandSpec
  let take: @Sendable (String, inout Root) throws -> Void

  /// Creates a required operand. Completion offers `offered`, or the words of the format if `offered` is nil.
  init<Value>(
    _ path: Property<Root, Value>, _ format: Format<Value>, as placeholder: String? = nil, offered: [String]? = nil
  ) {
    spec = OperandSpec(
      placeholder: placeholder ?? format.shape.placeholder, count: 1...1, choices: offered ?? format.shape.onlyChoices)
    take = { word, root in root[keyPath: path] = try format.read(word: word) }
  }

  init<Value>(optional placeholder: String, _ path: Property<Root, Value>, _ format: Format<Value>) {
    self.init(placeholder: "[\(placeholder)]", 0...1, path) { $0 = try format.read(word: $1) }
  }

  init<Value>(
    each placeholder: String, _ count: ClosedRange<Int>, _ path: Property<Root, [Value]>, _ format: Format<Value>
  ) {
    self.init(placeholder: placeholder, count, path) { $0.append(try format.read(word: $1)) }
  }

  /// Creates operands that `read` parses. If `read` throws an `OptionError`, the error is reported for the word; any
  /// other error is reported for the whole command line.
  init<Value>(
    placeholder: String, _ count: ClosedRange<Int>, _ path: Property<Root, Value>,
    reading read: @escaping @Sendable (inout Value, String) throws -> Void
  ) {
    spec = OperandSpec(placeholder: placeholder, count: count)
    take = { word, root in try read(&root[keyPath: path], word) }
  }
}

enum OptionRule: Sendable {
  /// The user may give at most one of these options. The reason appears in the error message.
  case exclusive([String], because: String? = nil)
  case needs(String, String)

  var names: [String] {
    switch self {
    case .exclusive(let names, _): names
    case .needs(let name, let other): [name, other]
    }
  }

  /// Returns an error message for the command line, or nil if it is valid.
  func complaint(given: Set<String>) -> String? {
    switch self {
    case .exclusive(let names, let reason):
      let both = names.filter(given.contains)
      guard both.count > 1 else { return nil }
      return "\(both.joined(separator: " and ")) cannot be combined" + (reason.map { ": \($0)" } ?? "")
    case .needs(let name, let other):
      return given.contains(name) && !given.contains(other) ? "\(name) needs \(other)" : nil
    }
  }
}

extension Shape {
  /// The accepted words, or an empty array if any other word is accepted as well.
  fileprivate var onlyChoices: [String] {
    if case .words(let words) = self { words } else { [] }
  }
}
