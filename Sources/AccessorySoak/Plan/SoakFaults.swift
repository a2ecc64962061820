import AccessoryFaults
import AccessoryFormats
import AccessoryProfiles

/// Random faults out of all there are, with parameters that matter within a world of a few seconds.
enum SoakFaults {
  /// What a fault does to a world.
  private enum Harm {
    /// It delays, splits or holds up bytes; all of them arrive.
    case none
    /// It loses, doubles, reorders or corrupts packets.
    case packets
    /// It silences a direction.
    case silence
    /// It ends a cable: steps do that, and plans add it on their own.
    case end
  }

  /// Any fault; with `lossless`, one after which every byte still arrives, once and in order.
  static func any(lossless: Bool, _ dice: inout Dice) -> Fault {
    var fault = lossless || dice.percent(45) ? harmless(&dice) : harmful(&dice)
    if case .stale = fault.effect { return fault }
    if dice.percent(25) { fault.after = dice.milliseconds(0...3_000) }
    return fault
  }

  private static func harmless(_ dice: inout Dice) -> Fault {
    var fault = drawn(dice.pick(faults(.none)), &dice)
    fault.acts = dice.pick(fault.effect.directions)
    return fault
  }

  private static func harmful(_ dice: inout Dice) -> Fault {
    var packets = StruckPackets()
    packets.chance = Chance(millionths: dice.spread(10_000...300_000))
    packets.kind = dice.pick([.any, .any, .any, .data, .ack, .syn])
    return drawn(dice.pick(faults(.packets) + faults(.silence)), striking: packets, &dice)
  }

  /// The faults that do such harm, each as often as it is likely.
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

  /// The fault with random parameters; `packets` are those it strikes where it strikes packets.
  private static func drawn(_ plain: Fault, striking packets: StruckPackets = .init(), _ dice: inout Dice) -> Fault {
    var fault = plain
    switch plain.effect {
    case .latency(var latency):
      latency.delay = dice.milliseconds(0...60)
      latency.jitter = dice.milliseconds(0...60)
      fault.effect = .latency(latency)
    case .rate(var rate):
      rate.bytes = dice.number(4_000...400_000)
      fault.effect = .rate(rate)
    case .split(var split):
      // Single bytes cost a hundred times as much, and the scanner's own tests cover them.
      split.size = dice.percent(3) ? dice.number(1...15) : dice.spread(16...3_000)
      if split.size > 50, dice.percent(30) { split.gap = dice.milliseconds(0...3) }
      fault.effect = .split(split)
    case .glue(var glue):
      glue.size = dice.spread(2...8_000)
      glue.wait = dice.milliseconds(1...40)
      fault.effect = .glue(glue)
    case .stall:
      fault.lasting = dice.milliseconds(1...2_500)
      fault.after = dice.milliseconds(0...3_000)
    case .slowReader(var reader):
      reader.bytes = dice.number(200...4_096)
      reader.every = dice.milliseconds(1...20)
      fault.effect = .slowReader(reader)
    case .collapse(var collapse):
      collapse.above = dice.spread(20...4_096)
      collapse.rate = dice.number(5_000...100_000)
      fault.effect = .collapse(collapse)
    case .stale(var stale):
      stale.kind = dice.pick([.tail, .packets, .noise])
      stale.bytes = dice.spread(1...600)
      fault.effect = .stale(stale)
    case .cut(var cut):
      cut.packets = dice.number(1...30)
      fault.effect = .cut(cut)
    case .halfDead:
      fault.after = dice.milliseconds(0...3_000)
      fault.acts = dice.pick([.in, .out])
      if dice.percent(60) { fault.lasting = dice.milliseconds(1...4_000) }
    case .loss(var loss):
      loss.packets = packets
      loss.packets.burst = dice.spread(1...12)
      fault.effect = .loss(loss)
      fault.acts = directions(&dice)
    case .duplicate(var duplicate):
      duplicate.packets = packets
      duplicate.copies = dice.spread(1...4)
      fault.effect = .duplicate(duplicate)
      fault.acts = directions(&dice)
    case .reorder(var reorder):
      reorder.packets = packets
      reorder.by = dice.spread(1...12)
      reorder.wait = dice.milliseconds(1...100)
      fault.effect = .reorder(reorder)
      fault.acts = directions(&dice)
    case .noise(var noise):
      noise.packets = packets
      noise.bytes = dice.spread(1...300)
      fault.effect = .noise(noise)
      fault.acts = directions(&dice)
    case .corrupt(var corrupt):
      corrupt.packets = packets
      corrupt.part = dice.pick([.payload, .header, .either])
      if dice.percent(15) {
        // It changes a packet's number only rarely, and those changes are its purpose.
        corrupt.packets.chance = Chance(millionths: dice.number(50_000...300_000))
        corrupt.packets.kind = .data
        (corrupt.mendsSum, corrupt.part) = (true, .header)
      }
      fault.effect = .corrupt(corrupt)
      fault.acts = directions(&dice)
    }
    return fault
  }

  private static func directions(_ dice: inout Dice) -> Fault.Directions { dice.pick([.both, .both, .in, .out]) }
}

/// Quirks of both roles, as in a profile.
enum SoakQuirks {
  static func some(_ dice: inout Dice) -> [Quirk] {
    var quirks: [Quirk] = []
    if dice.percent(15) {
      var flicker = Flicker(cycles: dice.spread(1...3))
      flicker.empty = dice.milliseconds(0...300)
      flicker.gap = dice.milliseconds(0...300)
      flicker.answersAuthentication = dice.pick([true, true, false])
      quirks.append(.flicker(flicker))
    }
    if dice.percent(15) {
      var odd = OddSession(dice.pick([.refuse, .refuse, .ignore, .silent, .close, .detach]))
      odd.times = dice.number(0...2)
      odd.delay = dice.milliseconds(0...500)
      quirks.append(.session(odd))
    }
    if dice.percent(6) {
      quirks.append(
        .authentication(OddAuthentication(dice.pick([.never, .wrong, .slow]), delay: dice.milliseconds(0...2_000))))
    }
    if dice.percent(6) {
      quirks.append(
        .identification(OddIdentification(dice.pick([.never, .slow]), delay: dice.milliseconds(0...2_000))))
    }
    if dice.percent(20) { quirks.append(.noStatus) }
    return quirks
  }
}
