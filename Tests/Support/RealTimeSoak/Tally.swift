import Glibc

struct Tally {
  var bursts = 0
  var bytes = 0
  var sends = 0
  var sessions = 0
  var kills = 0
  var reconnections = 0
  /// The number of bursts that were in flight when the accessory was killed and that were never acknowledged.
  var lost = 0
  /// How many of the hosts' bytes were acknowledged. Counts only sessions whose accessory survived to report what it
  /// had read.
  var acknowledged = 0
  var missing = 0
  var wrongs: [String] = []
  private(set) var ends: [String: Int] = [:]

  mutating func add(_ facts: Facts) {
    bursts += facts.bursts
    bytes += facts.bytes
    reconnections += facts.reconnections
    lost += facts.lost
  }

  /// Records that a process has ended. If the process printed nothing and was not killed, this counts as a problem.
  mutating func ended(_ child: Child?, _ facts: Facts) {
    guard let child, let ending = child.ending else { return }
    let role = child.name.split(separator: "-").last.map(String.init) ?? child.name
    let by = child.sent.map { $0 == SIGKILL ? "kill -9" : "Ctrl-C" } ?? "its own"
    ends["\(role)|\(by)|\(ending)|\(Self.shape(facts.last))", default: 0] += 1
    // A process that was killed before it printed anything also counts as ended.
    if facts.last == "nothing", child.sent != SIGKILL { wrongs.append("\(child.name) ended without a word: \(ending)") }
  }

  /// Returns only the words of a text, so that reasons that differ only in their numbers are counted together.
  static func shape(_ text: String) -> String {
    var out = ""
    for character in text {
      let shown: Character = character.isNumber ? "#" : character
      if shown == "#", out.hasSuffix("#") || out.hasSuffix("#,") || out.hasSuffix("#.") {
        while out.last == "," || out.last == "." { out.removeLast() }
        continue
      }
      out.append(shown)
    }
    return String(out.prefix(100))
  }
}
