import AccessoryCore
import Glibc

/// Keeps the devices of one USB/IP server attached to the kernel. A device that disappears is attached again when it
/// reappears.
///
/// Requests are sent to the server without blocking, one at a time, and the kernel's table is checked between requests.
/// If the rules refuse a device, it is reported once and then ignored until its entry in the server's list changes.
///
/// ```swift
/// let plugs = KernelPlugs(host: "127.0.0.1", port: 3240, rules: rules, on: loop) { event in print(event) }
/// loop.run(until: { plugs.failure != nil })
/// ```
package final class KernelPlugs {
  package enum Event: Equatable, Sendable {
    case attached(busID: String, port: Int)
    case detached(busID: String)
    /// A problem that prevents this device from being plugged in. If `busID` is nil, the problem affects all devices on
    /// the server.
    case problem(busID: String?, PlugProblem)
  }

  /// The interval at which the kernel's table is checked. The server is queried less often, except when a device is
  /// missing.
  private static let pace = Duration.milliseconds(50)
  private static let looksPerList = 20

  private let host: String
  private let port: UInt16
  private let rules: PlugRules
  private let loop: any EventLoop
  private let calls = BlockingUSBCalls()
  private var onEvent: ((Event) -> Void)?
  private var plugged: [String: Int] = [:]
  private var refused: [String: USBIPOffer] = [:]
  private var timer: LoopTimer?
  private var looks = 0
  private var isAsking = false

  /// The kernel's controller, which is opened when the rules first accept a device.
  package private(set) var controller: VirtualHostController?
  /// The latest reason why no device could be attached.
  package private(set) var trouble: PlugProblem?
  /// Whether the rules have accepted any device.
  package private(set) var hasAccepted = false
  package private(set) var failure: VirtualHostController.Problem?
  package private(set) var count = 0

  package init(
    host: String, port: UInt16, rules: PlugRules, on loop: any EventLoop, _ onEvent: @escaping (Event) -> Void
  ) {
    (self.host, self.port, self.rules) = (host, port, rules)
    self.loop = loop
    self.onEvent = onEvent
    // The timer also keeps the loop running until the first device arrives.
    timer = loop.schedule(after: .zero) { [weak self] in self?.tick() }
  }

  package func end() {
    timer?.cancel()
    (timer, onEvent) = (nil, nil)
    for port in plugged.values { controller?.detach(port) }
    plugged = [:]
  }

  private func tick() {
    timer = loop.schedule(after: Self.pace) { [weak self] in self?.tick() }
    guard failure == nil else { return }
    do throws(VirtualHostController.Problem) {
      if let controller {
        for (busID, port) in plugged where try !controller.isUsed(port) {
          plugged[busID] = nil
          onEvent?(.detached(busID: busID))
        }
      }
    } catch {
      failure = error
    }
    looks += 1
    if plugged.isEmpty || looks.isMultiple(of: Self.looksPerList) { askForList() }
  }

  private func askForList() {
    guard !isAsking else { return }
    ask { [rules] connection throws(PlugProblem) in
      try connection.list(rules: rules)
    } then: { [unowned self] answer in
      switch answer {
      case .failure(let problem): note(problem, of: nil)
      case .success(let offers):
        if offers.isEmpty { trouble = .failed("the server has no accessory") }
        refused = refused.filter { offers.contains($0.value) }
        askFor(offers[...])
      }
    }
  }

  /// Imports the devices that are not attached yet, one at a time.
  private func askFor(_ offers: ArraySlice<USBIPOffer>) {
    guard timer != nil, failure == nil else { return }
    let missing = offers.drop { offer in
      plugged[offer.busID] != nil || refused[offer.busID] == offer
    }
    guard let offer = missing.first else { return }
    let rest = missing.dropFirst()
    do throws(PlugProblem) { try rules.check(offer) } catch {
      note(error, of: offer)
      return askFor(rest)
    }
    ask { [rules] connection throws(PlugProblem) in
      (connection, try connection.take(offer.busID, rules: rules))
    } then: { [unowned self] answer in
      guard timer != nil, failure == nil else { return }
      switch answer {
      case .success((let connection, let taken)): attach(connection, taken, as: offer.busID)
      case .failure(let problem): note(problem, of: offer)
      }
      askFor(rest)
    }
  }

  /// Asks `question` over a new connection on a worker thread, so that a slow answer does not block the loop.
  private func ask<Answer: Sendable>(
    _ question: @escaping @Sendable (USBIPSocket) throws(PlugProblem) -> Answer,
    then answered: @escaping (Result<Answer, PlugProblem>) -> Void
  ) {
    isAsking = true
    let report = { [weak self] (answer: Result<Answer, PlugProblem>) in
      guard let self else { return }
      isAsking = false
      answered(answer)
    }
    let (host, port, loop, bound) = (host, port, loop, LoopBound(report, on: loop))
    calls.run {
      let answer = Result { () throws(PlugProblem) in try question(try USBIPSocket(host: host, port: port)) }
      loop.execute { bound.value(answer) }
    }
  }

  private func note(_ problem: PlugProblem, of offer: USBIPOffer?) {
    let isNew = trouble != problem
    trouble = problem
    switch (problem, offer) {
    case (.noAccessory, let offer?):
      refused[offer.busID] = offer
      onEvent?(.problem(busID: offer.busID, problem))
    case (.failed, nil): break
    // The next list will show whether the device has disappeared since it was listed or has been imported by another
    // client.
    case (.failed, let offer?): if isNew { onEvent?(.problem(busID: offer.busID, problem)) }
    case (.noAccessory, nil), (.server, _): if isNew { onEvent?(.problem(busID: nil, problem)) }
    }
  }

  private func attach(_ connection: USBIPSocket, _ offer: USBIPOffer, as busID: String) {
    hasAccepted = true
    trouble = nil
    do throws(VirtualHostController.Problem) {
      let controller = if let controller { controller } else { try VirtualHostController() }
      self.controller = controller
      let port = try controller.attach(connection.descriptor, offer)
      plugged[busID] = port
      count += 1
      onEvent?(.attached(busID: busID, port: port))
    } catch {
      failure = error
    }
  }
}

/// The kernel's virtual host controller (vhci_hcd), which uses a connection to a USB/IP server to present a remote
/// device as if it were plugged into this machine.
public struct VirtualHostController: Sendable {
  /// The reason why a device cannot be plugged in.
  public struct Problem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The problem and how to fix it.
    public let description: String
  }

  struct Port: Equatable {
    var isSuperSpeed: Bool
    var number: Int
    var isFree: Bool
  }

  private let folder: SystemFolder

  /// Opens this machine's controller.
  ///
  /// - Throws: an error if the kernel has no such controller or this process has no access to it.
  public init(folder: String = "/sys/devices/platform/vhci_hcd.0") throws(Problem) {
    self.folder = SystemFolder(path: folder)
    guard access("\(folder)/status", R_OK) == 0 else {
      throw Problem(description: "this kernel has no virtual USB host controller: \(KernelModule.virtualHost.remedy)")
    }
    guard access("\(folder)/attach", W_OK) == 0 else {
      throw Problem(description: "attaching devices to the kernel needs root: run the command with sudo")
    }
  }

  /// Parses the kernel's port table, which consists of a line of headings followed by lines such as "hs 0000 004 000
  /// 00000000 000000 0-0".
  static func ports(_ table: String) -> [Port] {
    table.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      guard words.count >= 3, words[0] == "hs" || words[0] == "ss", let number = Int(words[1]) else { return nil }
      // The value 4 means that the port is free, 5 that a device is being attached, and 6 that the port is in use.
      return Port(isSuperSpeed: words[0] == "ss", number: number, isFree: words[2] == "004")
    }
  }

  /// Plugs in the device at the other end of a connection, and returns the port that the device uses. The connection
  /// then belongs to the kernel, and the caller closes its own copy.
  public func attach(_ connection: Int32, _ offer: USBIPOffer) throws(Problem) -> Int {
    let wantsSuperSpeed = offer.speed >= 5
    guard let port = try table().first(where: { $0.isFree && $0.isSuperSpeed == wantsSuperSpeed }) else {
      throw Problem(description: "every port of the virtual host controller is in use")
    }
    let code = folder.write("\(port.number) \(connection) \(offer.deviceID) \(offer.speed)", to: "attach")
    guard code == 0 else {
      throw Problem(description: "the kernel refused the device: \(String(cString: strerror(code)))")
    }
    return port.number
  }

  /// Returns true if a device is plugged into this port.
  public func isUsed(_ port: Int) throws(Problem) -> Bool {
    try table().contains { $0.number == port && !$0.isFree }
  }

  /// Unplugs the device at a port.
  public func detach(_ port: Int) {
    _ = folder.write("\(port)", to: "detach")
  }

  /// Reads the first controller's table, `status`; other controllers (`status.1` and so on) are not needed.
  private func table() throws(Problem) -> [Port] {
    guard let table = folder.read("status") else {
      throw Problem(description: "\(folder.path)/status cannot be read: \(String(cString: strerror(errno)))")
    }
    return Self.ports(table)
  }
}
