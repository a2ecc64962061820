/// Certificates already read and judged, by their bytes, so that an accessory that comes back (and in a flicker each
/// comes back at once) costs a look-up instead of a parse and a chain.
///
/// Bounded in number, and in the size of what it takes: the oldest makes room. Only good certificates are kept; a bad
/// one is cheap to refuse again.
struct CertificateCache {
  struct Entry: Sendable {
    let certificate: AccessoryCertificate
    let chain: ChainFinding
  }

  /// The bytes as a key: hashed in one go rather than element by element.
  private struct Key: Hashable {
    let bytes: [UInt8]

    func hash(into hasher: inout Hasher) {
      bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
  }

  private let capacity: Int
  private let largest: Int
  private var entries: [Key: Entry] = [:]
  /// The keys in the order they came, a ring once it is full.
  private var order: [Key] = []
  private var oldest = 0

  init(capacity: Int = 512, largest: Int = 4096) {
    precondition(capacity > 0, "a cache needs room for one")
    self.capacity = capacity
    self.largest = largest
  }

  var count: Int { entries.count }

  subscript(bytes: [UInt8]) -> Entry? { entries[Key(bytes: bytes)] }

  mutating func keep(_ entry: Entry) {
    let key = Key(bytes: entry.certificate.bytes)
    guard key.bytes.count <= largest, entries[key] == nil else { return }
    if order.count < capacity {
      order.append(key)
    } else {
      entries[order[oldest]] = nil
      order[oldest] = key
      oldest = (oldest + 1) % capacity
    }
    entries[key] = entry
  }
}
