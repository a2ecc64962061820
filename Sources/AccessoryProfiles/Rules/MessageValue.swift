import AccessoryFormats

/// The value of a control message's parameter as files and commands write it; what it is on the wire depends on the
/// parameter, see ``MessageParameters``.
public indirect enum MessageValue: Equatable, Sendable {
  /// A text: of a text parameter its value, of others a number or bytes in hex; `=name` copies a parameter of the
  /// message that is answered, `=time` is the time.
  case text(String)
  /// A number.
  case number(Int64)
  /// Whether there is such a parameter, or a truth value.
  case boolean(Bool)
  /// Several parameters with this number, or a list of message numbers.
  case list([MessageValue])
  /// The parameters of a group, or bytes as `{ hex: "0a 0b" }`.
  case group([Named<MessageValue>])

  /// Parameters by name or number. The schema has no more of them than that they are an object: what is right depends on
  /// the message.
  public static let parameters: Format<[Named<MessageValue>]> = {
    let named = Format<[Named<MessageValue>]>.named(of: format(depth: 3))
    return Format(shape) { value, place in
      named.read(value, at: place)
    } write: {
      named.write($0)
    }
  }()

  /// What a number of JSON can say exactly.
  private static let range = -(Int64(1) << 53)...(Int64(1) << 53)
  private static let expectation = "a text, a whole number, true or false, a list or an object"

  /// `depth` says how far lists and groups may be nested; no known message needs more than two.
  private static func format(depth: Int) -> Format<MessageValue> {
    Format(shape) { value, place in
      switch value.content {
      case .text(let text): return .text(text)
      case .boolean(let boolean): return .boolean(boolean)
      case .number(let number):
        if let integer = number.integer, range.contains(integer) { return .number(integer) }
      case .array where depth > 0:
        return Format<[MessageValue]>.list(of: format(depth: depth - 1)).read(value, at: place).map(MessageValue.list)
      case .object where depth > 0:
        return Format<[Named<MessageValue>]>.named(of: format(depth: depth - 1)).read(value, at: place)
          .map(MessageValue.group)
      case .null, .array, .object: break
      }
      return place.expected(expectation, value)
    } write: { value in
      value.tree
    }
  }

  private static let shape = Shape.document("parameters")

  private var tree: JSON5Value {
    switch self {
    case .text(let text): .text(text)
    case .number(let number): JSON5Value(.number(JSON5Number(number)))
    case .boolean(let boolean): .boolean(boolean)
    case .list(let values): .array(values.map(\.tree))
    case .group(let members): .object(members.map { JSON5Member($0.name, $0.value.tree) })
    }
  }
}

extension [Named<MessageValue>] {
  /// Reads words of a command line: `battery-percent=50`, or `playback.status=2` in a group.
  public init(words: [String]) throws(OptionError) {
    self = []
    for word in words {
      guard let mark = word.firstIndex(of: "="), mark != word.startIndex else {
        throw OptionError("'\(Excerpt.of(word))': expected NAME=VALUE")
      }
      let path = word[..<mark].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      add(path[...], .text(String(word[word.index(after: mark)...])))
    }
  }

  private mutating func add(_ path: ArraySlice<String>, _ value: MessageValue) {
    guard let key = path.first else { return }
    if path.count == 1 { return append(Named(key, value)) }
    var group: [Named<MessageValue>] = []
    let index = firstIndex { $0.name == key }
    if let index, case .group(let old) = self[index].value { group = old }
    group.add(path.dropFirst(), value)
    if let index { self[index].value = .group(group) } else { append(Named(key, .group(group))) }
  }
}
