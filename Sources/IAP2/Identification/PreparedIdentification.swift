/// An identification with the message that carries it, written once: an accessory says the same each time it is
/// attached.
///
/// ```swift
/// let whole = PreparedIdentification(identification)
/// let peer = AccessoryPeer(identification: whole)        // and again for the next cable
/// ```
public final class PreparedIdentification: Sendable {
  /// Who the accessory is.
  public let identification: Identification
  /// How it says so.
  let message: ControlMessage

  /// Writes the message.
  public init(_ identification: Identification) {
    self.identification = identification
    message = identification.message
  }
}
