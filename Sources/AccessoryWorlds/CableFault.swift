import AccessoryCore
import AccessoryFaults

/// A fault on the cables of a world, and the end that it sits at: `in` and `out` are as that end sees them.
public struct CableFault: Equatable, Sendable {
  /// What it does.
  public var fault: Fault
  /// The end it sits at.
  public var end: Cable.End

  /// A fault at one end of each cable; by default at the device's end.
  public init(_ fault: Fault, at end: Cable.End = .device) {
    self.fault = fault
    self.end = end
  }
}

/// One end of one cable of a world.
public struct CableEnd: Hashable, Sendable {
  /// Which end it is.
  public let end: Cable.End
  /// The accessory of the cable, numbered in the order in which accessories were added.
  public let accessory: Int
  /// The cable, numbered in the order in which cables were plugged in.
  public let cable: Int
}
