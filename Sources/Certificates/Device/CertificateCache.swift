import Glibc

/// Certificates that were parsed and verified, by their bytes: an accessory that comes back, as in every flicker,
/// costs a look-up instead of a parse and a chain.
///
/// Limited in number and size; the oldest is dropped first. Only valid certificates are kept, because refusing an
/// invalid one is cheap.
struct CertificateCache {
  struct Entry: Sendable {
    let certificate: AccessoryCertificate
    let chain: ChainFinding
  }

  /// The bytes as a key. Only the end is hashed, where the signature is, in which all certificates differ.
  private struct Key: Hashable {
    private static let hashedCount = 32
    let bytes: [UInt8]

    static func == (left: Key, right: Key) -> Bool { left.bytes.isSame(as: right.bytes) }

    func hash(into hasher: inout Hasher) {
      bytes.withUnsafeBytes { hasher.combine(bytes: .init(rebasing: $0.suffix(Self.hashedCount))) }
    }
  }

  private let capacity: Int
  private let largest: Int
  private var entries: [Key: Entry] = [:]
  /// The keys in the order they came, a ring once it is full.
  private var order: [Key] = []
  private var oldest = 0

  init(capacity: Int = 512, largest: Int = 4096) {
    precondition(capacity > 0, "a cache needs room for at least one entry")
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

extension [UInt8] {
  /// Whether both are the same bytes. `memcmp`, because certificates are long and looked up several times for each
  /// accessory: a loop over the elements took most of the time of a look-up.
  func isSame(as other: [UInt8]) -> Bool {
    guard count == other.count else { return false }
    return withUnsafeBufferPointer { own in
      other.withUnsafeBufferPointer { other in
        guard let own = own.baseAddress, let other = other.baseAddress else { return true }
        return memcmp(own, other, count) == 0
      }
    }
  }
}
