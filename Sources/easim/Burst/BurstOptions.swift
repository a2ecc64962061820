import AccessoryCore
import AccessoryHost
import AccessoryLoad
import AccessoryTransports

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
      throw UsageError("--size and --payload exclude each other", arguments.command)
    }
    if let size = try arguments.number("--size", in: 1...(64 << 20)) { plan.payload = CountingPattern.bytes(size) }
    if let path = arguments.value("--payload") {
      plan.payload = try InputFile.read(path, option: "--payload", arguments.command)
      if plan.payload.isEmpty { throw UsageError("--payload \(path) is empty", arguments.command) }
    }
    if arguments.has("--count"), arguments.has("--for") {
      throw UsageError("--count and --for exclude each other", arguments.command)
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
      if every != nil { throw UsageError("--pause-every is about a --pause", arguments.command) }
      return nil
    }
    return BurstPlan.Pause(every: every ?? 1, length: length)
  }

  private static func verification(_ arguments: ParsedArguments) throws -> BurstPlan.Verification {
    let mode = arguments.value("--verify")
    let reply = arguments.value("--expect-reply")
    guard mode == "reply" || (mode == nil && reply != nil) else {
      if let reply { throw UsageError("--expect-reply \(reply) is about --verify reply", arguments.command) }
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
        let bytes = try HexText.parse(digits)
        if !bytes.isEmpty { return .reply(bytes) }
      } catch {
        throw UsageError("--expect-reply \(Excerpt.of(reply)): \(error)", arguments.command)
      }
    }
    let bytes = try InputFile.read(reply, option: "--expect-reply", arguments.command)
    if bytes.isEmpty { throw UsageError("--expect-reply \(reply) is empty: use --verify none", arguments.command) }
    return .reply(bytes)
  }

  /// The addresses that are meant, each once; nil for the only accessory on the bench.
  static func addresses(_ arguments: ParsedArguments, _ console: Console) throws -> [String?] {
    var seen: Set<String> = []
    for word in arguments.words {
      let address = try arguments.address(word).description
      if !seen.insert(address).inserted { throw UsageError("\(address) is given twice", arguments.command) }
    }
    guard arguments.has("--all") else { return arguments.words.isEmpty ? [nil] : arguments.words }
    let words = arguments.words.isEmpty ? ["bench:"] : arguments.words
    return try words.flatMap { word -> [String] in
      guard case .bench(let path, nil) = try arguments.address(word) else { return [word] }
      let bench = BenchDirectory(path)
      let (found, problems) = try bench.look()
      for problem in problems { console.err("easim: a card is left aside: \(problem)") }
      let wanted = arguments.value("--protocol")
      let fitting = found.filter { accessory in
        wanted.map { accessory.card.protocols.isEmpty || accessory.card.protocols.contains($0) } ?? true
      }
      if fitting.isEmpty {
        throw Reach.Refusal(code: .unreachable, message: "No Accessories Connected on the bench \(bench)")
      }
      return fitting.map(\.address.description)
    }
  }
}
