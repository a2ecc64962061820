import AccessoryCore

/// What an accessory is and does: who it says it is, how it talks, and what it answers.
///
/// A profile is a value. It is read from a JSON5 file by ``ProfileLibrary``, imported from a dump by
/// ``AccessoryImport``, or made in Swift; the simulator plays it and knows nothing of files. Its sections are the
/// sections of the file, and each has defaults, so that the shortest profile is an identity and a protocol.
///
/// ```swift
/// let glasses = try ProfileLibrary().profile("lawk-view")
/// glasses.identity.name            // "李未可 View AI眼镜"
/// glasses.protocols.map(\.name)    // ["com.lawaken.iap2"]
/// ```
public struct Profile: Equatable, Sendable {
  /// The version of the file format that this code reads.
  public static let formatVersion = 1

  /// The name in the library: the file's name without its ending.
  public var name: String
  /// One sentence for `easim profile list`.
  public var summary: String
  /// What the accessory says of itself.
  public var identity: Identity
  /// The External Accessory protocols it offers, in the order it declares them.
  public var protocols: [SessionProtocol]
  /// What it asks for when the link is set up.
  public var link: Link
  /// How it proves to be a licensed accessory.
  public var authentication: Authentication
  /// What it says about power.
  public var power: Power
  /// Which control messages it says it sends and receives.
  public var messages: Messages
  /// The transports it declares.
  public var transports: [Transport]
  /// What it is as a USB device.
  public var usb: USB
  /// What it does with the bytes of a session, unless a protocol says otherwise.
  public var behavior: Behavior
  /// Its oddities.
  public var quirks: [Quirk]

  /// A profile with defaults for everything but what an accessory is.
  public init(name: String, identity: Identity, protocols: [SessionProtocol] = []) {
    self.name = name
    summary = ""
    self.identity = identity
    self.protocols = protocols
    link = Link()
    authentication = Authentication()
    power = Power()
    messages = Messages()
    transports = [Transport(.usbHost, id: 0, name: "USB")]
    usb = USB()
    behavior = .echo
    quirks = []
  }

  /// The behaviour of one of the protocols.
  public func behavior(of entry: SessionProtocol) -> Behavior {
    entry.behavior ?? behavior
  }

  /// The quirk of that name, if the accessory has it.
  public func quirk(_ name: String) -> Quirk? {
    quirks.first { $0.name == name }
  }

  /// Gives the accessory a quirk; one of the same name is replaced, as when the command line overrides the file.
  public mutating func apply(_ quirk: Quirk) {
    quirks.removeAll { $0.name == quirk.name }
    quirks.append(quirk)
  }
}
