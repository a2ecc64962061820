import AccessoryCore

/// A USB/IP server that offers simulated accessories to other machines' kernels as USB devices.
///
/// The server opens no socket itself. A listener passes each connection to ``accept(_:from:)``. On Linux, `usbip
/// attach` connects to the server, asks for a device, and hands the connection over to the kernel's virtual host
/// controller.
///
/// ```swift
/// let server = USBIPServer(on: loop) { print($0) }
/// let glasses = server.makeExport(USBAccessoryShape(manufacturer: "Lawaken", name: "glasses", serial: "1"))
/// glasses.plugIn { cable in simulator.attach(cable) }
/// server.accept(channel, from: "127.0.0.1")
/// ```
public final class USBIPServer {
  /// The time limit for a client to send a request, and then to read the answer.
  package static let patience = Duration.seconds(10)
  /// The time limit for a client that has imported a device to complete a transfer or to read its answers.
  package static let transferPatience = Duration.seconds(30)
  /// The maximum number of clients that have not imported a device, either because they have sent no request or because
  /// they have not read the answer. If another client connects, the server disconnects the one that has been waiting
  /// longest, so that silent clients cannot block others.
  package static let mostWaiting = 64

  private static let madeRoom = USBIPError(
    "another client connected, and of \(mostWaiting) clients without a device, this one had waited longest")

  private let loop: any EventLoop
  fileprivate let complaints: ReportLimit
  private var clients: [USBIPClient] = []
  private var exports: [USBIPExport] = []
  private var nextNumber = 1

  /// Creates a server without accessories. `report` is called with a sentence that describes a protocol error by a
  /// client.
  public init(on loop: any EventLoop, report: @escaping (String) -> Void) {
    self.loop = loop
    complaints = ReportLimit("closed connections from USB/IP clients", on: loop, log: report)
  }

  /// Adds an accessory to this server's bus without plugging it in. The accessory keeps its bus ID when it is unplugged
  /// and plugged in again.
  public func makeExport(_ shape: USBAccessoryShape) -> USBIPExport {
    let export = USBIPExport(shape, number: nextNumber)
    nextNumber += 1
    exports.append(export)
    return export
  }

  /// Serves a client that has just connected. The client's channel must not be started yet.
  public func accept(_ channel: any Channel, from peer: String) {
    loop.preconditionCurrent()
    if clients.count(where: \.isWaiting) >= Self.mostWaiting {
      clients.first(where: \.isWaiting)?.refuse(Self.madeRoom)
    }
    let client = USBIPClient(channel, from: peer, server: self, on: loop)
    clients.append(client)
    client.start()
  }

  /// Closes the connections of all clients.
  public func close() {
    for client in clients { client.close() }
    complaints.flush()
  }

  fileprivate var plugged: [USBIPExport] { exports.filter(\.isPluggedIn) }

  fileprivate func forget(_ client: USBIPClient) {
    clients.removeAll { $0 === client }
  }
}

/// One accessory on a USB/IP server.
public final class USBIPExport {
  let shape: USBAccessoryShape
  /// The device's number on the server's only bus. The bus ID contains this number.
  let number: Int
  fileprivate var onEvent: ((Cable) -> Void)?
  fileprivate var held: USBIPImport?

  init(_ shape: USBAccessoryShape, number: Int) {
    self.shape = shape
    self.number = number
  }

  /// The name by which clients request the accessory, such as "1-1".
  package var busID: String { "1-\(number)" }

  package var isPluggedIn: Bool { onEvent != nil }

  /// Plugs the accessory in, so that clients can import it. `onEvent` is called with a new cable each time a host
  /// begins to use the accessory.
  public func plugIn(_ onEvent: @escaping (Cable) -> Void) {
    precondition(self.onEvent == nil, "an accessory can be plugged in only once")
    self.onEvent = onEvent
  }

  /// Unplugs the accessory and disconnects the client that has imported it, if any.
  public func unplug() {
    onEvent = nil
    held?.unplug()
    held = nil
  }
}

/// A connection to a USB/IP server. The client sends a request and may then import a device.
private final class USBIPClient: ChannelHandler {
  private enum State {
    case asking([UInt8])
    case holding(USBIPImport, USBIPExport)
    /// The server has answered the request, but these bytes of the answer have not been sent yet.
    case leaving(rest: [UInt8])
    case over
  }

  private let channel: any Channel
  private let peer: String
  private unowned let server: USBIPServer
  private let loop: any EventLoop
  // Exclusivity checking is off because a client belongs to one loop and calls no other code while its state changes.
  @exclusivity(unchecked) private var state = State.asking([])
  private var timer: LoopTimer?

  init(_ channel: any Channel, from peer: String, server: USBIPServer, on loop: any EventLoop) {
    self.channel = channel
    self.peer = peer
    self.server = server
    self.loop = loop
  }

  var isWaiting: Bool {
    switch state {
    case .asking, .leaving: true
    case .holding, .over: false
    }
  }

  func start() {
    beginPatience(.request)
    channel.start(self)
  }

  func close() {
    if case .holding(let held, _) = state { held.unplug() } else { leave() }
  }

  private func beginPatience(_ debt: USBIPDebt) {
    timer = loop.schedule(after: debt.limit) { [weak self] in self?.refuse(USBIPError(debt.problem)) }
  }

  fileprivate func refuse(_ problem: USBIPError) {
    server.complaints.report("closed the connection of the USB/IP client at \(peer): \(problem)")
    leave()
  }

  private func leave() {
    state = .over
    timer?.cancel()
    channel.close()
    server.forget(self)
  }

  // MARK: The channel

  func channel(_ channel: any Channel, received bytes: RawSpan) {
    switch state {
    case .asking(var asked):
      bytes.withUnsafeBytes { asked.append(contentsOf: $0) }
      ask(asked)
    case .holding(let held, _):
      held.received(bytes)
      // A client that keeps sending requests without reading the answers must not exhaust the server's memory, so the
      // server stops reading requests until the client has read some answers.
      if held.isBehind { channel.pauseReading() }
    case .leaving, .over: break
    }
  }

  func channelIsWritable(_ channel: any Channel) {
    switch state {
    case .holding(let held, _):
      held.writable()
      if !held.isBehind { channel.resumeReading() }
    case .leaving(let rest): leave(with: rest)
    case .asking, .over: break
    }
  }

  func channel(_ channel: any Channel, endedWith end: ChannelEnd) {
    timer?.cancel()
    if case .holding(let held, let export) = state {
      if export.held === held { export.held = nil }
      held.connectionEnded(end)
    }
    state = .over
    server.forget(self)
  }

  // MARK: Requests before a device is imported

  private func ask(_ bytes: [UInt8]) {
    do throws(USBIPError) {
      guard let (request, size) = try USBIPHandshake.read(bytes) else {
        state = .asking(bytes)
        return
      }
      timer?.cancel()
      switch request {
      case .list:
        leave(with: USBIPHandshake.listing(server.plugged))
      case .take(let busID): take(busID, rest: Array(bytes[size...]))
      }
    } catch {
      refuse(error)
    }
  }

  private func take(_ busID: String, rest: [UInt8]) {
    guard let export = server.plugged.first(where: { $0.busID == busID }) else {
      return leave(with: USBIPHandshake.answer(.noSuchDevice))
    }
    guard export.held == nil else { return leave(with: USBIPHandshake.answer(.busy)) }
    let answer = USBIPHandshake.answer(.done) + export.record
    // If a connection cannot accept even a few hundred bytes, it is useless.
    guard channel.send(answer.span.bytes) == answer.count else { return leave() }
    let held = USBIPImport(
      export.shape, on: channel, loop: loop, onEvent: { [weak export] in export?.onEvent?($0) },
      over: { [weak self, weak export] problem in self?.importIsOver(export, problem) })
    export.held = held
    state = .holding(held, export)
    if !rest.isEmpty { held.received(rest.span.bytes) }
  }

  private func importIsOver(_ export: USBIPExport?, _ problem: USBIPError?) {
    export?.held = nil
    if let problem { refuse(problem) } else { leave() }
  }

  /// Closes the connection once the answer has been sent, or once the client has failed to read it in time.
  private func leave(with answer: [UInt8]) {
    let taken = channel.send(answer.span.bytes)
    if taken == answer.count { return leave() }
    state = .leaving(rest: Array(answer[taken...]))
    guard taken > 0 || timer?.deadline == nil else { return }
    timer?.cancel()
    beginPatience(.answer)
  }
}
