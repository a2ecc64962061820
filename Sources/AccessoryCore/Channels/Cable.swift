/// What runs between an accessory and a device: one main channel for the link, and beside it, where the medium has
/// them, side channels for External Accessory sessions that bypass the link (native transport).
public struct Cable {
  /// The channel that carries iAP2.
  public let main: any Channel

  private let openSide: (UInt16) -> (any Channel)?

  /// A cable of one channel, or with a way to open the side channel of a transport component.
  public init(main: any Channel, side: @escaping (_ component: UInt16) -> (any Channel)? = { _ in nil }) {
    self.main = main
    openSide = side
  }

  /// Opens the side channel of the transport component that an identification names; nil where the medium has none.
  public func side(_ component: UInt16) -> (any Channel)? {
    openSide(component)
  }
}
