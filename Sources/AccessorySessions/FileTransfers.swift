import AccessoryCore
import IAP2

/// The file transfers over one cable, in both directions: the state machines ``FileReceiver`` and ``FileSender``, and
/// the handling of received files.
public final class FileTransfers {
  /// Stores a complete file. Returns a description of what was done with the file, for the timeline.
  public typealias Keeper = (_ id: UInt8, _ bytes: [UInt8]) -> String

  private var receiver = FileReceiver()
  private var sender: FileSender
  private let send: ([UInt8]) -> Void
  private let keep: Keeper?
  private let report: (TimelineEvent.Kind) -> Void

  /// Creates the transfers for a cable whose packets hold up to `packetLimit` bytes. If `keep` is nil, received files
  /// are dropped.
  public init(
    packetLimit: Int, keep: Keeper?, send: @escaping ([UInt8]) -> Void, report: @escaping (TimelineEvent.Kind) -> Void
  ) {
    sender = FileSender(pieceSize: packetLimit - 2)
    self.keep = keep
    self.send = send
    self.report = report
  }

  /// Handles a file transfer packet.
  public func receive(_ packet: [UInt8]) {
    for action in receiver.receive(packet) { perform(action) }
    for action in sender.receive(packet) {
      switch action {
      case .send(let packet): send(packet)
      case .delivered(let id): report(.note("file \(id) was delivered"))
      case .cancelled(let id): report(.note("file \(id) was cancelled by the other end"))
      }
    }
  }

  /// Returns true until the file, which this side is sending, has been delivered or cancelled.
  public func isUnderWay(_ id: UInt8) -> Bool { sender.isUnderWay(id) }

  /// Sends a file. Returns the number that messages use to refer to the file, or nil if too many files are being sent.
  public func begin(_ bytes: [UInt8], type: UInt16?) -> UInt8? {
    guard let (id, setup) = sender.begin(bytes, type: type) else { return nil }
    send(setup)
    return id
  }

  /// Stops all transfers, because the link is down.
  public func stop() {
    for action in receiver.stop() { perform(action) }
  }

  private func perform(_ action: FileReceiver.Action) {
    switch action {
    case .send(let packet): send(packet)
    case .began(let id, let size): report(.note("file \(id) begins: \(size.counted("byte"))"))
    case .received(let id, _, let bytes):
      let fate = keep.map { $0(id, bytes) } ?? "not kept"
      report(.note("file \(id) received: \(bytes.count.counted("byte")), \(fate)"))
    case .failed(let id, let why): report(.warning("file \(id) was not received: \(why)"))
    case .malformed(let text): report(.warning(text))
    }
  }
}
