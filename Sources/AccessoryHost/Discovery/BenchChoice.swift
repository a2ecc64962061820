import AccessoryTransports

/// Which accessory on a bench is meant when its address leaves that open: the only one that fits.
public enum BenchChoice: Equatable, Sendable {
  /// This one.
  case one(BenchAccessory)
  /// Nothing is plugged in, or nothing with that serial number.
  case nothing
  /// These fit equally well.
  case several([BenchAccessory])
  /// These are plugged in, and none of them offers the protocol.
  case unfit([BenchAccessory])

  /// Chooses by serial number and by protocol, where they are given.
  ///
  /// A card without protocols may be the first half of a flicker, so such an accessory fits when nothing fits better.
  /// One that is named by its serial number is taken at its word: what it offers is then found out from itself.
  public init(among all: [BenchAccessory], serial: String? = nil, protocolName: String? = nil) {
    let named = all.filter { serial == nil || $0.card.serial == serial }
    guard !named.isEmpty else {
      self = .nothing
      return
    }
    guard serial == nil, let protocolName else {
      self = named.count == 1 ? .one(named[0]) : .several(named)
      return
    }
    let offering = named.filter { $0.card.protocols.contains(protocolName) }
    let fitting = offering.isEmpty ? named.filter(\.card.protocols.isEmpty) : offering
    switch fitting.count {
    case 0: self = .unfit(named)
    case 1: self = .one(fitting[0])
    default: self = .several(fitting)
    }
  }
}
