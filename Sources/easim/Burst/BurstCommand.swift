import AccessoryCables
import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryHost
import AccessoryLoad
import AccessoryRuns

extension CommandSpec {
  static let burst = CommandSpec(
    name: "burst", summary: "load test: send bursts, verify every byte, report throughput and latency",
    details: """
      Connect to each ADDR as an Apple device would (default: the only local accessory that offers the protocol), open
      sessions and send bursts: one after another, or at fixed times with --rate. With --rate, a burst that starts late is
      timed from when it was due. Replies are compared as they arrive.

      --expect-reply takes a number of bytes in decimal, bytes in hex (0x0102, or "01 02"), or a file.
      --fault also takes a link preset: \(LinkPreset.all.map(\.name).joined(separator: ", ")).

      A run passes if it did everything you asked for. It fails if it is stopped before its --count or --for, if bursts began
      late at --rate (--allow-overdue permits this), if bytes arrive within --settle-after after the last expected byte, or
      if a --fail-if condition holds. Conditions: p50, p99.9, mean, max > TIME (service.p99 for service times), rate < N/s or
      N kB/s, and errors, lost, overdue, reconnections, retransmissions > N or N%. With --reconnect, lost bursts are errors
      (--allow-lost permits them). The --baseline report must have the same plan.

      --shard I/N loads part I of N of the accessories, with its part of --count and --rate; give every shard the accessories
      in the same order. Conditions then apply to the merged report. --start-at starts several machines at the same time.
      'easim report merge' merges the .json reports (docs/scale.md).

      Exit codes: 0 passed; 1 a reply differs, the rate was not kept, a condition holds, the run was stopped, or the result
      is worse than the baseline; 2 usage error; 3 no accessory found; 4 timed out; 5 an accessory disconnected; 6 an
      accessory was refused. Ctrl-C ends the run and still writes the report.
      """,
    examples: [
      "easim burst --count 50",
      "easim burst unix:/tmp/echo-1.sock unix:/tmp/echo-2.sock --rate 100 --for 1s --allow-overdue",
      "easim burst unix:/tmp/echo-3.sock --count 20 --fail-if 'p99>5s' --report /tmp/burst.json",
      "easim burst unix:/tmp/echo-3.sock --count 20 --baseline /tmp/burst.json --tolerance 10000%",
    ],
    report: BurstReport.self, run: runBurst)
}

private func runBurst(_ options: BurstOptions, _ console: Console) throws -> ExitCode {
  let plan = try options.wholePlan()
  let runtime = try CommandRuntime(console, seed: options.shared.seed)
  let addresses = try options.targets(console)
  if options.probes {
    guard addresses.count == 1 else { throw UsageError("--probe takes one accessory") }
    return try probe(addresses[0], plan, options.shared, runtime, console)
  }
  let output = try RunOutput<BurstReport>(options.shared, dividing: addresses.count, console)
  let shard = output.shard
  let share = shard.share(of: addresses.count)
  let part = shard.isWhole ? plan : plan.share(share, of: addresses.count)
  if share.isEmpty || part.extent == .bursts(0) {
    console.err("easim: shard \(shard) has nothing to do, because there are fewer accessories or bursts than shards")
    var report = BurstReport.empty(plan, shard)
    report.allowsEmpty = options.shared.allowsEmpty
    output.write(report)
    return report.passed ? .done : .checkFailed
  }
  let session = try BurstSession(Array(addresses[share]), part, options.shared, output, runtime, console)
  session.wholePlan = plan
  try session.orStop {
    if let start = options.start { try session.begin(at: start) }
    if let metrics = options.metrics { try session.serveMetrics(at: metrics, options.shared) }
  }
  return try session.run()
}

private func probe(
  _ address: Address, _ plan: BurstPlan, _ shared: SharedOptions, _ runtime: CommandRuntime, _ console: Console
) throws -> ExitCode {
  let probe = BurstProbe(plan, on: runtime.loop)
  let host = try HostCommandContext(
    shared, at: address, for: probe, on: runtime, console, report: { if console.isJSON { console.show($0) } })
  let ended = try host.run(until: { probe.finding != nil }, limit: plan.timeout)
  guard let finding = probe.finding else {
    if let code = runtime.stopped(console) { return code }
    let isThere = probe.sawAccessory || !host.isMissing || ended
    let (code, text) =
      isThere
      ? (.timedOut, "timed out after \(DurationText.format(plan.timeout))")
      : host.explanation(within: plan.timeout)
    return console.end(code, text)
  }
  let text = finding.options.map { "\(finding): \($0)" } ?? finding.description
  console.result(Verdict(reasons: finding.options == nil ? [text] : []), text, at: runtime.loop.now)
  return finding.options == nil ? .checkFailed : .done
}

struct BurstOptions: CommandOptions {
  enum Verification: String, CaseIterable { case echo, reply, none }

  var addresses: [Address] = []
  var plan = BurstPlan()
  var pattern: PayloadPattern?
  var payload: String?
  var rate: BurstRate?
  var pauseEvery: Int?
  var pause: Duration?
  var verification: Verification?
  var reply: String?
  var planFile: String?
  var metrics: Address?
  var start: StartTime?
  var probes = false
  var usesAll = false
  var limits: [BurstLimit] = []
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [.addresses(\.addresses)]
  static let options: [Option<Self>] = [
    Option("--count", \.count, .integer(1...1_000_000_000), "number of bursts over all sessions").heading(
      "common options"),
    Option("--size", \.size, .integer(1...(64 << 20)), "size of a burst in bytes"),
    Option("--for", \.time, .optional(.someTime), "run for TIME instead of a number of bursts"),
    Option("--rate", \.rate, as: "R", "start bursts at a fixed rate: 50 (per second), 7500B/s, 100kB/s") {
      do { $0 = try BurstRate($1) } catch { throw UsageError("--rate \(error)") }
    },
    Option("--sessions", \.plan.sessions, .integer(1...1_000), "number of sessions with each accessory"),
    Option("--in-flight", \.plan.inFlight, .integer(1...10_000), "maximum number of unanswered bursts per session"),
    .protocolName,
    Option("--all", \.usesAll, "use every local accessory that offers the protocol"),
    .timeout.described("time limit for finding accessories, each burst, and reconnecting"),
    .report.described("write the report: .json, .html, .xml (JUnit), .csv, .hgrm, .om or .prom (metrics)"),
    .json,
    Option("--pattern", \.pattern, .optional(.choice), PayloadPattern.summary, standard: "unique").heading(
      "requests and replies"),
    Option("--payload", \.payload, as: "FILE", "send the contents of FILE as each burst"),
    Option(
      "--plan", \.planFile, as: "FILE",
      "follow a plan: phases with rates, sizes, payloads, requests, replies (docs/load.md)"),
    Option(
      "--verify", \.verification, .optional(.choice), "the expected answer to each burst", standard: "echo; see --probe"
    ),
    Option("--expect-reply", \.reply, as: "HEX|LENGTH|FILE", "the reply that --verify reply expects"),
    Option("--probe", \.probes, "send one burst and print which --verify to use"),
    .settleAfter,
    Option("--warm-up", \.plan.warmUp, .duration, "send and verify for TIME before measuring").standard(nil).heading(
      "timing"),
    Option("--ramp", \.plan.ramp, .duration, "ramp the load up from zero over TIME").standard(nil),
    Option("--pause", \.pause, .optional(.duration), "pause for TIME after every --pause-every bursts"),
    Option(
      "--pause-every", \.pauseEvery, .optional(.integer(1...1_000_000_000)), "number of bursts between pauses",
      standard: "1"),
    Option("--reconnect", \.plan.reconnects, "continue when an accessory comes back; lost bursts are errors"),
    Option(
      "--start-at", \.start, as: "TIME",
      "begin at TIME, on several machines at once: 2026-11-23T01:30:00Z, 1795397400, +10s"
    ) {
      $0 = try StartTime($1)
    },
    .shard.described("load part I of N of the accessories"),
    .seed,
    Option(
      "--fail-if", \.limits, as: "LIMIT", "fail if the condition holds: 'p99>50ms', 'rate<100/s', 'errors>0.1%'",
      isRepeatable: true
    ) { limits, word in
      limits.append(try BurstLimit(failIf: word))
    }.heading("pass or fail"),
    .baseline, .tolerance,
    Option("--allow-lost", \.plan.allowsLost, "with --reconnect: pass even if bursts were lost"),
    Option("--allow-overdue", \.plan.allowsOverdue, "with --rate: pass even if bursts began late"),
    .allowEmpty.described("with --shard: exit with 0 even if the part has nothing to do"),
    .fault.heading("the link, and how strict the device is"),
    .auth, .identification, .order, .firstWriteDelay, .infoPlist, .allProtocols, .allowRemote, .anyUser,
    Option(
      "--metrics", \.metrics, as: "tcp:HOST:PORT", "serve live metrics for Prometheus at this address during the run"
    ) { place, word in
      guard let address = try? Address(parsing: word), case .tcp = address else {
        throw UsageError("--metrics \(word): expected tcp:HOST:PORT, such as tcp:127.0.0.1:9464")
      }
      place = address
    }.heading("output"),
    .quietMessages, .transcript, .transcriptBytes, .capture, .trace, .traceLimit,
  ]
  static let rules: [OptionRule] =
    [
      .exclusive(["--size", "--payload"]), .exclusive(["--pattern", "--payload"]),
      .exclusive(["--count", "--for"]), .needs("--pause-every", "--pause"),
      .needs("--tolerance", "--baseline"),
      .exclusive(["--shard", "--baseline"], because: "'easim report show' compares the merged report"),
      .exclusive(["--shard", "--probe"]), .exclusive(["--start-at", "--probe"]),
    ]
    + [
      "--size", "--pattern", "--payload", "--count", "--for", "--sessions", "--in-flight", "--rate", "--warm-up",
      "--ramp",
      "--pause",
    ].map { .exclusive(["--plan", $0], because: "the file says it") }

  private var size: Int {
    get { plan.payload.size }
    set { plan.payload = .unique(size: newValue) }
  }

  private var count: Int {
    get { if case .bursts(let count) = plan.extent { count } else { 1 } }
    set { plan.extent = .bursts(newValue) }
  }

  private var time: Duration? {
    get { if case .time(let time) = plan.extent { time } else { nil } }
    set { plan.extent = newValue.map { .time($0) } ?? plan.extent }
  }

  /// Combines options that depend on each other, and reads the files they name.
  func wholePlan() throws -> BurstPlan {
    var plan = plan
    if pattern == .eademo { plan.payload = .eademo(size: plan.payload.size) }
    if let payload {
      let bytes = try InputFile.read(payload, option: "--payload")
      if bytes.isEmpty { throw UsageError("--payload \(payload) is empty") }
      plan.payload = .bytes(bytes)
    }
    if plan.allowsOverdue, rate == nil, planFile == nil { throw UsageError("--allow-overdue needs --rate or --plan") }
    if let rate { plan.pace = .rate(burstsPerSecond: rate.burstsPerSecond(size: plan.payload.size)) }
    if let pause { plan.pause = BurstPlan.Pause(every: pauseEvery ?? 1, length: pause) }
    plan.verification = try wholeVerification()
    plan.limits = limits
    if let planFile {
      let file = try BurstPlanFile(InputFile.read(planFile, option: "--plan"), file: planFile)
      if file.saysReplies, verification != nil || reply != nil {
        let option = verification == nil ? "--expect-reply" : "--verify"
        throw UsageError("\(option) cannot be used with \(planFile), which defines the expected answers in 'expect'")
      }
      plan = file.laid(over: plan)
    }
    if plan.allowsLost, !plan.reconnects { throw UsageError("--allow-lost needs --reconnect") }
    plan.timeout = shared.timeout
    plan.settleAfter = shared.settleAfter
    plan.protocolName = shared.protocolName
    return plan
  }

  private func wholeVerification() throws -> BurstPlan.Verification {
    guard verification == .reply || (verification == nil && reply != nil) else {
      if reply != nil { throw UsageError("--expect-reply needs --verify reply") }
      return verification == Verification.none ? .nothing : .echo
    }
    guard let reply else { throw UsageError("--verify reply needs --expect-reply HEX, LENGTH or FILE") }
    if let length = Int(reply) {
      guard 1...(256 << 20) ~= length else {
        throw UsageError("--expect-reply \(reply): expected a length from 1 to 268435456")
      }
      return .replyLength(length)
    }
    let digits = reply.hasPrefix("0x") ? String(reply.dropFirst(2)) : reply
    if reply.hasPrefix("0x") || reply.contains(" ") {
      do {
        let bytes = try Hex.parse(digits)
        if !bytes.isEmpty { return .reply(bytes) }
      } catch {
        throw UsageError("--expect-reply \(Excerpt.of(reply)): \(error)")
      }
    }
    let bytes = try InputFile.read(reply, option: "--expect-reply")
    if bytes.isEmpty { throw UsageError("--expect-reply \(reply) is empty: use --verify none") }
    return .reply(bytes)
  }

  func targets(_ console: Console) throws -> [Address] {
    let addresses = addresses.orStandardLocal
    for (index, address) in addresses.enumerated() where addresses[..<index].contains(address) {
      throw UsageError("\(address) is given twice")
    }
    guard usesAll else { return addresses }
    return try addresses.flatMap { address -> [Address] in
      guard !address.namesOneAccessory, let sighting = try media.look(at: address) else { return [address] }
      for problem in sighting.problems { console.err("easim: \(problem)") }
      let fitting = sighting.accessories.filter { accessory in
        !accessory.isNearMiss && shared.protocolName.map(accessory.mayOffer) ?? true
      }
      if fitting.isEmpty { throw CommandFailure(code: .unreachable, message: address.nothingThere) }
      return fitting.map(\.address)
    }
  }
}

extension BurstLimit {
  /// Parses a condition of `--fail-if`.
  init(failIf word: String) throws(UsageError) {
    do { try self.init(word) } catch { throw UsageError("--fail-if \(error)") }
  }
}
