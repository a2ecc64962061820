import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessoryLoad

/// What a command line of `easim burst` asks for.
struct BurstOptions {
  private(set) var plan: BurstPlan
  let reports: [ReportFile]
  let baseline: BaselineOptions

  init(_ arguments: ParsedArguments) throws {
    plan = try Self.plan(arguments)
    baseline = try BaselineOptions(arguments)
    _ = try arguments.faults()
    reports = try arguments.all("--report").map { try ReportFile($0, arguments.command) }
  }

  private static func plan(_ arguments: ParsedArguments) throws -> BurstPlan {
    var plan = BurstPlan()
    if arguments.has("--size"), arguments.has("--payload") {
      throw UsageError("--size and --payload cannot be combined", arguments.command)
    }
    if let size = try arguments.number("--size", in: 1...(64 << 20)) { plan.payload = CountingPattern.bytes(size) }
    if let path = arguments.value("--payload") {
      plan.payload = try InputFile.read(path, option: "--payload", arguments.command)
      if plan.payload.isEmpty { throw UsageError("--payload \(path) is empty", arguments.command) }
    }
    if arguments.has("--count"), arguments.has("--for") {
      throw UsageError("--count and --for cannot be combined", arguments.command)
    }
    if let count = try arguments.number("--count", in: 1...1_000_000_000) { plan.extent = .bursts(count) }
    if let time = try arguments.duration("--for") {
      guard time > .zero else { throw UsageError("--for 0 is no time", arguments.command) }
      plan.extent = .time(time)
    }
    plan.sessions = try arguments.number("--sessions", in: 1...1_000) ?? 1
    plan.inFlight = try arguments.number("--in-flight", in: 1...10_000) ?? 1
    if let text = arguments.value("--rate") {
      do {
        plan.pace = .rate(burstsPerSecond: try BurstRate(text).burstsPerSecond(size: plan.payload.count))
      } catch {
        throw UsageError("--rate \(error)", arguments.command)
      }
    }
    plan.warmUp = try arguments.duration("--warm-up") ?? .zero
    plan.ramp = try arguments.duration("--ramp") ?? .zero
    plan.pause = try pause(arguments)
    plan.verification = try verification(arguments)
    plan.timeout = try arguments.duration("--timeout") ?? .seconds(10)
    plan.reconnects = arguments.has("--reconnect")
    plan.protocolName = arguments.value("--protocol")
    return plan
  }

  private static func pause(_ arguments: ParsedArguments) throws -> BurstPlan.Pause? {
    let every = try arguments.number("--pause-every", in: 1...1_000_000_000)
    guard let length = try arguments.duration("--pause") else {
      if every != nil { throw UsageError("--pause-every needs --pause", arguments.command) }
      return nil
    }
    return BurstPlan.Pause(every: every ?? 1, length: length)
  }

  private static func verification(_ arguments: ParsedArguments) throws -> BurstPlan.Verification {
    let mode = arguments.value("--verify")
    let reply = arguments.value("--expect-reply")
    guard mode == "reply" || (mode == nil && reply != nil) else {
      if reply != nil { throw UsageError("--expect-reply needs --verify reply", arguments.command) }
      return mode == "none" ? .nothing : .echo
    }
    guard let reply else {
      throw UsageError("--verify reply needs --expect-reply HEX, LENGTH or FILE", arguments.command)
    }
    if let length = Int(reply) {
      guard 1...(256 << 20) ~= length else {
        throw UsageError("--expect-reply \(reply): expected a length from 1 to 268435456", arguments.command)
      }
      return .replyLength(length)
    }
    let digits = reply.hasPrefix("0x") ? String(reply.dropFirst(2)) : reply
    if reply.hasPrefix("0x") || reply.contains(" ") {
      do {
        let bytes = try Hex.parse(digits)
        if !bytes.isEmpty { return .reply(bytes) }
      } catch {
        throw UsageError("--expect-reply \(Excerpt.of(reply)): \(error)", arguments.command)
      }
    }
    let bytes = try InputFile.read(reply, option: "--expect-reply", arguments.command)
    if bytes.isEmpty { throw UsageError("--expect-reply \(reply) is empty: use --verify none", arguments.command) }
    return .reply(bytes)
  }

  /// The addresses that are meant, each once.
  static func addresses(_ arguments: ParsedArguments, _ console: Console) throws -> [Address] {
    let words: [String?] = arguments.words.isEmpty ? [nil] : arguments.words
    let addresses = try words.map { try arguments.address(orBench: $0) }
    for (index, address) in addresses.enumerated() where addresses[..<index].contains(address) {
      throw UsageError("\(address) is given twice", arguments.command)
    }
    guard arguments.has("--all") else { return addresses }
    return try addresses.flatMap { address -> [Address] in
      guard !address.namesOneAccessory, let sighting = try media.look(at: address) else { return [address] }
      for problem in sighting.problems { console.err("easim: \(problem)") }
      let wanted = arguments.value("--protocol")
      let fitting = sighting.accessories.filter { accessory in
        !accessory.isNearMiss && wanted.map(accessory.mayOffer) ?? true
      }
      if fitting.isEmpty { throw AccessoryTarget.Refusal(code: .unreachable, message: address.nothingThere) }
      return fitting.map(\.address)
    }
  }
}
