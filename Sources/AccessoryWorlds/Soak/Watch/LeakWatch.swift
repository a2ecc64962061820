/// Remembers objects without holding them, to say at the end which of them somebody still holds.
struct LeakWatch {
  private struct Entry {
    let name: StaticString
    let number: Int
    weak var object: AnyObject?
  }

  private var entries: [Entry] = []

  /// `number` says which one of its kind it is: a cable, an accessory, a session.
  mutating func watch(_ object: AnyObject, _ name: StaticString, _ number: Int = 0) {
    entries.append(Entry(name: name, number: number, object: object))
  }

  /// The names of what is still there.
  var leaks: [String] {
    entries.filter { $0.object != nil }.map { "\($0.name) \($0.number)" }
  }
}
