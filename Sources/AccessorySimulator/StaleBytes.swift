/// The last bytes that an accessory wrote in its sessions, for the stale-bytes quirk: what an endpoint still holds when
/// a session ends, and gives to the next.
///
/// They belong to one plug-in: a device that is connected anew finds an endpoint without a past.
struct StaleBytes: Equatable {
  private let limit: Int
  private var bytes: [UInt8] = []

  /// Keeps at most `limit` bytes.
  init(limit: Int) {
    self.limit = limit
  }

  /// A session wrote these.
  mutating func keep(_ written: RawSpan) {
    let fresh = written.extracting(max(0, written.byteCount - limit)..<written.byteCount)
    bytes.removeFirst(max(0, bytes.count + fresh.byteCount - limit))
    fresh.withUnsafeBytes { bytes.append(contentsOf: $0) }
  }

  /// Gives them to a new session.
  mutating func take() -> [UInt8] {
    defer { bytes.removeAll(keepingCapacity: true) }
    return bytes
  }
}
