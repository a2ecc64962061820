import IAP2

/// A wire between two ends that loses, duplicates, reorders, corrupts and delays packets and is cut, all at random.
///
/// It flips at most one bit of a packet, which an 8-bit sum always detects: no link can recover from undetected
/// changes.
struct LossyWire {
  /// How bad the wire is, in percent of packets, and milliseconds.
  struct Weather {
    var loss = 0
    var doubling = 0
    var spoiling = 0
    var lateness = 0
    var delay: Int64 = 1
    var jitter: Int64 = 0

    static let fair = Weather()

    static func thrown(by dice: inout Dice) -> Weather {
      Weather(
        loss: dice.below(25), doubling: dice.below(10), spoiling: dice.below(10), lateness: dice.below(20),
        delay: Int64(1 + dice.below(30)), jitter: Int64(dice.below(200)))
    }
  }

  struct Flight {
    let due: Instant
    let toDevice: Bool
    let bytes: [UInt8]
  }

  var weather: Weather
  /// Until then nothing comes through.
  var cutUntil = Instant(nanoseconds: 0)
  private(set) var flights: [Flight] = []

  init(weather: Weather) {
    self.weather = weather
  }

  /// When the next packet arrives.
  var deadline: Instant? { flights.map(\.due).min() }

  mutating func send(_ bytes: [UInt8], toDevice: Bool, now: Instant, _ dice: inout Dice) {
    if now < cutUntil || dice.chance(weather.loss) { return }
    for _ in 0..<(dice.chance(weather.doubling) ? 2 : 1) {
      var copy = bytes
      if dice.chance(weather.spoiling) { copy[dice.below(copy.count)] ^= 1 << dice.below(8) }
      let late = dice.chance(weather.lateness) ? weather.jitter : 0
      flights.append(Flight(due: now + Milliseconds(weather.delay + late), toDevice: toDevice, bytes: copy))
    }
  }

  /// Takes the packets that have arrived by `now`, in the order they were sent.
  mutating func arrivals(now: Instant) -> [Flight] {
    let arrived = flights.filter { $0.due <= now }
    if !arrived.isEmpty { flights.removeAll { $0.due <= now } }
    return arrived
  }
}

/// Counts on the wire how many packets an end has in flight, and checks their lengths.
struct WindowWatch {
  let window: Int
  let length: Int
  private var unacknowledged: [UInt8] = []
  private(set) var highest = 0

  init(window: UInt8, length: UInt16) {
    self.window = Int(window)
    self.length = Int(length)
  }

  /// A packet left the end; returns what is wrong with that.
  mutating func sent(_ packet: [UInt8]) -> String? {
    guard packet.count >= 9, packet[1] == 0x5A else { return nil }
    if packet[4] & 0x80 != 0 {
      unacknowledged = []
      return nil
    }
    if packet.count > length { return "a packet of \(packet.count) bytes for an end that takes \(length)" }
    guard packet.count > 9, packet[4] & 0x20 == 0 else { return nil }
    if !unacknowledged.contains(packet[5]) { unacknowledged.append(packet[5]) }
    highest = max(highest, unacknowledged.count)
    return unacknowledged.count > window ? "\(unacknowledged.count) packets in a window of \(window)" : nil
  }

  /// A packet reached the end, which believes it only when both its sums are right.
  mutating func heard(_ packet: [UInt8]) {
    guard packet.count >= 9, packet[1] == 0x5A, packet[4] & 0xC0 == 0x40, packet[..<9].reduce(0, &+) == 0,
      packet[9...].reduce(0, &+) == 0
    else { return }
    if let index = unacknowledged.firstIndex(of: packet[6]) { unacknowledged.removeFirst(index + 1) }
  }
}
