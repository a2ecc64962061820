/// Holds objects weakly, to report at the end which of them are still in memory.
struct LeakWatch {
  private struct Entry {
    let name: StaticString
    let number: Int
    weak var object: AnyObject?
  }

  private var entries: [Entry] = []

  /// `number` tells objects of one kind apart: a cable, an accessory, a session.
  mutating func watch(_ object: AnyObject, _ name: StaticString, _ number: Int = 0) {
    entries.append(Entry(name: name, number: number, object: object))
  }

  /// The names of the objects that are still in memory.
  var leaks: [String] {
    entries.filter { $0.object != nil }.map { "\($0.name) \($0.number)" }
  }
}
