import AccessoryCore
import AccessoryHost
import AccessorySessions
import AccessoryTransports
import IAP2

extension CommandSpec {
  /// `easim send`.
  static let send = CommandSpec(
    name: "send", summary: "open a session with an accessory, send bytes and check the reply",
    details: """
      Connect to the accessory at ADDR (default: the only one on the bench that fits) as an Apple device would, identify and
      authenticate it, wait for its protocol (through a flicker, if there is one), open a session and send.

      Exit codes: 0 verified, 1 the reply differs, 2 several accessories or protocols fit, 3 no accessory found,
      4 timed out, 5 the accessory disconnected.
      """,
    examples: ["easim send --10k --expect echo", "easim send unix:/tmp/echo-1.sock --hex \"01 02\" --expect 0102"],
    run: runSend)
}

struct SendOptions: CommandOptions {
  /// What to send, as it was given.
  enum Payload: Equatable, Sendable {
    case text(String)
    case hex([UInt8])
    case file(String)
    case tenThousand
  }

  var address = Address.standardBench
  var payload: Payload?
  var expectation = Exchange.Expectation.none
  var isEarly = false
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [.address(\.address)]
  static let options: [Option<Self>] = [
    Option("--text", \.payload, as: "S", "send a text") { $0 = .text($1) },
    Option("--hex", \.payload, as: "H", "send bytes, such as \"01 02 ff\"") { payload, word in
      guard let bytes = try? Hex.parse(word) else {
        throw UsageError("--hex '\(word)': expected pairs of hex digits, such as \"01 02 ff\"")
      }
      payload = .hex(bytes)
    },
    Option("--file", \.payload, as: "F", "send the contents of a file") { $0 = .file($1) },
    Option("--10k", \.isTenThousand, "send EADemo's 10,000 bytes counting 0 to 255"),
    Option("--expect", \.expectation, as: "echo|none|HEX", "the expected reply (default none)") { expectation, word in
      switch word {
      case "none": expectation = .none
      case "echo": expectation = .echo
      case "": throw UsageError("--expect is empty: expected echo, none, or pairs of hex digits")
      default:
        guard let bytes = try? Hex.parse(word) else {
          throw UsageError("--expect '\(word)': expected echo, none, or pairs of hex digits")
        }
        expectation = .bytes(bytes)
      }
    },
    Option("--early", \.isEarly, "publish the accessory before it is authenticated, as older systems did"),
    .protocolName, .infoPlist, .allProtocols, .fault, .seed, .allowRemote, .anyUser, .timeout, .json, .transcript,
  ]
  static let rules: [OptionRule] = [.exclusive(["--text", "--hex", "--file", "--10k"])]

  private var isTenThousand: Bool {
    get { payload == .tenThousand }
    set { payload = newValue ? .tenThousand : payload }
  }

  /// The bytes to send.
  fileprivate func bytes() throws -> [UInt8] {
    let (name, bytes): (String, [UInt8]) =
      switch payload {
      case nil: throw UsageError("nothing to send: give --text S, --hex H, --file F or --10k")
      case .text(let text): ("--text", Array(text.utf8))
      case .hex(let bytes): ("--hex", bytes)
      case .file(let path): ("--file \(path)", try InputFile.read(path, option: "--file"))
      case .tenThousand: ("--10k", CountingPattern.bytes(10_000))
      }
    // An echo of nothing proves nothing, and is more likely an unset variable.
    if bytes.isEmpty { throw UsageError("nothing to send: \(name) is empty") }
    return bytes
  }
}

private func runSend(_ options: SendOptions, _ console: Console) throws -> ExitCode {
  let payload = try options.bytes()
  let timeout = options.shared.timeout
  let stage = try Stage(console, seed: options.shared.seed)
  let sender = Sender(
    payload, expecting: options.expectation, protocolName: options.shared.protocolName, on: stage.loop,
    report: console.show)
  let host = try HostCommandContext(
    options.shared, at: options.address, policy: options.isEarly ? .early : .ready, for: sender, on: stage, console,
    report: console.show)
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
