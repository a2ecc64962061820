import AccessoryCore
import AccessoryHost
import AccessoryLoad
import AccessoryTransports

extension CommandSpec {
  /// `easim burst`.
  static let burst = CommandSpec(
    name: "burst", summary: "load test: bursts of 10,000 bytes, every byte verified, and an honest report",
    arguments: "[ADDR…]", argumentCount: 0...1_000,
    details: """
      Connects to each ADDR as an Apple device would (default: the only accessory on the bench that fits), opens sessions
      and sends bursts: one after the other, or with --rate as many a second as asked for, whatever becomes of those
      before. A burst that begins late is measured from when it was due. What must come back is compared as it arrives.
      --expect-reply takes a length in decimal digits, bytes in hex (0x0102, or "01 02"), or a file.
      Links by name for --fault: bluetooth, bluetooth-scanning, big-writes, usb-high-speed.
      The exit code says how it went: 0 all verified, 1 something else came back or the baseline was missed, 2 wrong
      usage, 3 nobody there, 4 timed out, 5 an accessory went away. Ctrl-C ends the run, and there is still a report.
      """,
    options: [
      OptionSpec(name: "--size", value: "N", summary: "bytes of a burst, counting 00 to ff (default 10000)"),
      OptionSpec(name: "--payload", value: "FILE", summary: "what a burst is, instead of --size bytes that count"),
      OptionSpec(name: "--count", value: "N", summary: "so many bursts over all sessions (default 100)"),
      OptionSpec(name: "--for", value: "TIME", summary: "as many as there are in this time, instead of --count"),
      OptionSpec(name: "--sessions", value: "N", summary: "sessions to each accessory (default 1)"),
      OptionSpec(name: "--in-flight", value: "N", summary: "bursts under way on each session at most (default 1)"),
      OptionSpec(name: "--rate", value: "R", summary: "bursts or bytes a second in all: 50, 7500B/s, 100kB/s"),
      OptionSpec(name: "--warm-up", value: "TIME", summary: "send and verify for this long before measuring"),
      OptionSpec(name: "--ramp", value: "TIME", summary: "let the load grow for this long"),
      OptionSpec(name: "--pause", value: "TIME", summary: "pause for this long after every --pause-every bursts"),
      OptionSpec(name: "--pause-every", value: "N", summary: "after how many bursts to pause (default 1)"),
      OptionSpec(
        name: "--verify", value: "echo|reply|none", summary: "what must come back (default echo; see --probe)",
        choices: ["echo", "reply", "none"]),
      OptionSpec(name: "--expect-reply", value: "HEX|LENGTH|FILE", summary: "what must come back with --verify reply"),
      OptionSpec(name: "--probe", summary: "send one burst, and say which --verify fits"),
      OptionSpec(name: "--reconnect", summary: "go on when an accessory comes back, and count what was lost"),
      OptionSpec(name: "--all", summary: "every accessory on the bench that fits, and not only one"),
      OptionSpec(
        name: "--report", value: "FILE", summary: "write the report: .json, .html, .xml (JUnit), .hgrm (percentiles)",
        isRepeatable: true),
      OptionSpec(name: "--baseline", value: "FILE", summary: "fail when worse than this report in JSON"),
      OptionSpec(name: "--tolerance", value: "PERCENT", summary: "by how much worse is no failure (default 10%)"),
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
  let stage = try Stage(seed: try arguments.number("--seed", in: 0...Int.max).map { UInt64($0) })
  let addresses = try BurstOptions.addresses(arguments, console)
  if arguments.has("--probe") {
    guard addresses.count == 1 else { throw UsageError("--probe looks at one accessory", arguments.command) }
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
