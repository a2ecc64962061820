import AccessoryFaults
import AccessoryFormats
import AccessoryProfiles

/// Random faults of all kinds, with parameters chosen so that each fault has an effect in a world that lasts a few
/// seconds.
enum SoakFaults {
  private enum Harm {
    /// The fault delays or splits bytes, but all bytes arrive.
    case none
    /// The fault loses, duplicates, reorders or corrupts packets.
    case packets
    case silence
    case end
  }

  /// Returns a random fault. If `lossless` is true, every byte still arrives exactly once and in order.
  static func any(lossless: Bool, _ random: inout PlanRandom) -> Fault {
    var fault = lossless || random.percent(45) ? harmless(&random) : harmful(&random)
    if case .stale = fault.effect { return fault }
    if random.percent(25) { fault.after = random.milliseconds(0...3_000) }
    return fault
  }

  private static func harmless(_ random: inout PlanRandom) -> Fault {
    var fault = drawn(random.pick(harmlessFaults), &random)
    fault.acts = random.pick(fault.effect.directions)
    return fault
  }

  private static func harmful(_ random: inout PlanRandom) -> Fault {
    var packets = StruckPackets()
    packets.chance = Chance(millionths: random.spread(10_000...300_000))
    packets.kind = random.pick([.any, .any, .any, .data, .ack, .syn])
    return drawn(random.pick(harmfulFaults), striking: packets, &random)
  }

  private static let harmlessFaults = faults(.none)
  private static let harmfulFaults = faults(.packets) + faults(.silence)

  /// Returns the faults that do the given kind of harm. Each fault is repeated according to its weight.
  private static func faults(_ harm: Harm) -> [Fault] {
    Fault.format.examples.flatMap { fault in
      let (harms, weight) = likelihood(of: fault.effect)
      return harms == harm ? Array(repeating: fault, count: weight) : []
    }
  }

  private static func likelihood(of effect: Fault.Effect) -> (Harm, weight: Int) {
    switch effect {
    case .latency, .rate, .split, .glue, .stall, .slowReader, .collapse, .stale: (.none, 1)
    case .loss: (.packets, 3)
    case .duplicate, .reorder, .corrupt: (.packets, 2)
    case .noise: (.packets, 1)
    case .halfDead: (.silence, 1)
    case .cut: (.end, 1)
    }
  }

  /// Returns the fault with random parameters. If the fault affects packets, `packets` selects them.
  private static func drawn(
    _ plain: Fault, striking packets: StruckPackets = .init(), _ random: inout PlanRandom
  ) -> Fault {
    var fault = plain
    switch plain.effect {
    case .latency(var latency):
      latency.delay = random.milliseconds(0...60)
      latency.jitter = random.milliseconds(0...60)
      fault.effect = .latency(latency)
    case .rate(var rate):
      rate.bytes = random.number(4_000...400_000)
      fault.effect = .rate(rate)
    case .split(var split):
      // Tiny pieces are rare because they take a hundred times as long, and because the scanner's own tests cover them.
      split.size = random.percent(3) ? random.number(1...15) : random.spread(16...3_000)
      if split.size > 50, random.percent(30) { split.gap = random.milliseconds(0...3) }
      fault.effect = .split(split)
    case .glue(var glue):
      glue.size = random.spread(2...8_000)
      glue.wait = random.milliseconds(1...40)
      fault.effect = .glue(glue)
    case .stall:
      fault.lasting = random.milliseconds(1...2_500)
      fault.after = random.milliseconds(0...3_000)
    case .slowReader(var reader):
      reader.bytes = random.number(200...4_096)
      reader.every = random.milliseconds(1...20)
      fault.effect = .slowReader(reader)
    case .collapse(var collapse):
      collapse.above = random.spread(20...4_096)
      collapse.rate = random.number(5_000...100_000)
      fault.effect = .collapse(collapse)
    case .stale(var stale):
      stale.kind = random.pick([.tail, .packets, .noise])
      stale.bytes = random.spread(1...600)
      fault.effect = .stale(stale)
    case .cut(var cut):
      cut.packets = random.number(1...30)
      fault.effect = .cut(cut)
    case .halfDead:
      fault.after = random.milliseconds(0...3_000)
      fault.acts = random.pick([.in, .out])
      if random.percent(60) { fault.lasting = random.milliseconds(1...4_000) }
    case .loss(var loss):
      loss.packets = packets
      loss.packets.burst = random.spread(1...12)
      fault.effect = .loss(loss)
      fault.acts = directions(&random)
    case .duplicate(var duplicate):
      duplicate.packets = packets
      duplicate.copies = random.spread(1...4)
      fault.effect = .duplicate(duplicate)
      fault.acts = directions(&random)
    case .reorder(var reorder):
      reorder.packets = packets
      reorder.by = random.spread(1...12)
      reorder.wait = random.milliseconds(1...100)
      fault.effect = .reorder(reorder)
      fault.acts = directions(&random)
    case .noise(var noise):
      noise.packets = packets
      noise.bytes = random.spread(1...300)
      fault.effect = .noise(noise)
      fault.acts = directions(&random)
    case .corrupt(var corrupt):
      corrupt.packets = packets
      corrupt.part = random.pick([.payload, .header, .either])
      if random.percent(15) {
        // This fault is meant to produce wrong sequence numbers with valid checksums. Few bit flips hit the sequence
        // number, so this fault is applied to more packets than other faults are.
        corrupt.packets.chance = Chance(millionths: random.number(50_000...300_000))
        corrupt.packets.kind = .data
        (corrupt.mendsSum, corrupt.part) = (true, .header)
      }
      fault.effect = .corrupt(corrupt)
      fault.acts = directions(&random)
    }
    return fault
  }

  private static func directions(_ random: inout PlanRandom) -> Fault.Directions {
    random.pick([.both, .both, .in, .out])
  }
}

enum SoakQuirks {
  static func some(_ random: inout PlanRandom) -> [Quirk] {
    var quirks: [Quirk] = []
    if random.percent(15) {
      var flicker = Flicker(cycles: random.spread(1...3))
      flicker.empty = random.milliseconds(0...300)
      flicker.gap = random.milliseconds(0...300)
      flicker.answersAuthentication = random.pick([true, true, false])
      quirks.append(.flicker(flicker))
    }
    if random.percent(15) {
      var odd = OddSession(random.pick([.refuse, .refuse, .ignore, .silent, .close, .detach]))
      odd.times = random.number(0...2)
      odd.delay = random.milliseconds(0...500)
      quirks.append(.session(odd))
    }
    if random.percent(6) {
      quirks.append(
        .authentication(OddAuthentication(random.pick([.never, .wrong, .slow]), delay: random.milliseconds(0...2_000))))
    }
    if random.percent(6) {
      quirks.append(
        .identification(OddIdentification(random.pick([.never, .slow]), delay: random.milliseconds(0...2_000))))
    }
    if random.percent(20) { quirks.append(.noStatus) }
    return quirks
  }
}
