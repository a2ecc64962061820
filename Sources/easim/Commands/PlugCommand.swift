import AccessoryCore
import AccessorySessions
import AccessoryUSB

extension CommandSpec {
  /// `easim plug`.
  static let plug = CommandSpec(
    name: "plug", summary: "plug USB/IP accessories into this machine's kernel, and again after each flicker",
    arguments: "usbip:HOST:PORT", argumentCount: 1...1,
    details: """
      Shows the accessories of 'easim run --on usbip:HOST:PORT', or of any USB/IP server, to this machine's kernel as USB
      devices, until Ctrl-C. One that is unplugged goes, and is plugged in again when it is back, which 'usbip attach'
      leaves to you: a flicker is a real unplug and replug. Needs root and the module vhci-hcd.
      """,
    options: [
      OptionSpec(name: "--timeout", value: "TIME", summary: "how long to wait for the first one; 10s unless said"),
      OptionSpec(name: "--for", value: "TIME", summary: "unplug after this long"), .json,
    ],
    examples: ["easim plug usbip:127.0.0.1:3240 --timeout 1s"], run: runPlug)
}

private func runPlug(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
  console.isJSON = arguments.has("--json")
  guard case .usbip(let host, let port) = try arguments.address(arguments.words[0]) else {
    throw UsageError("\(arguments.words[0]) is no USB/IP server: usbip:HOST:PORT", arguments.command)
  }
  let patience = try arguments.duration("--timeout") ?? .seconds(10)
  let limit = try arguments.duration("--for")
  let stage = try Stage()
  let plugs = Plugs(host: host, port: port, stage: stage, console)
  _ = stage.run(until: { plugs.look() }, limit: patience)
  guard plugs.hasSeenAny else {
    guard stage.signal == nil else { return .checkFailed }
    console.err(
      "easim plug: no accessory at usbip:\(host):\(port) within \(patience): \(plugs.lastProblem ?? "none there")")
    return .unreachable
  }
  let controller: VirtualHostController
  do { controller = try VirtualHostController() } catch { throw UsageError(error.description, arguments.command) }
  plugs.begin(with: controller)
  _ = stage.run(until: { plugs.failure != nil }, limit: limit)
  plugs.end()
  if let failure = plugs.failure {
    console.err("easim plug: \(failure)")
    return .checkFailed
  }
  console.err("easim: unplugged; \(plugs.count) \(plugs.count == 1 ? "time" : "times") something was plugged in")
  return .done
}

/// What is plugged into the kernel, kept so.
private final class Plugs {
  /// How often the kernel's table is looked at; the server's list only when something is missing, or now and then.
  private static let pace = Duration.milliseconds(50)
  private static let looksPerList = 20

  private let host: String
  private let port: UInt16
  private let stage: Stage
  private let console: Console
  private var controller: VirtualHostController?
  private var plugged: [String: (port: Int, offer: USBIPOffer)] = [:]
  private var offers: [USBIPOffer] = []
  private var timer: LoopTimer?
  private var looks = 0
  private(set) var hasSeenAny = false
  private(set) var lastProblem: String?
  private(set) var failure: String?
  private(set) var count = 0

  init(host: String, port: UInt16, stage: Stage, _ console: Console) {
    self.host = host
    self.port = port
    self.stage = stage
    self.console = console
    // Also keeps the loop turning while the first one is waited for.
    timer = stage.loop.schedule(after: Self.pace) { [weak self] in self?.tick() }
  }

  /// Asks the server what there is; whether there is something.
  func look() -> Bool {
    do throws(USBIPSocket.Problem) { offers = try USBIPSocket.list(host: host, port: port) } catch {
      (offers, lastProblem) = ([], error.description)
    }
    hasSeenAny = hasSeenAny || !offers.isEmpty
    return hasSeenAny
  }

  func begin(with controller: VirtualHostController) {
    self.controller = controller
    tick()
  }

  private func tick() {
    timer = stage.loop.schedule(after: Self.pace) { [weak self] in self?.tick() }
    guard let controller, failure == nil else { return }
    do throws(VirtualHostController.Problem) {
      for (busID, plug) in plugged where try !controller.isUsed(plug.port) {
        plugged[busID] = nil
        show(.detach("unplugged"))
      }
      looks += 1
      if plugged.isEmpty || looks.isMultiple(of: Self.looksPerList) { _ = look() }
      for offer in offers where plugged[offer.busID] == nil { try plugIn(offer, controller) }
    } catch {
      failure = error.description
    }
  }

  private func plugIn(_ offer: USBIPOffer, _ controller: VirtualHostController) throws(VirtualHostController.Problem) {
    switch take(offer, controller) {
    case .success(let plug):
      plugged[offer.busID] = plug
      count += 1
      lastProblem = nil
      show(.attach("this kernel's virtual port \(plug.port), from bus id \(offer.busID)"))
    case .failure(let problem as VirtualHostController.Problem): throw problem
    case .failure(let problem):
      // It may have gone since it was listed, or somebody else was quicker: the next list tells.
      if lastProblem != "\(problem)" { show(.warning("\(offer.busID) cannot be had: \(problem)")) }
      lastProblem = "\(problem)"
      offers.removeAll { $0.busID == offer.busID }
    }
  }

  private func take(
    _ offer: USBIPOffer, _ controller: VirtualHostController
  ) -> Result<(port: Int, offer: USBIPOffer), any Error> {
    Result {
      let socket = try USBIPSocket(host: host, port: port)
      let taken = try socket.take(offer.busID)
      return (try controller.attach(socket.descriptor, taken), taken)
    }
  }

  /// Unplugs everything.
  func end() {
    timer?.cancel()
    for plug in plugged.values { controller?.detach(plug.port) }
    plugged = [:]
  }

  private func show(_ kind: TimelineEvent.Kind) {
    console.show(TimelineEvent(time: stage.loop.now, side: .cable, kind: kind))
  }
}
