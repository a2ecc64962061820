import AccessoryCore

/// A value of a property list. A library makes it from a ``PropertyListFile``: libplist in easim, Foundation in apps.
public enum PropertyList: Equatable, Sendable {
  /// A string.
  case text(String)
  /// A list of values.
  case array([PropertyList])
  /// Values by key.
  case dictionary([String: PropertyList])
  /// Any other value, by its kind with an article: "a number".
  case other(String)

  /// The value of a key, when this is a dictionary that has it.
  public subscript(key: String) -> PropertyList? {
    guard case .dictionary(let members) = self else { return nil }
    return members[key]
  }

  /// What the value is, for messages.
  public var summary: String {
    switch self {
    case .text(let text): "the string '\(Excerpt.of(text))'"
    case .array: "an array"
    case .dictionary: "a dictionary"
    case .other(let kind): kind
    }
  }

  /// The strings of an array. A single string counts as an array of one, as it does for Apple's systems.
  ///
  /// - Parameter place: the file and the key, for messages.
  public func texts(of place: String) throws(SourceProblem) -> [String] {
    switch self {
    case .text(let text): return [text]
    case .array(let values):
      var texts: [String] = []
      for value in values {
        guard case .text(let text) = value else {
          throw SourceProblem(at: nil, path: place, "expected a string in the array, found \(value.summary)")
        }
        texts.append(text)
      }
      return texts
    case .dictionary, .other:
      throw SourceProblem(at: nil, path: place, "expected an array of strings, found \(summary)")
    }
  }
}
