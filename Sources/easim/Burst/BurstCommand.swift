import AccessoryCore
import AccessoryHost
import AccessoryLoad
import AccessoryTransports

extension CommandSpec {
  /// `easim burst`.
  static let burst = CommandSpec(
    name: "burst", summary: "load test: send bursts, verify every byte, report throughput and latency",
    arguments: "[ADDR…]", argumentCount: 0...1_000,
    details: """
      Connect to each ADDR as an Apple device would (default: the only accessory on the bench that fits), open sessions and
      send bursts: one after the other, or with --rate at fixed times. With --rate, a burst that starts late is measured
      from the time it was due. Replies are compared as they arrive.

      --expect-reply takes a number of bytes in decimal, bytes in hex (0x0102, or "01 02"), or a file.
      Named links for --fault: bluetooth, bluetooth-scanning, big-writes, usb-high-speed.

      Exit codes: 0 all verified, 1 a reply differs or the result is worse than the baseline, 2 usage error, 3 no accessory
      found, 4 timed out, 5 an accessory disconnected. Ctrl-C ends the run and still writes the report.
      """,
    options: [
      OptionSpec(name: "--size", value: "N", summary: "bytes of a burst, counting 00 to ff (default 10000)"),
      OptionSpec(name: "--payload", value: "FILE", summary: "what a burst is, instead of --size bytes that count"),
      OptionSpec(name: "--count", value: "N", summary: "number of bursts over all sessions (default 100)"),
      OptionSpec(name: "--for", value: "TIME", summary: "run for TIME instead of a number of bursts"),
      OptionSpec(name: "--sessions", value: "N", summary: "number of sessions with each accessory (default 1)"),
      OptionSpec(name: "--in-flight", value: "N", summary: "most bursts under way on each session (default 1)"),
      OptionSpec(name: "--rate", value: "R", summary: "start bursts at a fixed rate: 50 (a second), 7500B/s, 100kB/s"),
      OptionSpec(name: "--warm-up", value: "TIME", summary: "send and verify for TIME before measuring"),
      OptionSpec(name: "--ramp", value: "TIME", summary: "increase the load from zero over TIME"),
      OptionSpec(name: "--pause", value: "TIME", summary: "pause for TIME after every --pause-every bursts"),
      OptionSpec(name: "--pause-every", value: "N", summary: "number of bursts between two pauses (default 1)"),
      OptionSpec(
        name: "--verify", value: "echo|reply|none", summary: "the expected reply (default echo; see --probe)",
        choices: ["echo", "reply", "none"]),
      OptionSpec(name: "--expect-reply", value: "HEX|LENGTH|FILE", summary: "the reply that --verify reply expects"),
      OptionSpec(name: "--probe", summary: "send one burst and print which --verify fits"),
      OptionSpec(name: "--reconnect", summary: "continue when an accessory comes back, and count lost bursts"),
      OptionSpec(name: "--all", summary: "use every accessory on the bench that fits"),
      OptionSpec(
        name: "--report", value: "FILE", summary: "write the report: .json, .html, .xml (JUnit), .hgrm (percentiles)",
        isRepeatable: true),
      OptionSpec(name: "--baseline", value: "FILE", summary: "fail when the result is worse than in this JSON report"),
      OptionSpec(
        name: "--tolerance", value: "PERCENT", summary: "how much worse than the baseline is accepted (default 10%)"),
      .fault, .seed, .protocolName, .infoPlist, .allProtocols, .allowRemote, .timeout, .json, .transcript,
    ],
    examples: [
      "easim burst --count 50",
      "easim burst unix:/tmp/echo-1.sock unix:/tmp/echo-2.sock --rate 100 --for 1s --report /tmp/burst.json",
      "easim burst unix:/tmp/echo-3.sock --count 20 --baseline /tmp/burst.json --tolerance 1000%",
    ],
    run: runBurst)
}

private func runBurst(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
  console.isJSON = arguments.has("--json")
  let options = try BurstOptions(arguments)
  let stage = try Stage(console, seed: try arguments.number("--seed", in: 0...Int.max).map { UInt64($0) })
  let addresses = try BurstOptions.addresses(arguments, console)
  if arguments.has("--probe") {
    guard addresses.count == 1 else { throw UsageError("--probe takes one accessory", arguments.command) }
    return try probe(addresses[0], options, arguments, stage, console)
  }
  return try BurstSession(addresses, options, arguments, stage, console).run()
}

/// `--probe`.
private func probe(
  _ address: Address, _ options: BurstOptions, _ arguments: ParsedArguments, _ stage: Stage, _ console: Console
) throws -> ExitCode {
  let probe = BurstProbe(options.plan, on: stage.loop)
  let host = try HostCommandContext(
    arguments, at: address, for: probe, on: stage, console, report: { if console.isJSON { console.show($0) } })
  let ended = try host.run(until: { probe.finding != nil }, limit: options.plan.timeout)
  guard let finding = probe.finding else {
    if stage.signal != nil {
      console.err("easim: stopped by \(stage.signalName)")
      return .checkFailed
    }
    let isThere = probe.sawAccessory || host.hadCable || ended
    console.err(
      "easim: "
        + (isThere
          ? "timed out after \(DurationText.format(options.plan.timeout))"
          : host.target.explanation(within: options.plan.timeout)))
    return isThere ? .timedOut : .unreachable
  }
  let text = finding.options.map { "\(finding): \($0)" } ?? finding.description
  console.result(passed: finding.options != nil, text, at: stage.loop.now)
  return finding.options == nil ? .checkFailed : .done
}
