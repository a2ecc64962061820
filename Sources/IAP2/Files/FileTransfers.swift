/// Receives files over a file transfer session. Each file is delivered either completely or not at all.
///
/// ```
///   04 setup, size ──▶  01 start  ──▶  80 first, 00 middle, 40 last (C0 for all at once)  ──▶  05 success
///                                      02 cancel ──▶ dropped          03 pause ──▶ waits
/// ```
///
/// Each packet begins with the transfer's number and one of the operations shown above. An empty file is complete once
/// its setup packet has arrived.
///
/// Invariants: no file grows beyond ``limit``, and there are never more than ``transferLimit`` transfers.
public struct FileReceiver: Sendable {
  /// An action that the caller must perform.
  public enum Action: Hashable, Sendable {
    case send([UInt8])
    case began(UInt8, size: Int)
    /// A file is complete. The file's `type` is nil if the sender did not specify one.
    case received(UInt8, type: UInt16?, [UInt8])
    /// A transfer failed; the text gives the reason.
    case failed(UInt8, String)
    /// An invalid packet arrived; the text describes the problem and includes the packet's bytes.
    case malformed(String)
  }

  private struct Transfer: Sendable {
    let size: Int
    let type: UInt16?
    var bytes: [UInt8] = []
  }

  /// The maximum size of a file.
  public let limit: Int
  /// The maximum number of simultaneous transfers.
  public static let transferLimit = 4
  private var transfers: [UInt8: Transfer] = [:]

  /// Creates a receiver for files up to this size.
  public init(limit: Int = 16 << 20) {
    self.limit = limit
  }

  /// Handles a packet from the other end.
  public mutating func receive(_ packet: [UInt8]) -> [Action] {
    guard packet.count >= 2 else {
      return [.malformed("a packet of a file transfer needs 2 bytes: \(Hex.spaced(packet))")]
    }
    let (id, data) = (packet[0], packet[2...])
    switch packet[1] {
    case 0x04: return setUp(id, data)
    case 0x80, 0x00, 0x40, 0xC0: return take(id, data, isLast: packet[1] & 0x40 != 0)
    case 0x02: return drop(id, "the sender cancelled it")
    // A pause needs no answer, and operations 01 and 05 concern files that this end sends.
    case 0x01, 0x03, 0x05: return []
    default:
      return [
        .malformed(
          "a file transfer has the unknown operation \(Hex.plain([packet[1]])): \(Hex.spaced(packet.prefix(32)))")
      ]
    }
  }

  /// Reports all incomplete files as failed, because the link is down.
  public mutating func stop() -> [Action] {
    defer { transfers = [:] }
    return transfers.keys.sorted().map { .failed($0, "the link went down") }
  }

  private mutating func setUp(_ id: UInt8, _ data: ArraySlice<UInt8>) -> [Action] {
    guard data.count >= 8 else {
      return [.malformed("the setup of file \(id) needs 8 bytes for its size: \(Hex.spaced(data.prefix(32)))")]
    }
    let again: [Action] = transfers.removeValue(forKey: id) == nil ? [] : [.failed(id, "the sender began again")]
    let size = data.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let rest = data.dropFirst(8)
    let type = rest.count >= 2 ? rest.prefix(2).reduce(UInt16(0)) { $0 << 8 | UInt16($1) } : nil
    guard size <= UInt64(limit) else {
      return again + [.send([id, 0x02]), .failed(id, "it has \(size) bytes; the limit is \(limit)")]
    }
    if size == 0 { return again + [.send([id, 0x05]), .received(id, type: type, [])] }
    guard transfers.count < Self.transferLimit else {
      return again + [.send([id, 0x02]), .failed(id, "\(Self.transferLimit) other transfers are in progress")]
    }
    transfers[id] = Transfer(size: Int(size), type: type)
    return again + [.began(id, size: Int(size)), .send([id, 0x01])]
  }

  private mutating func take(_ id: UInt8, _ data: ArraySlice<UInt8>, isLast: Bool) -> [Action] {
    guard var transfer = transfers.removeValue(forKey: id) else {
      return [.malformed("\(data.count) bytes arrived for file \(id), which was not set up")]
    }
    transfer.bytes += data
    let count = transfer.bytes.count
    guard count <= transfer.size, !isLast || count == transfer.size else {
      return [.send([id, 0x02]), .failed(id, "received \(count) bytes, but its setup announced \(transfer.size)")]
    }
    if isLast { return [.send([id, 0x05]), .received(id, type: transfer.type, transfer.bytes)] }
    transfers[id] = transfer
    return []
  }

  private mutating func drop(_ id: UInt8, _ why: String) -> [Action] {
    transfers.removeValue(forKey: id) == nil ? [] : [.failed(id, why)]
  }
}

/// Sends files over a file transfer session to a ``FileReceiver`` at the other end.
///
/// The sender announces a file and its size, and sends its bytes only after the other end starts the transfer. The file
/// is then sent in a single pass, in packets of ``pieceSize`` bytes. The caller must limit file sizes.
public struct FileSender: Sendable {
  /// An action that the caller must perform.
  public enum Action: Hashable, Sendable {
    case send([UInt8])
    case delivered(UInt8)
    case cancelled(UInt8)
  }

  /// The maximum number of file bytes per packet; the link does not split file packets.
  public let pieceSize: Int
  /// The files that have been announced but not yet delivered. A file's array is empty once all its bytes have been
  /// sent.
  private var files: [UInt8: [UInt8]] = [:]
  /// Apple devices choose transfer numbers from 80 (hex) upwards.
  private var nextID: UInt8 = 0x80

  /// Creates a sender whose packets each contain up to this many bytes of a file.
  public init(pieceSize: Int) {
    self.pieceSize = max(1, pieceSize)
  }

  /// Announces a file. Returns the packet to send and the file's number, which messages use to refer to the file.
  /// Returns nil if all file numbers are in use.
  public mutating func begin(_ bytes: [UInt8], type: UInt16?) -> (id: UInt8, setup: [UInt8])? {
    guard let id = (0..<128).map({ 0x80 | (nextID &+ $0) }).first(where: { files[$0] == nil }) else { return nil }
    nextID = 0x80 | (id &+ 1)
    if !bytes.isEmpty { files[id] = bytes }
    let size = UInt64(bytes.count)
    let sizeBytes = (0..<8).reversed().map { UInt8(truncatingIfNeeded: size >> (8 * UInt64($0))) }
    let typeBytes = type.map { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] } ?? []
    return (id, [id, 0x04] + sizeBytes + typeBytes)
  }

  /// Returns true until the file is delivered or cancelled.
  public func isUnderWay(_ id: UInt8) -> Bool { files[id] != nil }

  /// Handles a packet from the other end about a file that this end is sending.
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
