import AccessoryCables
import AccessoryControl
import AccessoryCore
import AccessoryFormats
import AccessorySessions
import Glibc
import LinuxIO

/// The socket, in the standard local directory, that lets Wireshark record the cables of a running easim program. Only
/// processes run by the same user can connect.
///
/// A client sends a single line. The answer to `list` is one JSON object per accessory. The answer to `record ID` is a
/// pcapng stream of that accessory's cables. The stream continues until the client or easim closes the connection.
///
/// A slow reader never delays a cable. If a reader leaves too many bytes unread, its connection is closed.
final class CaptureServer {
  typealias Offer = ControlServer.Recordable

  static let mostReaders = 64

  private let offers: () -> [Offer]
  private let loop: any PollingLoop
  fileprivate let console: Console
  private var listener: (any Listener)?
  private var readers: [CaptureReader] = []
  /// The key of the most recent capture. The control protocol's captures have positive keys.
  private var lastKey = 0

  init(on loop: any PollingLoop, _ console: Console, offers: @escaping () -> [Offer]) throws {
    (self.offers, self.loop, self.console) = (offers, loop, console)
    let local = LocalDirectory.standard()
    try local.make()
    // Removes the stale socket left behind by a process that was killed.
    local.sweep()
    var options = TransportOptions()
    options.locksUnixPath = false
    listener = try local.creatingSocket {
      try Transports.listen(at: .unix(path: local.captureSocket(of: getpid())), on: loop, options: options) {
        [weak self] event in self?.handle(event)
      }
    }
  }

  private func handle(_ event: ListenerEvent) {
    guard case .accepted(let cable, _) = event, readers.count < Self.mostReaders,
      let descriptor = (cable.main as? DescriptorChannel)?.release()
    else { return }
    do {
      readers.append(try CaptureReader(takingSocket: descriptor, on: loop, of: self))
    } catch { console.err("easim: a capture reader could not be served: \(error)") }
  }

  fileprivate func answer(_ request: String, _ reader: CaptureReader) {
    let words = request.split(separator: " ", maxSplits: 1).map(String.init)
    switch (words.first, words.count) {
    case ("list", 1):
      for offer in offers() {
        reader.send(Array("\(JSONObject(["id": offer.id, "title": offer.title]).text)\n".utf8))
      }
      reader.finish()
    case ("record", 2):
      guard let offer = offers().first(where: { $0.id == words[1] }) else { return reader.finish() }
      lastKey -= 1
      reader.record(offer, lastKey)
    default: reader.finish()
    }
  }

  func note(_ event: TimelineEvent) {
    for reader in readers { reader.recorder?.note(CaptureFile.comment(on: event), at: event.time) }
  }

  fileprivate func remove(_ reader: CaptureReader) { readers.removeAll { $0 === reader } }

  func close() {
    listener?.close()
    listener = nil
    let open = readers
    readers = []
    for reader in open { reader.close() }
  }
}

extension ControlServer.Recordable {
  /// A title such as "Lawk View at local:", or just the address until the accessory is known.
  fileprivate var title: String { name.isEmpty ? place : "\(name) at \(place)" }
}

private final class CaptureReader {
  /// The maximum number of bytes that may wait for a slow reader.
  private static let mostUnread = 64 << 20
  private static let longestRequest = 256

  private let stream: any ByteStream
  private let loop: any PollingLoop
  private weak var server: CaptureServer?
  private var request: [UInt8]? = []
  private var unsent = ByteQueue()
  private var isFinishing = false
  private var isOver = false
  private(set) var recorder: CaptureRecorder?
  private var recorded: (taps: CableTaps, key: Int)?

  init(takingSocket socket: Int32, on loop: any PollingLoop, of server: CaptureServer) throws {
    (self.loop, self.server) = (loop, server)
    stream = try DescriptorStream(takingSocket: socket, on: loop)
    stream.start(self)
    stream.resumeReading()
  }

  func record(_ offer: CaptureServer.Offer, _ key: Int) {
    let recorder = CaptureRecorder(
      program: "easim \(Version.current)", epoch: offer.epoch, comment: "easim: \(offer.title)"
    ) { [weak self] block in
      guard let self, !isOver else { return }
      guard unsent.count + block.count <= Self.mostUnread else {
        server?.console.err(
          "easim: Wireshark left more than \(Self.mostUnread >> 20) MiB unread, so its capture was ended")
        // Closes the connection on a later turn of the loop, because a cable is still using this block to record.
        return leave()
      }
      send(block)
    }
    self.recorder = recorder
    recorded = (offer.taps, key)
    offer.taps.add(key) { _, protocolName in
      recorder.witness(named: offer.place, description: offer.name, side: protocolName)
    }
  }

  func send(_ bytes: [UInt8]) {
    guard !isOver else { return }
    unsent.append(contentsOf: bytes)
    flush()
  }

  func finish() {
    isFinishing = true
    flush()
  }

  private func flush() {
    guard !isOver else { return }
    while !unsent.isEmpty {
      let taken = unsent.withBytes { stream.send($0) }
      if taken == 0 { return }
      unsent.removeFirst(taken)
    }
    if isFinishing { stream.endOutput() }
  }

  private func leave() {
    isOver = true
    unsent = ByteQueue()
    loop.schedule(after: .zero) { [self] in close() }
  }

  func close() {
    isOver = true
    if let recorded { recorded.taps.remove(recorded.key) }
    (recorded, recorder) = (nil, nil)
    stream.close()
    server?.remove(self)
  }
}

extension CaptureReader: ByteStreamHandler {
  func stream(_ stream: any ByteStream, received bytes: RawSpan) -> Int {
    guard let begun = request else { return bytes.byteCount }
    let line = begun + bytes.withUnsafeBytes { Array($0.prefix(Self.longestRequest)) }
    if let end = line.firstIndex(of: UInt8(ascii: "\n")) {
      request = nil
      server?.answer(String(decoding: line[..<end], as: UTF8.self), self)
    } else if line.count > Self.longestRequest {
      request = nil
      finish()
    } else {
      request = line
    }
    return bytes.byteCount
  }

  func stream(_ stream: any ByteStream, inputEndedBecause reason: String?) { if !isFinishing { leave() } }
  func streamIsWritable(_ stream: any ByteStream) { flush() }
  func stream(_ stream: any ByteStream, outputBrokeBecause reason: String?) { leave() }
  func streamOutputEnded(_ stream: any ByteStream) { leave() }
}

/// A blocking connection to a Unix socket, for sending and receiving lines of text.
final class ControlLine {
  let descriptor: Int32
  private var rest: [UInt8] = []

  /// Connects. If `seconds` is given, connecting and receiving fail after that many seconds without data.
  init?(path: String, seconds: Int? = nil) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    if let seconds {
      var limit = timeval(tv_sec: seconds, tv_usec: 0)
      for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
        setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
      }
    }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let isConnected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
    }
    guard isConnected == 0 else { return nil }
  }

  deinit { close(descriptor) }

  func send(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return }
      bytes = bytes.dropFirst(count)
    }
  }

  func receive() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      if let end = rest.firstIndex(of: 0x0A) {
        defer { rest.removeFirst(end + 1) }
        return Array(rest[..<end])
      }
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return nil }
      rest += buffer[0..<count]
    }
  }
}
