/// The values of an object by key, and the place where mistakes in the object are reported.
///
/// The initializer reports unknown keys ("unknown key 'protocol' in accessory, did you mean 'protocols'?") and keys
/// that occur twice. ``Record`` and ``OneOf`` use an object reader to read objects. Rules that involve several keys
/// report problems through the object reader (see ``Record/checked(schema:_:)``).
public struct ObjectReader {
  /// The object's place.
  public let place: Place
  /// Collects the problems.
  public var problems: ProblemCollector { place.problems }
  /// The object as it was read.
  public let tree: JSON5Value
  private let name: String
  private let keys: [String]
  private let members: [String: JSON5Value]
  /// The keys that unknown keys probably mean. Such a key is not also reported as missing.
  private var meant: Set<String> = []

  /// Reads `value` as an object that has these keys. If `value` is not an object, the initializer reports a problem and
  /// returns nil. Messages refer to the object by `name`. `advice` returns an explanation for an unknown key, or nil if
  /// there is none.
  init?(
    _ value: JSON5Value, _ name: String, _ keys: [String], at place: Place,
    advice: (String) -> String? = { _ in nil }
  ) {
    guard case .object(let list) = value.content else {
      place.error(value, "expected an object, found \(value.summary)")
      return nil
    }
    var first: [String: JSON5Member] = [:]
    let shown = place.path.isEmpty ? name : place.path
    for member in list {
      if let earlier = first[member.key] {
        // All parameters in a string have the string's position in the file.
        let first = earlier.keyPosition == member.keyPosition ? "" : ": first at \(earlier.keyPosition.inFile)"
        place.problems.error(at: member.keyPosition, "key '\(Excerpt.of(member.key))' occurs twice in \(shown)\(first)")
        continue
      }
      first[member.key] = member
      if !keys.contains(member.key) {
        let hint = Suggestion.hint(for: member.key, in: keys)
        if let near = Suggestion.nearest(to: member.key, in: keys) { meant.insert(near) }
        let unknown = "unknown key '\(Excerpt.of(member.key))' in \(shown)\(hint)"
        place.problems.error(at: member.keyPosition, advice(member.key) ?? unknown)
      }
    }
    (self.place, self.name, self.keys, tree) = (place, name, keys, value)
    members = first.mapValues(\.value)
  }

  /// Returns the value of a key, or nil if the key is missing.
  public func value(_ key: String) -> JSON5Value? {
    precondition(keys.contains(key), "'\(key)' is not a key of '\(name)'")
    return members[key]
  }

  /// Reports an error if a required key is missing. Returns true if the key is present.
  @discardableResult
  public func require(_ key: String) -> Bool {
    if value(key) != nil { return true }
    if meant.contains(key) {
      problems.incomplete.append(place.path)
    } else {
      error("the key '\(key)' is missing")
    }
    return false
  }

  /// Adds an error about the value of a key or, if the key is missing, about the object.
  public func error(_ key: String, _ message: String) { place.key(key).error(members[key] ?? tree, message) }

  /// Adds an error about the object.
  public func error(_ message: String) { place.error(tree, message) }
}
