import AccessoryCore
import Glibc

/// A simulated accessory on a device port of this machine: a gadget in configfs whose one function is this program, by
/// FunctionFS.
///
/// It is made at once and belongs to no controller until it is plugged in, which gives it to one. It is removed when it
/// is let go. What a killed process leaves is found by ``GadgetSystem/sweep(isRunning:)``.
///
/// ```swift
/// let gadget = try Gadget(shape, controller: "fe980000.usb", owner: owner, number: 1, on: loop) { print($0) }
/// try gadget.plugIn { news in … }
/// ```
public final class Gadget {
  /// What comes of being plugged in.
  public enum News {
    /// A host began to use the accessory.
    case cable(Cable)
    /// The gadget was taken from its controller, by somebody else or because that is gone.
    case lost(String)
  }

  /// How long an accessory that closed its cable is away before it is there again: longer than any host needs to see it.
  private static let absence = Duration.milliseconds(300)
  /// How long what it had sent may take to go out when it is unplugged.
  private static let patience = Duration.milliseconds(200)

  /// The controller that it is given to.
  public let controller: String
  private let system: GadgetSystem
  private let folder: GadgetFolder
  private let loop: any PollingLoop
  private let report: (String) -> Void
  private let functions: FunctionFS
  private let transfers: KernelTransfers
  private var control: GadgetControl
  private var endpoints: GadgetEndpoints?
  private var watch: (any DescriptorWatch)?
  private var timer: LoopTimer?
  private var hear: ((News) -> Void)?
  private var isBound = false

  /// Makes a gadget.
  ///
  /// - Parameters:
  ///   - controller: its name in /sys/class/udc; the only one, when left out.
  ///   - number: tells the gadgets of one process apart.
  ///   - report: hears what is not as it should be and hinders nothing, in sentences.
  public init(
    _ shape: USBAccessoryShape, controller: String?, owner: GadgetOwner, number: Int,
    system: GadgetSystem = GadgetSystem(), on loop: any PollingLoop, report: @escaping (String) -> Void
  ) throws(GadgetError) {
    let controller = try system.controller(controller)
    try system.check()
    let name = owner.gadget(number)
    try system.checkFree(controller, for: name)
    // FunctionFS names are short and shared by the whole machine.
    let instance = "easim-\(owner.pid)-\(number)"
    let folder = GadgetFolder(system.gadgets[name])
    let missing = try folder.make(GadgetLayout(shape, instance: instance))
    do throws(GadgetError) {
      let functions = try FunctionFS(instance: instance, shape)
      self.functions = functions
      // The first pair of endpoints is the iAP interface's; those of further interfaces follow it.
      transfers = try KernelTransfers(
        incoming: functions.endpoints[0], outgoing: functions.endpoints[1], on: loop)
    } catch {
      folder.remove()
      throw error
    }
    control = GadgetControl(shape)
    (self.controller, self.system, self.folder, self.loop, self.report) = (controller, system, folder, loop, report)
    endpoints = GadgetEndpoints(transfers, on: loop) { [unowned self] in hear($0) }
    timer = loop.makeTimer { [unowned self] in timeCame() }
    transfers.willTell = { [unowned self] in takeEvents() }
    let ear = ControlEar { [weak self] in self?.takeEvents() }
    do { watch = try loop.watch(functions.control, for: .readable, ear) } catch {
      throw .refused("watch endpoint 0", code: EMFILE)
    }
    if shape.speed == .full, missing.contains("max_speed") {
      report("this kernel cannot limit the gadget to full speed: it runs at high speed if the host allows it")
    }
    for text in GadgetLayout.tooLong(shape) {
      report(
        "the string '\(text)' is longer than \(GadgetLayout.longestString) bytes: the host sees only its beginning")
    }
  }

  deinit {
    watch?.cancel()
    timer?.cancel()
    unbind()
    transfers.close()
    functions.close()
    folder.remove()
  }

  // MARK: The plug

  /// Gives it to its controller.
  public func plugIn(_ hear: @escaping (News) -> Void) throws(GadgetError) {
    precondition(self.hear == nil, "a gadget is plugged in once")
    timer?.cancel()
    unbind()
    try bind()
    self.hear = hear
  }

  /// Takes it from its controller. What was sent last gets a moment to go out.
  public func unplug() {
    hear = nil
    guard isBound, endpoints?.isLeaving == true else {
      timer?.cancel()
      return unbind()
    }
    timer?.arm(at: loop.now + Self.patience)
  }

  private func bind() throws(GadgetError) {
    let code = folder.bind(to: controller)
    switch code {
    case 0: isBound = true
    case EBUSY:
      try system.checkFree(controller, for: folder.folder.name)
      throw .refused("bind the gadget to \(controller)", code: code)
    default:
      _ = try system.controller(controller)
      throw GadgetError("bind the gadget to \(controller)", code: code)
    }
  }

  private func unbind() {
    guard isBound else { return }
    isBound = false
    folder.unbind()
    endpoints?.stop(.lost("unplugged"))
  }

  /// A closed cable: its last bytes have had their time, or the absence that follows it is over.
  private func timeCame() {
    if isBound { return leave() }
    guard let hear else { return }
    do throws(GadgetError) { try bind() } catch {
      self.hear = nil
      hear(.lost("\(error)"))
    }
  }

  /// Unplugs after a cable was closed, and comes again if the accessory is still plugged in.
  private func leave() {
    unbind()
    if hear == nil { timer?.cancel() } else { timer?.arm(at: loop.now + Self.absence) }
  }

  // MARK: What happens on the bus

  private func hear(_ news: GadgetEndpoints.News) {
    switch news {
    case .cable(let cable): hear?(.cable(cable))
    case .closed: leave()
    case .failed(let reason):
      report("a transfer failed (\(reason)): plugging the accessory in again")
      leave()
    }
  }

  /// Endpoint 0 may have something to say.
  private func takeEvents() {
    do throws(GadgetError) {
      while watch != nil {
        let events = try functions.events()
        if events.isEmpty { return }
        for event in events { handle(event) }
      }
    } catch {
      lose("\(error)")
    }
  }

  private func handle(_ event: FunctionFSEvent) {
    if event == .suspend || event == .resume { endpoints?.isAsleep = event == .suspend }
    let (reply, effect) = control.handle(event)
    if let reply { functions.reply(reply) }
    switch effect {
    // An interface of native transport has two alternate settings, and FunctionFS gives none but the first.
    case .nothing, .chosen, .haltCleared: break
    case .restarted: endpoints?.begin(packetSize: functions.packetSize ?? 512)
    case .stopped: endpoints?.stop(.closedByPeer)
    }
    if event == .unbind, isBound, folder.controller == nil { lose("it was unbound from \(controller)") }
  }

  private func lose(_ reason: String) {
    watch?.cancel()
    watch = nil
    timer?.cancel()
    unbind()
    let hear = hear
    self.hear = nil
    hear?(.lost(reason))
  }
}

/// Hears that endpoint 0 has something to say. The loop holds it, and it does not hold the gadget, which is removed by
/// being let go.
private final class ControlEar: DescriptorHandler {
  private let hear: () -> Void

  init(_ hear: @escaping () -> Void) {
    self.hear = hear
  }

  func descriptorReady(_ readiness: Readiness) {
    hear()
  }
}
