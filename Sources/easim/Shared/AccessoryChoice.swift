import AccessoryCables

/// The result of choosing one accessory at an address.
enum AccessoryChoice: Equatable, Sendable {
  case one(FoundAccessory)
  case nothing
  case several([FoundAccessory])
  /// None of the accessories offers the protocol.
  case unfit([FoundAccessory])

  /// Chooses an accessory that offers the protocol, or any accessory if no protocol is given.
  ///
  /// If no accessory offers the protocol, an accessory without protocols is chosen, because it may be in the first half
  /// of a flicker.
  ///
  /// - Parameter isNamed: whether the address names one accessory, for example by its serial number. The protocol of a
  ///   named accessory is not checked, because the connection will show what the accessory offers.
  init(among all: [FoundAccessory], protocolName: String? = nil, isNamed: Bool = false) {
    let usable = all.filter { !$0.isNearMiss }
    guard !usable.isEmpty else {
      self = .nothing
      return
    }
    guard let protocolName, !isNamed else {
      self = usable.count == 1 ? .one(usable[0]) : .several(usable)
      return
    }
    let offering = usable.filter { $0.protocols?.contains(protocolName) ?? true }
    let fitting = offering.isEmpty ? usable.filter { $0.mayOffer(protocolName) } : offering
    switch fitting.count {
    case 0: self = .unfit(usable)
    case 1: self = .one(fitting[0])
    default: self = .several(fitting)
    }
  }
}
