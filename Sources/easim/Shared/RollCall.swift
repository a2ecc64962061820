import AccessoryCables
import AccessoryCore
import AccessoryFormats
import LinuxIO

/// Connects once to each of several accessories to find out which of them speak iAP2. Roll calls are needed for media
/// such as Bluetooth that remember devices but cannot tell whether they are in range.
///
/// A roll call only listens, because an iAP2 accessory sends its detection sequence unprompted. Each connection is
/// closed as soon as its result is known.
final class RollCall {
  /// The accessories in the original order. If an accessory is unusable, its `trouble` gives the reason.
  private(set) var accessories: [FoundAccessory]
  var isOver: Bool { pending.isEmpty }

  private let finder: any AccessoryFinder
  private let loop: any EventLoop
  private var pending: Set<String>
  private var attempts: [String: any Connecting] = [:]
  private var listeners: [String: Listener] = [:]

  /// - Parameter accessories: the remembered accessories. Accessories whose `trouble` is already set are skipped.
  init(of accessories: [FoundAccessory], by finder: any AccessoryFinder, on loop: any EventLoop) {
    self.accessories = accessories
    self.finder = finder
    self.loop = loop
    pending = Set(accessories.filter { $0.trouble == nil }.map(\.key))
  }

  deinit { stop() }

  /// Starts the roll call. Results arrive in later turns of the loop.
  func start() throws {
    try finder.start { [unowned self] change in
      switch change {
      case .arrived(let accessory), .changed(let accessory, from: _): connect(to: accessory)
      case .left(let accessory, _): finish(accessory.key, .left(accessory.address))
      case .passed, .warning: break
      }
    }
  }

  /// Ends the roll call. Accessories without a result are recorded as not having answered within `limit`.
  func stop(after limit: Duration = .zero) {
    for index in accessories.indices where pending.contains(accessories[index].key) {
      accessories[index].trouble = .timedOut(accessories[index].address, after: limit)
    }
    pending = []
    finder.stop()
    for attempt in attempts.values { attempt.cancel() }
    attempts = [:]
    for listener in listeners.values { listener.close() }
    listeners = [:]
  }

  private func connect(to accessory: FoundAccessory) {
    let key = accessory.key
    guard pending.contains(key), attempts[key] == nil, listeners[key] == nil else { return }
    do throws(TransportError) {
      attempts[key] = try finder.connect(to: accessory) { [unowned self] result in
        attempts[key] = nil
        switch result {
        case .success(let opened): listen(to: opened, accessory)
        case .failure(let reason): finish(key, reason)
        }
      }
    } catch {
      finish(key, error)
    }
  }

  private func listen(to opened: OpenedCable, _ accessory: FoundAccessory) {
    listeners[accessory.key] = Listener(opened, accessory.address, on: loop) { [unowned self] trouble in
      listeners[accessory.key] = nil
      finish(accessory.key, trouble)
    }
  }

  private func finish(_ key: String, _ trouble: TransportError?) {
    guard pending.remove(key) != nil, let index = accessories.firstIndex(where: { $0.key == key }) else { return }
    accessories[index].trouble = trouble
  }
}

extension RollCall {
  /// Returns the accessories that are present. If the medium only remembers accessories, connects once to each of them
  /// to find out whether it is present.
  ///
  /// - Parameter runtime: created only if a connection is needed.
  static func of(
    _ sighting: Sighting, at address: Address, on runtime: () throws -> CommandRuntime
  ) throws -> [FoundAccessory] {
    let known = sighting.accessories
    guard sighting.isRemembered, known.contains(where: { $0.trouble == nil }) else { return known }
    let runtime = try runtime()
    // The time limit for connecting and then waiting for each accessory's first bytes.
    let limit = Duration.seconds(25)
    let finder = try media[address].makeFinder(for: address, on: runtime.loop, options: TransportOptions())
    let call = RollCall(of: known, by: finder, on: runtime.loop)
    try call.start()
    _ = runtime.run(until: { call.isOver }, limit: limit)
    call.stop(after: limit)
    return call.accessories
  }
}

private final class Listener: ChannelHandler {
  /// How long a connected accessory may take to start iAP2. Accessories repeat the detection sequence every second.
  private static let patience = Duration.seconds(5)

  private let opened: OpenedCable
  private let address: Address
  private let completion: (TransportError?) -> Void
  private var beginning = IAP2Beginning()
  private var limit: LoopTimer?
  private var isOver = false

  init(
    _ opened: OpenedCable, _ address: Address, on loop: any EventLoop, completion: @escaping (TransportError?) -> Void
  ) {
    (self.opened, self.address, self.completion) = (opened, address, completion)
    opened.cable.main.start(self)
    limit = loop.schedule(after: Self.patience) { [unowned self] in finish(silence) }
  }

  private var silence: TransportError {
    let time = DurationText.format(Self.patience)
    let what = beginning.count == 0 ? "sends nothing for \(time)" : "sends \(beginning.sample), which is not iAP2"
    return .unusable(address, "the device connects but \(what), so it may use this service for another protocol")
  }

  func channel(_ channel: any Channel, received bytes: RawSpan) {
    beginning.read(bytes)
    if beginning.isFound { finish(nil) } else if beginning.isHopeless { finish(silence) }
  }

  func channelIsWritable(_ channel: any Channel) {}

  func channel(_ channel: any Channel, endedWith end: ChannelEnd) { finish(.noLink(address, end.description)) }

  func close() {
    guard !isOver else { return }
    isOver = true
    limit?.cancel()
    opened.cable.main.close()
    opened.release()
  }

  private func finish(_ trouble: TransportError?) {
    guard !isOver else { return }
    close()
    completion(trouble)
  }
}

/// Searches a stream for the start of iAP2, which is the detection sequence or, if the accessory's link was reset, the
/// first bytes of a packet.
struct IAP2Beginning {
  private(set) var count = 0
  private(set) var isFound = false
  private var first: [UInt8] = []
  /// The last bytes that were read, kept because the start of iAP2 may be split between two reads.
  private var last: [UInt8] = []

  private static let detection: [UInt8] = [0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10]
  private static let packetStart: [UInt8] = [0xFF, 0x5A]
  /// Bytes left over from an earlier session may precede the start of iAP2.
  private static let longest = 65_536

  /// Whether so much other data has arrived that iAP2 is unlikely to start.
  var isHopeless: Bool { !isFound && count > Self.longest }

  /// The first bytes in hex, for example "41 54 0d 0a …".
  var sample: String { Hex.spaced(first) + (count > first.count ? " …" : "") }

  mutating func read(_ bytes: RawSpan) {
    for index in 0..<bytes.byteCount {
      let byte = bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
      if first.count < 8 { first.append(byte) }
      if last.count == Self.detection.count { last.removeFirst() }
      last.append(byte)
      if last == Self.detection || last.suffix(2) == Self.packetStart[...] {
        isFound = true
        break
      }
    }
    count += bytes.byteCount
  }
}
