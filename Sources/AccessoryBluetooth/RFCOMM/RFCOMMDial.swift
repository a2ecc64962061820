import AccessoryCore
import CLinux
import Glibc
import LinuxIO

/// One attempt to connect to a service on a Bluetooth device. The attempt first looks up the service's channel over SDP
/// and then connects over RFCOMM.
///
/// A raw socket has two advantages over BlueZ's `ConnectProfile`. Connecting takes 45 to 60 ms rather than half a
/// second, and no service has to be registered with BlueZ, which allows only one process at a time to register it.
///
/// The kernel needs about 20 ms to close an old connection. Until the old connection is closed, the kernel refuses a
/// new one with `EBUSY` or resets both connections, so the attempt is repeated a few times.
final class RFCOMMDial: Connecting, DescriptorHandler {
  typealias Completion = (Result<BusDescriptor, BluetoothError>) -> Void

  private enum Phase {
    case pausing
    case connecting
    case asking
    case over
  }

  private let sockets: any BluetoothSockets
  private let loop: any PollingLoop
  private let local: BluetoothDeviceAddress
  private let remote: BluetoothDeviceAddress
  private let completion: Completion
  private var search: ServiceSearch
  private var channel: UInt8?
  private var phase = Phase.pausing
  private var descriptor: Int32 = -1
  private var watch: (any DescriptorWatch)?
  private var limit: LoopTimer?
  private var pause: LoopTimer?
  private var busyTries = 0

  /// The time limit for the whole attempt. Paging a device that is out of range takes about five seconds.
  static var timeout: Duration { .seconds(15) }
  private static var busyPause: Duration { .milliseconds(40) }
  private static var mostBusyTries: Int { 10 }

  /// - Parameter completion: called once, in a later turn of the loop, unless the attempt is cancelled.
  init(
    to service: String, of remote: BluetoothDeviceAddress, from local: BluetoothDeviceAddress,
    by sockets: any BluetoothSockets, on loop: any PollingLoop, completion: @escaping Completion
  ) {
    search = ServiceSearch(for: service)
    self.sockets = sockets
    self.loop = loop
    self.local = local
    self.remote = remote
    self.completion = completion
    limit = loop.schedule(after: Self.timeout) { [unowned self] in finish(.failure(.timedOut)) }
    // The attempt starts on a later turn of the loop, so even an immediate failure is reported after this initializer
    // returns.
    pause = loop.schedule(after: .zero) { [unowned self] in open() }
  }

  deinit { release() }

  func cancel() {
    phase = .over
    release()
  }

  private func release() {
    limit?.cancel()
    pause?.cancel()
    drop()
  }

  private func drop() {
    watch?.cancel()
    watch = nil
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
  }

  private func finish(_ result: Result<BusDescriptor, BluetoothError>) {
    if case .over = phase { return }
    phase = .over
    release()
    completion(result)
  }

  private func open() {
    do {
      phase = .connecting
      descriptor = try sockets.connect(channel, from: local, to: remote)
      watch = try loop.watch(descriptor, for: .writable, self)
    } catch let error as SystemError {
      failed(error.code)
    } catch {
      finish(.failure(.failed("\(error)")))
    }
  }

  func descriptorReady(_ readiness: Readiness) {
    switch phase {
    case .asking: receive()
    case .connecting:
      let code = SocketOptions.pendingError(of: descriptor)
      if code != 0 { return failed(code) }
      if channel == nil {
        phase = .asking
        watch?.change(to: .readable)
        return send(search.start())
      }
      watch?.cancel()
      watch = nil
      let connected = BusDescriptor(taking: descriptor)
      descriptor = -1
      finish(.success(connected))
    case .pausing, .over: break
    }
  }

  private func send(_ packet: [UInt8]) {
    let count = packet.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    if count < 0 { failed(errno) }
  }

  private func receive() {
    let packet = loop.withReadBuffer { buffer -> [UInt8]? in
      let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      return count > 0 ? Array(buffer[..<count]) : nil
    }
    guard let packet else {
      if errno == EAGAIN || errno == EINTR { return }
      return failed(ECONNRESET)
    }
    switch search.receive(packet) {
    case .send(let next): send(next)
    case .found(let channel):
      self.channel = channel
      drop()
      open()
    case .absent: finish(.failure(.noSuchService))
    case .failed(let what): finish(.failure(.failed("the device's service list cannot be read: \(what)")))
    }
  }

  private func failed(_ code: Int32) {
    drop()
    let isOwnKernel = code == EBUSY || (code == ECONNRESET && phase != .asking)
    if isOwnKernel, busyTries < Self.mostBusyTries {
      busyTries += 1
      phase = .pausing
      pause = loop.schedule(after: Self.busyPause) { [unowned self] in open() }
      return
    }
    finish(.failure(BluetoothError(connecting: code)))
  }
}

/// Makes Bluetooth connections. Tests use a substitute for the kernel.
package protocol BluetoothSockets: Sendable {
  /// Starts to connect. Returns a descriptor that becomes writable when the attempt succeeds or fails.
  ///
  /// - Parameter channel: an RFCOMM channel, which carries a stream of bytes, or nil for the device's SDP server, on PSM
  ///   1 of L2CAP, which exchanges packets.
  func connect(
    _ channel: UInt8?, from local: BluetoothDeviceAddress, to remote: BluetoothDeviceAddress
  ) throws(SystemError) -> Int32

  /// Returns true if this machine can listen on an RFCOMM channel.
  func isFree(channel: UInt8) -> Bool
}

/// Linux's Bluetooth sockets. Connecting needs no privileges.
package struct KernelSockets: BluetoothSockets {
  package init() {}

  /// Begins connecting. The connection must be encrypted, so the devices have to be paired.
  package func connect(
    _ channel: UInt8?, from local: BluetoothDeviceAddress, to remote: BluetoothDeviceAddress
  ) throws(SystemError) -> Int32 {
    let descriptor = clinux_bluetooth_connect(Int32(channel ?? 0), local.lowestFirst, remote.lowestFirst)
    if descriptor < 0 { throw SystemError("connect to \(remote)", code: errno) }
    return descriptor
  }

  package func isFree(channel: UInt8) -> Bool { clinux_bluetooth_is_free(Int32(channel)) != 0 }
}

extension DescriptorChannel {
  /// The maximum length of an iAP2 packet, chosen so that a packet fits into one RFCOMM frame on most connections. The
  /// two sides agree on a frame length, which Linux does not report. Linux offers frames of 1,008 bytes, and Android
  /// offers 990. If the sides agree on a shorter length, a packet takes two frames.
  ///
  /// Packets of 667 bytes would fit into L2CAP's default size on every connection. With such small packets, 10,000
  /// bytes would need 16 frames rather than 11, and an echo would take 8 % longer (`docs/dev/performance.md`).
  package static let bluetoothFrame = 990

  /// Creates a channel over an RFCOMM connection. Returns nil if the descriptor has already been taken.
  convenience init?(_ descriptor: BusDescriptor, on loop: any PollingLoop) {
    let number = descriptor.take()
    guard number >= 0 else { return nil }
    let flags = fcntl(number, F_GETFL)
    if flags >= 0 { _ = fcntl(number, F_SETFL, flags | O_NONBLOCK) }
    self.init(taking: number, as: .frames(longest: Self.bluetoothFrame), on: loop)
  }
}
