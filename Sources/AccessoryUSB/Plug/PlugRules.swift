/// Which devices may be attached to this machine's kernel, and from whose server.
///
/// A device of a USB/IP server becomes a device of the kernel, which gives it to any driver: a keyboard could type.
/// So only accessories are attached, and only from trusted servers.
public struct PlugRules: Sendable {
  /// Whether other devices than accessories are attached as well.
  public var takesAnyDevice: Bool
  /// Checks a server by a connection to it. Called on the thread that asks, after the server has answered.
  public var judge: @Sendable (_ connection: Int32) -> Verdict

  /// Whether a server is trusted.
  public enum Verdict: Equatable, Sendable {
    /// What it offers is taken.
    case trusted
    /// It is not trusted, for this reason.
    case refused(String)
    /// Unknown, because the server has closed this connection. Its list can be read, but no device attached.
    case unknown(String)
  }

  /// The safe choice for devices; `judge` decides about servers.
  public init(takesAnyDevice: Bool = false, judge: @escaping @Sendable (_ connection: Int32) -> Verdict) {
    self.takesAnyDevice = takesAnyDevice
    self.judge = judge
  }

  /// Refuses a server; `isFinal` when its connection is what the kernel would get.
  func check(_ connection: Int32, isFinal: Bool) throws(PlugRefusal) {
    switch judge(connection) {
    case .trusted: break
    case .refused(let reason): throw .server(reason)
    case .unknown(let reason): if isFinal { throw .server(reason) }
    }
  }

  /// Refuses a device by its entry in the server's list, where that is enough: one whose only configuration has no
  /// interface for iAP2 need not be imported first.
  func check(_ offer: USBIPOffer) throws(PlugRefusal) {
    guard !takesAnyDevice, offer.configurationCount == 1, !offer.interfaces.isEmpty else { return }
    guard !offer.interfaces.contains(.iAP) else { return }
    throw .noAccessory("its interfaces are \(offer.interfaces.map(\.description).joined(separator: ", "))")
  }

  /// Refuses a device by its descriptors.
  func check(_ descriptors: USBDescriptors) throws(PlugRefusal) {
    switch descriptors.findIAP(active: nil) {
    case .accessory: break
    case .nearMiss(let reason): throw .noAccessory(reason)
    case .unrelated:
      let kinds = descriptors.configurations.flatMap(\.interfaces).map(\.kind.description)
      throw .noAccessory(
        kinds.isEmpty ? "it has no interface" : "its interfaces are \(kinds.joined(separator: ", "))")
    }
  }
}

/// Why something is not plugged in.
public enum PlugRefusal: Error, Equatable, Sendable, CustomStringConvertible {
  /// The device is not an accessory.
  case noAccessory(String)
  /// The server is not trusted.
  case server(String)

  /// A sentence fragment.
  public var description: String {
    switch self {
    case .noAccessory(let reason):
      "it is not an accessory: \(reason); an accessory has an interface \(USBInterface.Kind.iAP) with a bulk pair"
    case .server(let reason): reason
    }
  }
}
