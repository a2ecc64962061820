import AccessoryBluetooth
import AccessoryCore
import AccessoryFormats
import Glibc

extension CommandSpec {
  static let pair = CommandSpec(
    name: "pair", summary: "find Bluetooth devices, and pair one with this machine",
    details: """
      Without a device, scan for --timeout and list the devices as they appear: address, name, signal strength, and whether
      the device is an accessory (many devices reveal that only once they are paired). With bt:AA:BB:CC:DD:EE:FF, pair with
      that device and trust it, so that it may also connect to this machine. bt:hci1 and bt:hci1#AA:BB:CC:DD:EE:FF select the
      adapter.

      If the other device asks a question, easim asks you on the terminal. Without a terminal, --yes answers every question
      with yes, and --pin gives the PIN; any other question ends the pairing.
      """,
    examples: [
      "easim pair", "easim pair bt:00:AA:01:00:00:42 --yes", "easim pair bt:hci1#00:AA:01:00:00:42 --pin 0000",
    ],
    run: runPair)

  static let unpair = CommandSpec(
    name: "unpair", summary: "remove the pairing with a Bluetooth device",
    details: """
      Forget a Bluetooth device, which ends its pairing and its trust. You must pair with it again before it can connect.
      """,
    examples: ["easim unpair bt:00:AA:01:00:00:42"], run: runUnpair)
}

private struct PairOptions: CommandOptions {
  var address = Address.bluetooth(.init())
  var pin: String?
  var isYes = false
  var timeout = Duration.seconds(30)
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [.address(\.address, as: "[bt:DEVICE]")]
  static let options: [Option<Self>] = [
    Option("--timeout", \.timeout, .someTime, "how long to scan, and how long to wait for the device"),
    Option("--pin", \.pin, as: "PIN", "the PIN that the device asks for"),
    Option("--yes", \.isYes, "answer every pairing question with yes"), .json,
  ]
}

private struct UnpairOptions: CommandOptions {
  var address = Address.bluetooth(.init())
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [.address(\.address, as: "bt:DEVICE")]
  static let options: [Option<Self>] = [.timeout, .json]
}

private func selector(of address: Address, needsDevice: Bool) throws(UsageError) -> Address.BluetoothSelector {
  guard case .bluetooth(let selector) = address else {
    throw UsageError("\(address) is not on Bluetooth: bt:AA:BB:CC:DD:EE:FF")
  }
  if selector.dials != nil { throw UsageError("'dial=' is for 'easim run': bt:AA:BB:CC:DD:EE:FF") }
  if needsDevice, selector.device == nil { throw UsageError("which device? bt:AA:BB:CC:DD:EE:FF") }
  return selector
}

private func runPair(_ options: PairOptions, _ console: Console) throws -> ExitCode {
  let selector = try selector(of: options.address, needsDevice: false)
  if let pin = options.pin, !(1...16).contains(pin.utf8.count) {
    throw UsageError("--pin: a PIN has 1 to 16 characters")
  }
  let runtime = try CommandRuntime(console)
  let blueZ = BlueZ(on: runtime.loop)
  let answers = try PairingAnswers(options, blueZ, on: runtime.loop, console)
  var shown: [String: BluetoothDevice] = [:]
  var outcome: Result<BluetoothDevice, BluetoothError>?
  let pairing = Pairing(selector, by: blueZ, capability: answers.capability) { event in
    switch event {
    case .found(let device):
      // The signal strength changes all the time, which is not worth a line.
      if let before = shown[device.path],
        (before.name, before.services, before.isPaired) == (device.name, device.services, device.isPaired)
      {
        return
      }
      shown[device.path] = device
      console.show(device)
    case .begun(let device): console.err("easim: pairing with \(device.title.printable)")
    case .question(let question): answers.answer(question)
    case .paired(let device): outcome = .success(device)
    case .failed(let error): outcome = .failure(error)
    }
  }
  blueZ.start()
  let isScan = selector.device == nil
  _ = runtime.run(until: { outcome != nil || (isScan && console.hasNoReader) }, limit: options.timeout)
  pairing.stop()
  answers.close()
  switch outcome {
  case .success(let device)?:
    console.show(device, paired: true)
    return .done
  case .failure(let error)?:
    return console.end(error.exitCode, "\(answers.unanswered ?? "\(error)")")
  case nil: break
  }
  if isScan {
    console.err("easim: \(shown.count.counted("device")) seen; pair one with: easim pair bt:ADDRESS")
    return shown.isEmpty ? .unreachable : .done
  }
  if let code = runtime.stopped(console, " before the device was paired") { return code }
  return console.end(
    .unreachable,
    "\(options.address) was not seen within \(options.timeout); make the device visible (most accessories have a button "
      + "for this), and try again")
}

private func runUnpair(_ options: UnpairOptions, _ console: Console) throws -> ExitCode {
  let selector = try selector(of: options.address, needsDevice: true)
  let runtime = try CommandRuntime(console)
  let blueZ = BlueZ(on: runtime.loop)
  blueZ.start()
  _ = runtime.run(until: { blueZ.state != .starting }, limit: options.shared.timeout)
  if case .unavailable(let reason) = blueZ.state { return console.end(reason.exitCode, "\(reason)") }
  let devices = blueZ.devices.filter { $0.isMeant(by: selector) }
  guard !devices.isEmpty else { return console.end(.unreachable, "this machine has no device \(options.address)") }
  var left = devices.count
  var failure: BluetoothError?
  for device in devices {
    Pairing.remove(device, by: blueZ) { result in
      left -= 1
      if case .failure(let error) = result { failure = error }
    }
  }
  _ = runtime.run(until: { left == 0 }, limit: options.shared.timeout)
  if let failure { return console.end(failure.exitCode, "\(failure)") }
  guard left == 0 else { return console.end(.timedOut, "BlueZ did not answer within \(options.shared.timeout)") }
  for device in devices { console.show(device, paired: false) }
  return .done
}

private final class PairingAnswers {
  /// BlueZ's name for the input and output available on this machine, such as `KeyboardDisplay`.
  let capability: String
  /// The question that could not be answered, and the option that would have answered it.
  private(set) var unanswered: String?

  private let options: PairOptions
  private let blueZ: BlueZ
  private let console: Console
  private var input: LineInput?
  private var pending: ((String?) -> Void)?

  init(_ options: PairOptions, _ blueZ: BlueZ, on loop: any PollingLoop, _ console: Console) throws {
    (self.options, self.blueZ, self.console) = (options, blueZ, console)
    let isTerminal = isatty(STDIN_FILENO) == 1
    capability = isTerminal || options.pin != nil ? "KeyboardDisplay" : "NoInputNoOutput"
    if isTerminal {
      input = try LineInput(on: loop) { [unowned self] line in
        let answer = pending
        pending = nil
        answer?(line)
      }
    }
  }

  func close() { input?.close() }

  func answer(_ question: PairingAgent.Question) {
    switch question {
    case .authorization(let device, let answer):
      decide("Pair with \(name(device)) without comparing a number?", answer)
    case .confirmation(let device, let number, let answer):
      decide("Does \(name(device)) show \(PairingAgent.digits(number))?", answer)
    case .service(let device, _, let answer): decide("May \(name(device)) connect?", answer)
    case .pin(let device, let answer): ask("PIN of \(name(device)) (often 0000 or 1234):", answer)
    case .passkey(let device, let answer):
      ask("Number that \(name(device)) shows:") { text in answer(text.flatMap { UInt32($0) }) }
    case .show(let device, let text): console.err("easim: type \(text) at \(name(device))")
    case .cancelled: pending = nil
    }
  }

  private func decide(_ question: String, _ answer: @escaping (Bool) -> Void) {
    if options.isYes {
      console.err("easim: \(question) yes")
      return answer(true)
    }
    let problem = "it asks: \(question) To answer yes without a terminal, use --yes"
    prompt("\(question) [y/n]", otherwise: problem) { answer(["y", "yes"].contains($0?.lowercased())) }
  }

  private func ask(_ question: String, _ answer: @escaping (String?) -> Void) {
    if let pin = options.pin { return answer(pin) }
    prompt(question, otherwise: "it asks for a PIN: --pin PIN") { line in
      answer(line.flatMap { $0.isEmpty ? nil : $0 })
    }
  }

  private func prompt(_ text: String, otherwise problem: String, _ answer: @escaping (String?) -> Void) {
    guard let input else {
      unanswered = problem
      return answer(nil)
    }
    console.err(text)
    pending = answer
    input.want()
  }

  private func name(_ path: String) -> String {
    (blueZ.devices.first { $0.path == path }?.title ?? "the device").printable
  }
}

extension Console {
  fileprivate func show(_ device: BluetoothDevice, paired: Bool? = nil) {
    if isJSON {
      return out(
        event: paired == nil ? "found" : "result",
        [
          "on": "\(Address.bluetooth(.init(adapter: device.adapter, device: device.address)))", "name": device.name,
          "paired": paired ?? device.isPaired, "accessory": device.isAccessory, "signal": device.signal,
        ])
    }
    if let paired { return out("\(paired ? "paired" : "forgotten"): \(device.title.printable) (bt:\(device.address))") }
    let signal = device.signal.map { "\($0) dBm" } ?? "-"
    let kind = device.isAccessory ? "accessory" : device.isAppleDevice ? "Apple device" : "-"
    let state = device.isPaired ? "paired" : "-"
    out("bt:\(device.address)  \(signal)  \(kind)  \(state)  \(device.name.printable)")
  }
}

extension BluetoothError {
  fileprivate var exitCode: ExitCode {
    switch self {
    case .noLibrary, .noBus, .noService, .noAdapter, .adapterOff, .notPermitted, .notPaired, .outOfRange: .unreachable
    case .serviceTaken: .usage
    case .refused, .noSuchService: .refused
    case .timedOut: .timedOut
    case .busy, .failed: .checkFailed
    }
  }
}
