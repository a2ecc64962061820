import AccessoryCore
import AccessoryHost
import AccessorySessions
import AccessoryTransports
import IAP2

extension CommandSpec {
  /// `easim send`.
  static let send = CommandSpec(
    name: "send", summary: "open a session with an accessory, send bytes and check the reply",
    arguments: "[ADDR]", argumentCount: 0...1,
    details: """
      Connect to the accessory at ADDR (default: the only one on the bench that fits) as an Apple device would, identify and
      authenticate it, wait for its protocol (through a flicker, if there is one), open a session and send.

      Exit codes: 0 verified, 1 the reply differs, 2 several accessories or protocols fit, 3 no accessory found,
      4 timed out, 5 the accessory disconnected.
      """,
    options: [
      OptionSpec(name: "--text", value: "S", summary: "send a text"),
      OptionSpec(name: "--hex", value: "H", summary: "send bytes, such as \"01 02 ff\""),
      OptionSpec(name: "--file", value: "F", summary: "send the contents of a file"),
      OptionSpec(name: "--10k", summary: "send EADemo's 10,000 bytes counting 0 to 255"),
      OptionSpec(name: "--expect", value: "echo|none|HEX", summary: "the expected reply (default none)"),
      OptionSpec(name: "--early", summary: "publish the accessory before it is authenticated, as older systems did"),
      .protocolName, .infoPlist, .allProtocols, .fault, .seed, .allowRemote, .timeout, .json, .transcript,
    ],
    examples: ["easim send --10k --expect echo", "easim send unix:/tmp/echo-1.sock --hex \"01 02\" --expect 0102"],
    run: runSend)
}

private func runSend(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
  console.isJSON = arguments.has("--json")
  let payload = try payload(arguments)
  let expectation = try expectation(arguments)
  let timeout = try arguments.duration("--timeout") ?? .seconds(10)
  let stage = try Stage(console, seed: try arguments.number("--seed", in: 0...Int.max).map { UInt64($0) })
  let sender = Sender(
    payload, expecting: expectation, protocolName: arguments.value("--protocol"), on: stage.loop,
    report: console.show)
  let host = try HostCommandContext(arguments, for: sender, on: stage, console, report: console.show)
  let ended = try host.run(until: { sender.verdict != nil || !host.app.hiddenAccessories.isEmpty }, limit: timeout) {
    sender.close()
  }
  if let verdict = sender.verdict { return verdict }
  if stage.signal != nil {
    console.err("easim: stopped by \(stage.signalName); \(sender.progress)")
    return .checkFailed
  }
  if ended || (!sender.sawAccessory && !host.hadCable) {
    console.err("easim: \(ended ? HostCommandContext.nothingVisible : host.target.explanation(within: timeout))")
    return .unreachable
  }
  console.err("easim: timed out after \(timeout); \(sender.progress)")
  return .timedOut
}

private func payload(_ arguments: ParsedArguments) throws -> [UInt8] {
  let given = ["--text", "--hex", "--file", "--10k"].filter(arguments.has)
  guard given.count == 1 else {
    throw UsageError(
      given.isEmpty
        ? "nothing to send: give --text S, --hex H, --file F or --10k"
        : "\(given.joined(separator: " and ")) cannot be combined",
      arguments.command)
  }
  let bytes = try bytesGiven(arguments)
  // An echo of nothing proves nothing, and is more likely a variable that nobody has set.
  if bytes.isEmpty {
    let path = arguments.value("--file").map { " \($0)" } ?? ""
    throw UsageError("nothing to send: \(given[0])\(path) is empty", arguments.command)
  }
  return bytes
}

private func bytesGiven(_ arguments: ParsedArguments) throws -> [UInt8] {
  if let text = arguments.value("--text") { return Array(text.utf8) }
  if let hex = arguments.value("--hex") {
    guard let bytes = try? Hex.parse(hex) else {
      throw UsageError("--hex '\(hex)': expected pairs of hex digits, such as \"01 02 ff\"", arguments.command)
    }
    return bytes
  }
  if let path = arguments.value("--file") { return try InputFile.read(path, option: "--file", arguments.command) }
  return CountingPattern.bytes(10_000)
}

private func expectation(_ arguments: ParsedArguments) throws -> Exchange.Expectation {
  switch arguments.value("--expect") {
  case nil, "none"?: return .none
  case "echo"?: return .echo
  case ""?: throw UsageError("--expect is empty: expected echo, none, or pairs of hex digits", arguments.command)
  case let hex?:
    guard let bytes = try? Hex.parse(hex) else {
      throw UsageError("--expect '\(hex)': expected echo, none, or pairs of hex digits", arguments.command)
    }
    return .bytes(bytes)
  }
}
