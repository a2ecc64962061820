import AccessoryCore
import Glibc
import LinuxIO

/// A simulated accessory on this machine's USB device port. The accessory is a gadget in configfs with one function,
/// which this program implements through FunctionFS.
///
/// `init` creates the gadget, `plugIn` binds it to a controller, and releasing the object removes it.
/// Before a gadget is created, gadgets left behind by killed processes are removed.
///
/// ```swift
/// let gadget = try Gadget(shape, controller: "fe980000.usb", number: 1, on: loop) { print($0) }
/// try gadget.plugIn { news in … }
/// ```
package final class Gadget {
  package enum News {
    case cable(Cable)
    /// Another program has unbound the gadget from its controller, or the controller has disappeared.
    case lost(String)
  }

  /// How long an accessory that closes its cable stays unplugged, so that every host has time to notice.
  private static let absence = Duration.milliseconds(300)
  /// How long to wait for the last bytes to be sent before unplugging.
  private static let patience = Duration.milliseconds(200)

  package let controller: String
  private let system: GadgetSystem
  private let folder: GadgetFolder
  private let loop: any PollingLoop
  private let report: (String) -> Void
  private let functions: FunctionFS
  private let transfers: KernelTransfers
  private var endpoints: GadgetEndpoints?
  private var timer: LoopTimer?
  private var onEvent: ((News) -> Void)?
  private var isBound = false

  /// - Parameters:
  ///   - controller: the controller's name in /sys/class/udc, or nil for the machine's only controller.
  ///   - number: a number that differs for each gadget in a process.
  ///   - report: called with each warning, as a sentence.
  package init(
    _ shape: USBAccessoryShape, controller: String?, number: Int, on loop: any PollingLoop,
    report: @escaping (String) -> Void
  ) throws(GadgetError) {
    let (system, owner) = (GadgetSystem(), ProcessIdentity.current)
    for name in system.sweep() { report("removed the gadget \(name), whose process has ended") }
    let controller = try system.controller(controller)
    try system.check()
    let name = owner.gadget(number)
    try system.checkFree(controller, for: name)
    // FunctionFS names must be short and unique on the machine.
    let instance = "easim-\(owner.pid)-\(number)"
    let folder = GadgetFolder(system.gadgets[name])
    try folder.make(GadgetLayout(shape, instance: instance))
    do throws(GadgetError) {
      let functions = try FunctionFS(instance: instance, shape)
      self.functions = functions
      // The first pair of endpoints belongs to the iAP2 interface.
      transfers = try KernelTransfers(
        incoming: functions.endpoints[0], outgoing: functions.endpoints[1], on: loop)
    } catch {
      folder.remove()
      throw error
    }
    (self.controller, self.system, self.folder, self.loop, self.report) = (controller, system, folder, loop, report)
    endpoints = GadgetEndpoints(transfers, on: loop) { [unowned self] in handle($0) }
    timer = loop.makeTimer { [unowned self] in timeCame() }
    transfers.willReport = { [unowned self] in takeEvents() }
    do { try functions.control.watch(for: .readable, on: loop) { [weak self] _ in self?.takeEvents() } } catch {
      throw .refused("watch endpoint 0", code: EMFILE)
    }
    if shape.speed == .full, !folder.folder["max_speed"].exists {
      report("this kernel cannot limit the gadget to full speed: it runs at high speed if the host allows it")
    }
    for text in GadgetLayout.tooLong(shape) {
      report(
        "the string '\(text)' is longer than \(GadgetLayout.longestString) bytes: the host sees only its beginning")
    }
  }

  deinit {
    timer?.cancel()
    unbind()
    transfers.close()
    functions.close()
    folder.remove()
  }

  // MARK: Plugging in and unplugging

  package func plugIn(_ onEvent: @escaping (News) -> Void) throws(GadgetError) {
    precondition(self.onEvent == nil, "a gadget can be plugged in only once")
    timer?.cancel()
    unbind()
    try bind()
    self.onEvent = onEvent
  }

  /// Unbinds the gadget from its controller after a short delay in which the last bytes can be sent.
  package func unplug() {
    onEvent = nil
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

  /// After a cable is closed, this method is called twice: first to unplug the accessory after ``patience``, then to
  /// plug it in again after ``absence``.
  private func timeCame() {
    if isBound { return leave() }
    guard let onEvent else { return }
    do throws(GadgetError) { try bind() } catch {
      self.onEvent = nil
      onEvent(.lost("\(error)"))
    }
  }

  /// After a cable is closed, unplugs the accessory and, unless ``unplug()`` was called, plugs it in again later.
  private func leave() {
    unbind()
    if onEvent == nil { timer?.cancel() } else { timer?.arm(at: loop.now + Self.absence) }
  }

  // MARK: Events on the bus

  private func handle(_ news: GadgetEndpoints.News) {
    switch news {
    case .cable(let cable): onEvent?(.cable(cable))
    case .closed: leave()
    case .failed(let reason):
      report("a transfer failed (\(reason)): plugging the accessory in again")
      leave()
    }
  }

  private func takeEvents() {
    do throws(GadgetError) {
      while functions.control.number >= 0 {
        let events = try functions.events()
        if events.isEmpty { return }
        for event in events { handle(event) }
      }
    } catch {
      lose("\(error)")
    }
  }

  private func handle(_ event: FunctionFSEvent) {
    switch event {
    case .enable: endpoints?.begin(packetSize: functions.packetSize ?? 512)
    case .disable: endpoints?.stop(.closedByPeer)
    case .unbind:
      endpoints?.stop(.closedByPeer)
      if isBound, folder.controller == nil { lose("it was unbound from \(controller)") }
    case .setup(let hostReads): functions.stall(hostReads: hostReads)
    case .suspend, .resume: endpoints?.isAsleep = event == .suspend
    case .other: break
    }
  }

  private func lose(_ reason: String) {
    functions.control.close()
    timer?.cancel()
    unbind()
    let onEvent = onEvent
    self.onEvent = nil
    onEvent?(.lost(reason))
  }
}
