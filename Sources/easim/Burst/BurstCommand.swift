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

      A run passes if it did everything you asked for. It fails if it is stopped before its --count or --for, if bursts of
      --rate began late (--allow-overdue permits that), if bytes arrive within --settle-after after the last expected one, or
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
    run: runBurst)
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
    console.err("easim: shard \(shard) has nothing to do: there are fewer accessories or bursts than shards")
    var report = BurstReport.empty(plan, shard)
    report.allowsEmpty = options.shared.allowsEmpty
    output.write(report)
    return report.passed ? .done : .checkFailed
  }
  let session = try BurstSession(
    Array(addresses[share]), part, options.shared, output, runtime, console)
  session.wholePlan = plan
  if let start = options.start { try session.begin(at: start) }
  if let metrics = options.metrics { try session.serveMetrics(at: metrics, options.shared) }
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
      : host.target.explanation(within: plan.timeout)
    console.err("easim: \(text)")
    return code
  }
  let text = finding.options.map { "\(finding): \($0)" } ?? finding.description
  console.result(Verdict(reasons: finding.options == nil ? [text] : []), text, at: runtime.loop.now)
  return finding.options == nil ? .checkFailed : .done
}
