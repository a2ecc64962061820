import AccessoryCore
import AccessorySessions
import AccessoryTransports
import AccessoryUSB

extension CommandSpec {
  /// `easim plug`.
  static let plug = CommandSpec(
    name: "plug", summary: "attach USB/IP accessories to this machine's kernel, and again after each flicker",
    arguments: "usbip:HOST:PORT", argumentCount: 1...1,
    details: """
      Attach the accessories of 'easim run --on usbip:HOST:PORT', or of any USB/IP server, to this machine's kernel as USB
      devices, until Ctrl-C. An accessory that is unplugged is attached again when it returns, which 'usbip attach' leaves
      to you, so a flicker is a real unplug and replug. Needs root and the kernel module vhci-hcd.
      """,
    options: [
      OptionSpec(name: "--timeout", value: "TIME", summary: "how long to wait for the first accessory (default 10s)"),
      OptionSpec(name: "--for", value: "TIME", summary: "unplug after TIME"), .allowRemote, .json,
    ],
    examples: ["easim plug usbip:127.0.0.1:3240 --timeout 1s"], run: runPlug)
}

private func runPlug(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
  console.isJSON = arguments.has("--json")
  let address = try arguments.address(arguments.words[0])
  guard case .usbip(let host, let port) = address else {
    throw UsageError("\(arguments.words[0]) is no USB/IP server: usbip:HOST:PORT", arguments.command)
  }
  // Nowhere else is so much believed of a stranger: this kernel gets the devices that the server describes.
  guard arguments.has("--allow-remote") || Transports.isThisMachine(host) else {
    throw TransportError.remoteNotAllowed(address)
  }
  let patience = try arguments.duration("--timeout") ?? .seconds(10)
  let limit = try arguments.duration("--for")
  let stage = try Stage()
  let plugs = Plugs(host: host, port: port, stage: stage, console)
  _ = stage.run(until: { plugs.hasSeenAny }, limit: patience)
  guard plugs.hasSeenAny else {
    guard stage.signal == nil else {
      console.err("easim: no accessory was attached")
      return .checkFailed
    }
    console.err("easim plug: no accessory at usbip:\(host):\(port) within \(patience): \(plugs.whyNone)")
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
  console.err("easim: unplugged; \(plugs.count.counted("accessory", "accessories")) attached")
  return .done
}

/// What is plugged into the kernel, kept so.
///
/// The server is asked one thing at a time, and what it does or leaves is waited for by nobody: the kernel's table is
/// looked at meanwhile, and Ctrl-C is heard.
private final class Plugs {
  /// How often the kernel's table is looked at; the server's list only when something is missing, or now and then.
  private static let pace = Duration.milliseconds(50)
  private static let looksPerList = 20

  private let stage: Stage
  private let console: Console
  private let inquiry: USBIPInquiry
  private var controller: VirtualHostController?
  private var plugged: [String: Int] = [:]
  private var timer: LoopTimer?
  private var looks = 0
  private var isAsking = false
  private var lastProblem: String?
  private(set) var hasSeenAny = false
  private(set) var failure: String?
  private(set) var count = 0

  init(host: String, port: UInt16, stage: Stage, _ console: Console) {
    self.stage = stage
    self.console = console
    inquiry = USBIPInquiry(host: host, port: port, on: stage.loop)
    // Also keeps the loop turning while the first one is waited for.
    timer = stage.loop.schedule(after: .zero) { [weak self] in self?.tick() }
  }

  /// Why nothing was seen.
  var whyNone: String { lastProblem ?? "no answer" }

  func begin(with controller: VirtualHostController) {
    self.controller = controller
  }

  private func tick() {
    timer = stage.loop.schedule(after: Self.pace) { [weak self] in self?.tick() }
    guard failure == nil else { return }
    do throws(VirtualHostController.Problem) {
      if let controller {
        for (busID, port) in plugged where try !controller.isUsed(port) {
          plugged[busID] = nil
          show(.detach("unplugged"))
        }
      }
    } catch {
      failure = error.description
    }
    looks += 1
    if plugged.isEmpty || looks.isMultiple(of: Self.looksPerList) { askForList() }
  }

  private func askForList() {
    guard !isAsking else { return }
    isAsking = true
    inquiry.list { [weak self] answer in
      guard let self else { return }
      isAsking = false
      switch answer {
      case .failure(let problem): lastProblem = problem.description
      case .success(let offers):
        if offers.isEmpty { lastProblem = "the server has no accessory" } else { hasSeenAny = true }
        askFor(offers[...])
      }
    }
  }

  /// Plugs in what is not plugged in yet, one after the other.
  private func askFor(_ offers: ArraySlice<USBIPOffer>) {
    guard let controller, timer != nil, failure == nil else { return }
    let missing = offers.drop { plugged[$0.busID] != nil }
    guard let offer = missing.first else { return }
    isAsking = true
    inquiry.take(offer.busID) { [weak self] answer in
      guard let self else { return }
      isAsking = false
      guard timer != nil, failure == nil else { return }
      switch answer {
      case .success(let taken): attach(taken, as: offer.busID, controller)
      case .failure(let problem):
        // It may have gone since it was listed, or somebody else was quicker: the next list tells.
        if lastProblem != problem.description { show(.warning("\(offer.busID) cannot be attached: \(problem)")) }
        lastProblem = problem.description
      }
      askFor(missing.dropFirst())
    }
  }

  private func attach(_ taken: USBIPInquiry.Taken, as busID: String, _ controller: VirtualHostController) {
    do throws(VirtualHostController.Problem) {
      let port = try controller.attach(taken.connection.descriptor, taken.offer)
      plugged[busID] = port
      count += 1
      lastProblem = nil
      show(.attach("this kernel's virtual port \(port), from bus id \(busID)"))
    } catch {
      failure = error.description
    }
  }

  /// Unplugs everything.
  func end() {
    timer?.cancel()
    timer = nil
    for port in plugged.values { controller?.detach(port) }
    plugged = [:]
  }

  private func show(_ kind: TimelineEvent.Kind) {
    console.show(TimelineEvent(time: stage.loop.now, side: .cable, kind: kind))
  }
}
