import AccessoryCore
import AccessoryFormats
import CSystemd
import Glibc
import LinuxIO

/// A connection to a D-Bus bus, used on an event loop. The connection supports method calls, signals, and objects that
/// other programs may call.
///
/// The loop watches sd-bus's descriptor and sets a timer for sd-bus's next deadline, so no additional thread is needed.
/// Messages are delivered after sd-bus has returned, so a handler may call the bus or close it.
///
/// ```swift
/// let bus = try MessageBus(.system, on: loop) { error in print("D-Bus is gone: \(error)") }
/// let properties = "org.freedesktop.DBus.Properties"
/// bus.call("org.bluez", "/org/bluez/hci0", properties, "GetAll", [.string("org.bluez.Adapter1")]) { print($0) }
/// ```
package final class MessageBus: TimerHandler {
  package enum Place: Equatable, Sendable {
    /// The system bus, or the bus whose address is in DBUS_SYSTEM_BUS_ADDRESS.
    case system
    /// The bus at a D-Bus address, such as `unix:path=/tmp/bus`.
    case address(String)
  }

  package typealias Answer = Result<[BusValue], BusError>

  private let loop: any PollingLoop
  private let ended: (BusError) -> Void
  private let timer: LoopTimer
  private let source: WatchedDescriptor
  private(set) var raw: OpaquePointer?
  /// Messages that arrived during a call to sd-bus and are delivered after it.
  fileprivate var arrivals: [() -> Void] = []
  /// The calls that are waiting for answers, keyed by numbers that this object assigns.
  private var pending: [Int: (slot: BusSlot, completion: (Answer) -> Void)] = [:]
  private var nextCall = 0
  private var slots: [BusSlot] = []

  /// Starts to connect to the bus. The connection is completed on later turns of the loop. Calls can be made even
  /// before the bus is connected.
  ///
  /// - Parameter ended: called once, when the connection to the bus ends.
  /// - Throws: ``BusError`` if the bus does not exist.
  package init(_ place: Place, on loop: any PollingLoop, ended: @escaping (BusError) -> Void) throws(BusError) {
    loop.preconditionCurrent()
    self.loop = loop
    self.ended = ended
    timer = loop.makeTimer()
    let bus = try Self.open(place)
    raw = bus
    // The descriptor is duplicated because sd-bus closes its own descriptor when the bus ends, and a watch must be
    // cancelled before its descriptor is closed.
    source = WatchedDescriptor(taking: fcntl(sd_bus_get_fd(bus), F_DUPFD_CLOEXEC, 3))
    timer.handler = self
    do {
      try source.watch(for: .readable, on: loop) { [weak self] _ in self?.process() }
    } catch {
      throw .closed("\(error)")
    }
    settle()
  }

  deinit {
    stopWatching()
    slots = []
    pending = [:]
    // Queued messages, such as those that restore settings, are sent before the connection is closed.
    if let raw { Self.finish(raw) }
  }

  /// Waits up to one second for the daemon to read everything that was sent, and then closes the connection. The daemon
  /// answers calls in order, so its answer to a final call shows that it has read everything sent before.
  private static func finish(_ bus: OpaquePointer) {
    let daemon = "org.freedesktop.DBus"
    // Before the bus is ready, nothing has been sent, and sd-bus would wait 90 s for the daemon.
    if sd_bus_is_ready(bus) > 0, let message = try? makeCall(bus, daemon, "/org/freedesktop/DBus", daemon, "GetId", [])
    {
      var reply: OpaquePointer?
      // The timeout, in microseconds, prevents a daemon that does not answer from blocking this program.
      sd_bus_call(bus, message, 1_000_000, nil, &reply)
      sd_bus_message_unref(reply)
      sd_bus_message_unref(message)
    }
    // A process that is being launched holds a copy of the socket until it calls exec. Shutting down the socket ends
    // the connection despite these copies, so the bus releases the connection's names.
    shutdown(sd_bus_get_fd(bus), Int32(SHUT_RDWR))
    sd_bus_close_unref(bus)
  }

  private static func open(_ place: Place) throws(BusError) -> OpaquePointer {
    if let reason = csystemd_load() { throw .noLibrary(String(cString: reason)) }
    var bus: OpaquePointer?
    switch place {
    case .system: _ = try checked(sd_bus_open_system(&bus), "connect to the D-Bus system bus")
    case .address(let address):
      _ = try checked(sd_bus_new(&bus), "connect to D-Bus")
      var result = sd_bus_set_address(bus, address)
      if result >= 0 { result = sd_bus_set_bus_client(bus, 1) }
      if result >= 0 { result = sd_bus_start(bus) }
      if result < 0 {
        sd_bus_unref(bus)
        throw .failed("connect to D-Bus at \(address)", code: -result)
      }
    }
    guard let bus else { throw .closed("sd-bus gave no connection") }
    return bus
  }

  // MARK: - Calls

  /// Calls a method of another program.
  ///
  /// - Parameter completion: called once, in a later turn of the loop, unless the bus is released first.
  package func call(
    _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = [],
    timeout: Duration = .seconds(25), completion: @escaping (Answer) -> Void
  ) {
    loop.preconditionCurrent()
    do throws(BusError) {
      guard let raw else { throw .closed("it was closed") }
      let message = try Self.makeCall(raw, destination, path, interface, member, arguments)
      defer { sd_bus_message_unref(message) }
      nextCall += 1
      let slot = BusSlot(self) { [unowned self, number = nextCall] message in
        pending.removeValue(forKey: number)?.completion(Self.answer(in: message))
      }
      let limit = UInt64(max(1, timeout.wholeNanoseconds / 1_000))
      let result = sd_bus_call_async(raw, &slot.slot, message, BusSlot.arrived, slot.context, limit)
      _ = try checked(result, "call \(interface).\(member)")
      pending[nextCall] = (slot, completion)
    } catch {
      loop.schedule(after: .zero) { completion(.failure(error)) }
    }
    settle()
  }

  /// Calls a method and blocks until the answer arrives, but at most five seconds. Use this function only in a command
  /// that prints the answer and exits.
  package static func callAndWait(
    _ place: Place, _ destination: String, _ path: String, _ interface: String, _ member: String
  ) throws(BusError) -> [BusValue] {
    let bus = try open(place)
    defer { sd_bus_close_unref(bus) }
    let message = try makeCall(bus, destination, path, interface, member, [])
    defer { sd_bus_message_unref(message) }
    var error = sd_bus_error()
    var reply: OpaquePointer?
    let result = sd_bus_call(bus, message, 5_000_000, &error, &reply)
    defer {
      sd_bus_error_free(&error)
      sd_bus_message_unref(reply)
    }
    guard result >= 0, let reply else { throw BusError(error, result) }
    return try readValues(of: reply)
  }

  private static func makeCall(
    _ bus: OpaquePointer, _ destination: String, _ path: String, _ interface: String, _ member: String,
    _ arguments: [BusValue]
  ) throws(BusError) -> OpaquePointer {
    var message: OpaquePointer?
    _ = try checked(
      sd_bus_message_new_method_call(bus, &message, destination, path, interface, member), "call \(interface).\(member)"
    )
    guard let message else { throw .closed("sd-bus gave no message") }
    do {
      try append(arguments, to: message)
    } catch {
      sd_bus_message_unref(message)
      throw error
    }
    return message
  }

  private static func answer(in message: OpaquePointer) -> Answer {
    if sd_bus_message_is_method_error(message, nil) > 0 {
      guard let error = sd_bus_message_get_error(message) else { return .failure(.closed("an error without a name")) }
      return .failure(BusError(error.pointee, 0))
    }
    do throws(BusError) {
      return .success(try readValues(of: message))
    } catch {
      return .failure(error)
    }
  }

  // MARK: - Signals and objects

  /// Receives the signals that match a rule, such as `type='signal',sender='org.bluez'`.
  package func onSignal(_ rule: String, _ onEvent: @escaping (BusSignal) -> Void) throws(BusError) {
    guard let raw else { throw .closed("it was closed") }
    let slot = BusSlot(self) { message in
      if let values = try? readValues(of: message) { onEvent(BusSignal(message, values)) }
    }
    let result = sd_bus_add_match_async(raw, &slot.slot, rule, BusSlot.arrived, nil, slot.context)
    _ = try checked(result, "subscribe to D-Bus signals")
    slots.append(slot)
    settle()
  }

  /// Exports an object that other programs may call, until ``withdraw(_:)`` is called.
  ///
  /// - Parameter answer: called for each method call, in a later turn of the loop (see ``BusCall``).
  @discardableResult
  package func export(_ path: String, _ answer: @escaping (BusCall) -> Void) throws(BusError) -> BusSlot {
    guard let raw else { throw .closed("it was closed") }
    let slot = BusSlot(self) { message in
      guard sd_bus_message_is_method_call(message, nil, nil) > 0, let values = try? readValues(of: message) else {
        return
      }
      answer(BusCall(message, values))
    }
    let result = sd_bus_add_object(raw, &slot.slot, path, BusSlot.arrived, slot.context)
    _ = try checked(result, "export \(path)")
    slots.append(slot)
    settle()
    return slot
  }

  package func withdraw(_ object: BusSlot) {
    slots.removeAll { $0 === object }
  }

  // MARK: - The loop

  package func timerFired(_ timer: LoopTimer) { process() }

  /// Lets sd-bus read and write, and then delivers the messages that have arrived.
  private func process() {
    guard let raw else { return }
    var failure: BusError?
    // The limit lets other work on the loop run between many messages.
    for _ in 0..<64 {
      let result = sd_bus_process(raw, nil)
      if result < 0 { failure = .closed(String(cString: strerror(-result))) }
      if result <= 0 { break }
    }
    let work = arrivals
    arrivals = []
    for deliver in work { deliver() }
    if let failure { return end(failure) }
    settle()
  }

  /// Updates the watch and the timer to match what sd-bus is waiting for.
  private func settle() {
    guard let raw, source.number >= 0 else { return }
    let events = sd_bus_get_events(raw)
    var interest: Readiness = []
    if events & Int32(POLLIN) != 0 { interest.insert(.readable) }
    if events & Int32(POLLOUT) != 0 { interest.insert(.writable) }
    source.change(to: interest)
    var deadline: UInt64 = 0
    guard sd_bus_get_timeout(raw, &deadline) >= 0, deadline != .max else { return timer.cancel() }
    timer.arm(at: loop.now + .microseconds(max(0, Int64(clamping: deadline) - Self.microseconds)))
  }

  /// The current time according to the clock that sd-bus uses.
  private static var microseconds: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
  }

  private func stopWatching() {
    timer.cancel()
    source.close()
  }

  private func end(_ error: BusError) {
    guard let bus = raw else { return }
    raw = nil
    stopWatching()
    let waiting = pending.values.map(\.completion)
    pending = [:]
    slots = []
    sd_bus_close_unref(bus)
    for completion in waiting { completion(.failure(error)) }
    ended(error)
  }
}

/// A source of callbacks from sd-bus: a pending call, a match rule or an object.
package final class BusSlot {
  private unowned let bus: MessageBus
  private let deliver: (OpaquePointer) -> Void
  fileprivate var slot: OpaquePointer?

  fileprivate init(_ bus: MessageBus, _ deliver: @escaping (OpaquePointer) -> Void) {
    self.bus = bus
    self.deliver = deliver
  }

  deinit { sd_bus_slot_unref(slot) }

  fileprivate var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  fileprivate static let arrived: sd_bus_message_handler_t = { message, context, _ in
    guard let message, let context else { return 0 }
    let this = Unmanaged<BusSlot>.fromOpaque(context).takeUnretainedValue()
    let kept = sd_bus_message_ref(message)
    this.bus.arrivals.append { [this] in
      if let kept { this.deliver(kept) }
      sd_bus_message_unref(kept)
    }
    // The value 1 means that a method call has been handled.
    return sd_bus_message_is_method_call(message, nil, nil) > 0 ? 1 : 0
  }
}
