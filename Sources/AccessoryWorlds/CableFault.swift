import AccessoryTransports

/// A fault on the cables of a world, and the end that it sits at: `in` and `out` are as that end sees them.
public struct CableFault: Equatable, Sendable {
  /// What is done.
  public var fault: Fault
  /// Where.
  public var end: Transcript.End

  /// A fault at one end of each cable; at the device's, unless said otherwise.
  public init(_ fault: Fault, at end: Transcript.End = .device) {
    self.fault = fault
    self.end = end
  }
}

/// One end of one cable of a world.
public struct CableEnd: Hashable, Sendable {
  /// Which end.
  public let end: Transcript.End
  /// The accessory that the cable belongs to, counted in the order in which they were added.
  public let accessory: Int
  /// The cable, counted in the order in which they were plugged in.
  public let cable: Int
}
