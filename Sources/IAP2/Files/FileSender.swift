/// Sends files over a file transfer session; ``FileReceiver`` is its other end.
///
/// A file is announced with its size and waits for the other end's start. Then all of it is sent once, in packets of
/// ``pieceSize``; how long a file may be is for the owner to decide.
public struct FileSender: Sendable {
  /// What is to be done.
  public enum Action: Hashable, Sendable {
    /// Send this packet.
    case send([UInt8])
    /// The other end has the file.
    case delivered(UInt8)
    /// The other end does not want it.
    case cancelled(UInt8)
  }

  /// How many bytes of a file one packet has at most; the link cuts no packets of files.
  public let pieceSize: Int
  /// The files that are announced and not delivered; those that were sent have no bytes here.
  private var files: [UInt8: [UInt8]] = [:]
  /// iPhones choose numbers from 80 on.
  private var nextID: UInt8 = 0x80

  /// A sender of pieces of this size.
  public init(pieceSize: Int) {
    self.pieceSize = max(1, pieceSize)
  }

  /// Announces a file. Its number, by which a message can name it, and the packet to send; nil when all numbers are taken.
  public mutating func begin(_ bytes: [UInt8], type: UInt16?) -> (id: UInt8, setup: [UInt8])? {
    guard let id = (0..<128).map({ 0x80 | (nextID &+ $0) }).first(where: { files[$0] == nil }) else { return nil }
    nextID = 0x80 | (id &+ 1)
    if !bytes.isEmpty { files[id] = bytes }
    let size = UInt64(bytes.count)
    let sizeBytes = (0..<8).reversed().map { UInt8(truncatingIfNeeded: size >> (8 * UInt64($0))) }
    let typeBytes = type.map { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] } ?? []
    return (id, [id, 0x04] + sizeBytes + typeBytes)
  }

  /// Whether a file is neither delivered nor cancelled.
  public func isUnderWay(_ id: UInt8) -> Bool { files[id] != nil }

  /// A packet of the other end about files.
  public mutating func receive(_ packet: [UInt8]) -> [Action] {
    guard packet.count >= 2, let bytes = files[packet[0]] else { return [] }
    let id = packet[0]
    switch packet[1] {
    case 0x01:
      files[id] = []
      return stride(from: 0, to: bytes.count, by: pieceSize).map { start in
        let end = min(start + pieceSize, bytes.count)
        let place: UInt8 = (start == 0 ? 0x80 : 0) | (end == bytes.count ? 0x40 : 0)
        return .send([id, place] + bytes[start..<end])
      }
    case 0x05:
      files[id] = nil
      return [.delivered(id)]
    case 0x02:
      files[id] = nil
      return [.cancelled(id)]
    default: return []
    }
  }
}
