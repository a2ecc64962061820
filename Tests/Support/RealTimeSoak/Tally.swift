import Glibc

/// The results of a couple.
struct Tally {
  var bursts = 0
  var bytes = 0
  var sends = 0
  var sessions = 0
  var kills = 0
  var reconnections = 0
  /// Bursts that were in progress when the accessory was killed, and were not acknowledged.
  var lost = 0
  /// Bytes that were acknowledged to hosts, and about which the accessory can still be asked.
  var acknowledged = 0
  /// How many of them had not arrived.
  var missing = 0
  /// Everything that happened but must not, without repetitions.
  var wrongs: [String] = []
  /// How processes ended and what they last reported, and how often.
  private(set) var ends: [String: Int] = [:]

  mutating func add(_ facts: Facts) {
    bursts += facts.bursts
    bytes += facts.bytes
    reconnections += facts.reconnections
    lost += facts.lost
  }

  /// A process has ended. One that was not asked to end, or printed nothing, has no reason.
  mutating func ended(_ child: Child?, _ facts: Facts) {
    guard let child, let ending = child.ending else { return }
    let role = child.name.split(separator: "-").last.map(String.init) ?? child.name
    let by = child.sent.map { $0 == SIGKILL ? "kill -9" : "Ctrl-C" } ?? "its own"
    ends["\(role)|\(by)|\(ending)|\(Self.shape(facts.last))", default: 0] += 1
    // A process that was killed before it printed anything counts as a separate reason.
    if facts.last == "nothing", child.sent != SIGKILL { wrongs.append("\(child.name) ended without a word: \(ending)") }
  }

  /// A string without its numbers, so that similar ends are counted together.
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

extension Facts {
  /// What went wrong since the last call.
  mutating func takeWrongs() -> [String] {
    defer { clearWrongs() }
    return wrongs
  }
}
