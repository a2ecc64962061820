/// Counts a link's packets and rare events since the link was created. Reports print the counters, and tests use them
/// to check whether a seed reached a rare case.
public struct LinkCounters: Hashable, Sendable {
  /// Packets sent, including retransmissions and bare acknowledgements.
  public var packetsSent = 0
  /// Packets received with correct checksums.
  public var packetsReceived = 0
  /// Packets retransmitted after a timeout.
  public var retransmissions = 0
  /// Packets retransmitted because of an extended acknowledgement.
  public var hastened = 0
  /// Packets received again after they had been delivered.
  public var duplicates = 0
  /// Packets received while an earlier packet was missing.
  public var ahead = 0
  /// Packets received outside the window.
  public var outside = 0
  /// Packets received with a wrong payload checksum.
  public var spoiled = 0
  /// Packets dropped because a session had no room.
  public var refused = 0
  /// Bytes that belonged to no packet.
  public var skippedBytes = 0
  /// Bare acknowledgements sent.
  public var acknowledgementsSent = 0
  /// The number of times that packets had to wait for the window to open.
  public var windowStalls = 0
  /// The number of times that the sequence number wrapped from 255 to 0.
  public var sequenceWraps = 0
  /// The number of times that acknowledgements were withheld because a session had reached its limit of unread bytes.
  public var withholdings = 0
  /// Links that ended because a packet was never acknowledged.
  public var giveUps = 0
  /// Links established.
  public var establishments = 0

  /// Creates counters that are all zero.
  public init() {}

  /// Adds another link's counters.
  public static func += (left: inout LinkCounters, right: LinkCounters) {
    // The sums are written out, because a loop over key paths takes 18,000 instructions, and this code runs for every
    // link that ends.
    left.packetsSent += right.packetsSent
    left.packetsReceived += right.packetsReceived
    left.retransmissions += right.retransmissions
    left.hastened += right.hastened
    left.duplicates += right.duplicates
    left.ahead += right.ahead
    left.outside += right.outside
    left.spoiled += right.spoiled
    left.refused += right.refused
    left.skippedBytes += right.skippedBytes
    left.acknowledgementsSent += right.acknowledgementsSent
    left.windowStalls += right.windowStalls
    left.sequenceWraps += right.sequenceWraps
    left.withholdings += right.withholdings
    left.giveUps += right.giveUps
    left.establishments += right.establishments
  }
}
