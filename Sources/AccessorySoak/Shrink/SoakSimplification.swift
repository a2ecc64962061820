import AccessoryFaults
import AccessoryFormats
import AccessoryProfiles
import AccessoryWorlds

/// Simplifications of a plan that do not leave out whole parts. Each is a change to try, and does
/// nothing when there is nothing left to simplify.
enum SoakSimplification {
  typealias Change = (inout SoakPlan) -> Void

  // MARK: Choices

  /// Settings that return to their defaults.
  static func choices(of plan: SoakPlan, keepingProfiles: Bool) -> [Change] {
    var changes: [Change] = [
      { $0.deviceLink = SoakLinkChoices() }, { $0.deviceFlicker = nil }, { $0.line = World.Settings.Line() },
      { $0.policy = .ready }, { $0.firstSession = 1 }, { $0.deviceWindow = 127 }, { $0.deviceLength = 65_535 },
      { $0.line.latency = .zero }, { $0.line.bytesPerSecond = nil },
    ]
    changes += linkChoices { $0.deviceLink[keyPath: $1] = SoakLinkChoices()[keyPath: $1] }
    changes += linkNumbers { $1(&$0.deviceLink) }
    for number in plan.accessories.indices {
      changes.append { $0.accessories[number].link = SoakLinkChoices() }
      changes += linkNumbers { $1(&$0.accessories[number].link) }
      changes += linkChoices { $0.accessories[number].link[keyPath: $1] = SoakLinkChoices()[keyPath: $1] }
      changes.append { $0.accessories[number].conduct = .echo }
      changes += streams(of: plan.accessories[number])
        .map { place in { $0.accessories[number].change(place) { $0.simplify() } } }
      if !keepingProfiles { changes += profile(number) }
    }
    for number in plan.apps.indices {
      changes.append { $0.apps[number].patience = .zero }
      changes.append { $0.apps[number].isRude = false }
      for place in plan.apps[number].sessions.indices {
        changes.append { $0.apps[number].sessions[place].simplify() }
        for simplify in SoakStreamPlan.simplifications {
          changes.append { simplify(&$0.apps[number].sessions[place]) }
        }
      }
    }
    for place in plan.faults.indices { changes += parameters(of: plan.faults[place].fault, place) }
    return changes
  }

  private static func linkChoices(
    _ reset: @escaping (inout SoakPlan, WritableKeyPath<SoakLinkChoices, Bool>) -> Void
  ) -> [Change] {
    let flags: [WritableKeyPath<SoakLinkChoices, Bool>] = [
      \.repeatsOldestOnly, \.timesFromEach, \.keepsAhead, \.offersAgain, \.answersOwnRecovery,
    ]
    return flags.map { flag in { reset(&$0, flag) } }
  }

  private static func linkNumbers(
    _ link: @escaping (inout SoakPlan, (inout SoakLinkChoices) -> Void) -> Void
  ) -> [Change] {
    let standard = SoakLinkChoices()
    return [
      { link(&$0) { $0.initialSequence = standard.initialSequence } },
      { link(&$0) { $0.cumulativeAcknowledgements = nil } },
      { link(&$0) { $0.extendedAcknowledgement = standard.extendedAcknowledgement } },
      { link(&$0) { $0.receiveBound = standard.receiveBound } }, { link(&$0) { $0.sendBound = standard.sendBound } },
    ]
  }

  private static func profile(_ number: Int) -> [Change] {
    let standard = Profile.Link()
    func reset<Value>(_ field: WritableKeyPath<Profile.Link, Value>) -> Change {
      { $0.accessories[number].profile.link[keyPath: field] = standard[keyPath: field] }
    }
    return [
      { $0.accessories[number].profile.link = standard }, { $0.accessories[number].profile.authentication = .init() },
      reset(\.retransmissionTimeout), reset(\.cumulativeAcknowledgementTimeout), reset(\.maximumRetransmissions),
      { plan in
        plan.accessories[number].profile.link.maximumCumulativeAcknowledgements = min(
          standard.maximumCumulativeAcknowledgements, plan.accessories[number].profile.link.maximumOutstandingPackets)
      },
      { plan in
        plan.accessories[number].profile.link.controlSession = standard.controlSession
        plan.accessories[number].profile.link.externalAccessorySession = standard.externalAccessorySession
        plan.accessories[number].profile.link.fileTransferSession = nil
      },
    ]
  }

  private static func streams(of accessory: SoakPlan.Accessory) -> [Int] {
    if case .streams(let streams) = accessory.conduct { Array(streams.indices) } else { [] }
  }

  /// Parameters of a fault that can be left out.
  private static func parameters(of fault: Fault, _ place: Int) -> [Change] {
    Fault.format.members(fault).map { left in
      { plan in
        guard plan.faults.indices.contains(place) else { return }
        let fault = plan.faults[place].fault
        let kept = Fault.format.members(fault).filter { $0.key != left.key }
        if let simpler = Fault.format.value(fault.name, kept) { plan.faults[place].fault = simpler }
      }
    }
  }

  // MARK: Numbers

  /// Times and sizes to reduce; each may help more than once.
  static func numbers(of plan: SoakPlan) -> [Change] {
    var changes: [Change] = [
      { $0.length = $0.lastStep },
      { $0.length = max($0.lastStep, ($0.lastStep + ($0.length - $0.lastStep) / 2).inMilliseconds) },
      { $0.length = max($0.lastStep, $0.length.rounded) }, { $0.length = max($0.lastStep, $0.length.inMilliseconds) },
      { $0.line.latency = $0.line.latency.rounded },
    ]
    for number in plan.apps.indices {
      changes.append { $0.apps[number].patience = $0.apps[number].patience.rounded }
      for place in plan.apps[number].sessions.indices {
        changes.append { $0.apps[number].sessions[place].bytes = 0 }
        changes.append { $0.apps[number].sessions[place].halve() }
        changes.append { $0.apps[number].sessions[place].round() }
      }
    }
    for number in plan.accessories.indices {
      for place in streams(of: plan.accessories[number]) {
        changes.append { $0.accessories[number].change(place) { $0.bytes = 0 } }
        changes.append { $0.accessories[number].change(place) { $0.halve() } }
        changes.append { $0.accessories[number].change(place) { $0.round() } }
      }
    }
    for place in plan.steps.indices {
      changes.append { $0.moveStep(place) { earliest, _ in earliest } }
      changes.append {
        $0.moveStep(place) { earliest, at in max(earliest, (earliest + (at - earliest) / 2).inMilliseconds) }
      }
      changes.append { $0.moveStep(place) { earliest, at in max(earliest, at.rounded) } }
      changes.append { $0.moveStep(place) { earliest, at in max(earliest, at.inMilliseconds) } }
    }
    for place in plan.faults.indices {
      for parameter in Fault.format.members(plan.faults[place].fault).map(\.key) {
        changes.append {
          $0.faults[place].fault = $0.faults[place].fault.changing(parameter) { ($0 / 2).inMilliseconds }
        }
        changes.append { $0.faults[place].fault = $0.faults[place].fault.changing(parameter) { $0.rounded } }
        changes.append { $0.faults[place].fault = $0.faults[place].fault.changing(parameter) { $0.inMilliseconds } }
      }
    }
    return changes
  }
}

extension SoakPlan {
  fileprivate var lastStep: Duration { steps.last?.at ?? .zero }

  /// Moves a step between its neighbours; `time` gets the earliest possible time and the current one.
  fileprivate mutating func moveStep(_ place: Int, _ time: (Duration, Duration) -> Duration) {
    guard steps.indices.contains(place) else { return }
    let earliest = place == 0 ? .zero : steps[place - 1].at
    steps[place].at = min(steps[place].at, time(earliest, steps[place].at))
  }
}

extension SoakPlan.Accessory {
  fileprivate mutating func change(_ place: Int, _ change: (inout SoakStreamPlan) -> Void) {
    guard case .streams(var streams) = conduct, streams.indices.contains(place) else { return }
    change(&streams[place])
    conduct = .streams(streams)
  }
}

extension SoakStreamPlan {
  /// Each is simpler in one respect.
  fileprivate static let simplifications: [@Sendable (inout SoakStreamPlan) -> Void] = [
    { $0.reading = .eager }, { $0.closing = .never }, { $0.think = .zero }, { $0.chunk = max(1, $0.bytes) },
    { $0.protocolNumber = 0 },
  ]

  /// Simpler in every respect except how much it writes.
  fileprivate mutating func simplify() {
    for simplify in Self.simplifications { simplify(&self) }
  }

  fileprivate mutating func halve() {
    bytes /= 2
    chunk = min(chunk, max(1, bytes))
  }

  fileprivate mutating func round() {
    think = think.rounded
    if case .after(let time) = closing { closing = .after(time.rounded) }
    if case .slow(let bytes, let every) = reading, every.rounded > .zero {
      reading = .slow(bytes: bytes, every: every.rounded)
    }
    if case .stops(let after, let resumes?) = reading { reading = .stops(after: after, resumes: resumes.rounded) }
  }
}

extension Fault {
  fileprivate func changing(_ parameter: String, _ change: (Duration) -> Duration) -> Fault {
    var members = Fault.format.members(self)
    guard let index = members.firstIndex(where: { $0.key == parameter }),
      case .text(let text) = members[index].value.content, let duration = try? DurationText.parse(text)
    else { return self }
    // Zero means "forever" for some parameters.
    guard change(duration) >= .milliseconds(1) else { return self }
    members[index].value = .duration(change(duration))
    return Fault.format.value(name, members) ?? self
  }
}

extension Duration {
  /// Without what is less than a millisecond.
  fileprivate var inMilliseconds: Duration { .nanoseconds(wholeNanoseconds / 1_000_000 * 1_000_000) }

  /// A shorter time with one digit.
  fileprivate var rounded: Duration {
    let nanoseconds = wholeNanoseconds
    for unit: Int64 in [1_000_000_000, 100_000_000, 10_000_000, 1_000_000] where nanoseconds >= unit {
      return .nanoseconds(nanoseconds / unit * unit)
    }
    return self
  }
}
