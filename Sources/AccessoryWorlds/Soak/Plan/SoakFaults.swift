import AccessoryCore
import AccessoryProfiles
import AccessoryTransports

/// Random faults, with parameters that matter within a world of a few seconds.
enum SoakFaults {
  /// Any fault; with `lossless`, one after which every byte still arrives, once and in order.
  static func any(lossless: Bool, _ dice: inout Dice) -> Fault {
    var fault = lossless ? harmless(&dice) : dice.percent(45) ? harmless(&dice) : harmful(&dice)
    if fault.definition != .stale, dice.percent(25) {
      fault = fault.setting("after", to: .duration(dice.milliseconds(0...3_000)))
    }
    return fault
  }

  /// Faults that delay, split or hold up bytes; all of them arrive.
  private static func harmless(_ dice: inout Dice) -> Fault {
    var fault: Fault
    switch dice.number(0...7) {
    case 0:
      fault = Fault(.latency).setting("delay", to: .duration(dice.milliseconds(0...60)))
        .setting("jitter", to: .duration(dice.milliseconds(0...60)))
    case 1: fault = Fault(.rate).setting("bytes", to: .count(dice.number(4_000...400_000)))
    case 2:
      // Single bytes cost a hundred times as much, and the scanner's own tests cover them.
      let size = dice.percent(3) ? dice.number(1...15) : dice.spread(16...3_000)
      fault = Fault(.split).setting("size", to: .count(size))
      if fault.arguments.count("size") > 50, dice.percent(30) {
        fault = fault.setting("gap", to: .duration(dice.milliseconds(0...3)))
      }
    case 3:
      fault = Fault(.glue).setting("size", to: .count(dice.spread(2...8_000)))
        .setting("wait", to: .duration(dice.milliseconds(1...40)))
    case 4:
      fault = Fault(.stall).setting("for", to: .duration(dice.milliseconds(1...2_500)))
        .setting("after", to: .duration(dice.milliseconds(0...3_000)))
    case 5:
      fault = Fault(.slowReader).setting("bytes", to: .count(dice.number(200...4_096)))
        .setting("every", to: .duration(dice.milliseconds(1...20)))
    case 6:
      fault = Fault(.collapse).setting("above", to: .count(dice.spread(20...4_096)))
        .setting("rate", to: .count(dice.number(5_000...100_000)))
    default:
      fault = Fault(.stale).setting("kind", to: .choice(dice.pick(["tail", "packets", "noise"])))
        .setting("bytes", to: .count(dice.spread(1...600)))
    }
    let words = fault.definition.parameters.first { $0.name == "direction" }?.words ?? []
    return fault.setting("direction", to: .choice(dice.pick(words)))
  }

  /// Faults that lose, double, reorder or corrupt packets, or silence one direction.
  private static func harmful(_ dice: inout Dice) -> Fault {
    var fault: Fault
    var chance = dice.spread(10_000...300_000)
    var kind = dice.pick(["any", "any", "any", "data", "ack", "syn"])
    switch dice.number(0...9) {
    case 0...2: fault = Fault(.loss).setting("burst", to: .count(dice.spread(1...12)))
    case 3...4: fault = Fault(.duplicate).setting("copies", to: .count(dice.spread(1...4)))
    case 5...6:
      fault = Fault(.reorder).setting("by", to: .count(dice.spread(1...12)))
        .setting("wait", to: .duration(dice.milliseconds(1...100)))
    case 7...8:
      fault = Fault(.corrupt).setting("part", to: .choice(dice.pick(["payload", "header", "either"])))
      if dice.percent(15) {
        // It changes a packet's number only rarely, and those changes are its purpose.
        chance = dice.number(50_000...300_000)
        kind = "data"
        fault = fault.setting("sum", to: .choice("right")).setting("part", to: .choice("header"))
      }
    default:
      fault = Fault(.halfDead).setting("after", to: .duration(dice.milliseconds(0...3_000)))
        .setting("direction", to: .choice(dice.pick(["in", "out"])))
      return dice.percent(60) ? fault.setting("for", to: .duration(dice.milliseconds(1...4_000))) : fault
    }
    return fault.setting("chance", to: .chance(Chance(millionths: chance)))
      .setting("kind", to: .choice(kind))
      .setting("direction", to: .choice(dice.pick(["both", "both", "in", "out"])))
  }
}

/// Quirks of both roles, as in a profile.
enum SoakQuirks {
  static func some(_ dice: inout Dice) -> [Quirk] {
    var quirks: [Quirk] = []
    if dice.percent(15) {
      quirks.append(
        Quirk(.flicker).setting("cycles", to: .count(dice.spread(1...3)))
          .setting("empty", to: .duration(dice.milliseconds(0...300)))
          .setting("gap", to: .duration(dice.milliseconds(0...300)))
          .setting("auth", to: .choice(dice.pick(["answer", "answer", "never"]))))
    }
    if dice.percent(15) {
      let answer = dice.pick(["refuse", "refuse", "ignore", "silent", "close", "detach"])
      quirks.append(
        Quirk(.session).setting("answer", to: .choice(answer)).setting("times", to: .count(dice.number(0...2)))
          .setting("delay", to: .duration(dice.milliseconds(0...500))))
    }
    if dice.percent(6) {
      let answer = dice.pick(["never", "wrong", "slow"])
      quirks.append(
        Quirk(.authentication).setting("answer", to: .choice(answer))
          .setting("delay", to: .duration(dice.milliseconds(0...2_000))))
    }
    if dice.percent(6) {
      quirks.append(
        Quirk(.identification).setting("answer", to: .choice(dice.pick(["never", "slow"])))
          .setting("delay", to: .duration(dice.milliseconds(0...2_000))))
    }
    if dice.percent(20) { quirks.append(Quirk(.noStatus)) }
    return quirks
  }
}
