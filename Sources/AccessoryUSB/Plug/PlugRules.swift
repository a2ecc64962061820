/// Decides which devices may be attached to this machine's kernel, and from which servers.
///
/// A device from a USB/IP server can use any kernel driver; for example, a fake keyboard could type commands.
/// Therefore, only devices from trusted servers are attached and, by default, only accessories.
package struct PlugRules: Sendable {
  package var takesAnyDevice: Bool
  /// Decides whether the server at the other end of a connection is trusted. Called on the worker thread, after the
  /// server has answered.
  package var judge: @Sendable (_ connection: Int32) -> Verdict

  package enum Verdict: Equatable, Sendable {
    case trusted
    case refused(String)
    /// Whether the server is trusted is unknown, because it has closed the connection. The server's device list may be
    /// used, but no device may be attached.
    case unknown(String)
  }

  /// Creates rules that allow only accessories by default. `judge` decides which servers are trusted.
  package init(takesAnyDevice: Bool = false, judge: @escaping @Sendable (_ connection: Int32) -> Verdict) {
    self.takesAnyDevice = takesAnyDevice
    self.judge = judge
  }

  /// Refuses a server that is not trusted. `isFinal` is true if the connection is about to be handed to the kernel.
  func check(_ connection: Int32, isFinal: Bool) throws(PlugProblem) {
    switch judge(connection) {
    case .trusted: break
    case .refused(let reason): throw .server(reason)
    case .unknown(let reason): if isFinal { throw .server(reason) }
    }
  }

  /// Refuses a device if its list entry shows that its only configuration has no iAP2 interface.
  func check(_ offer: USBIPOffer) throws(PlugProblem) {
    guard !takesAnyDevice, offer.configurationCount == 1, !offer.interfaces.isEmpty else { return }
    guard !offer.interfaces.contains(.iAP) else { return }
    throw .noAccessory("its interfaces are \(offer.interfaces.map(\.description).joined(separator: ", "))")
  }

  func check(_ descriptors: USBDescriptors) throws(PlugProblem) {
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

/// Why a device on a USB/IP server was not plugged in.
public enum PlugProblem: Error, Equatable, Sendable, CustomStringConvertible {
  /// The server could not be reached or did not answer.
  case failed(String)
  case noAccessory(String)
  case server(String)

  /// The problem as a phrase.
  public var description: String {
    switch self {
    case .noAccessory(let reason):
      "it is not an accessory: \(reason); an accessory needs an interface \(USBInterface.Kind.iAP) with a bulk pair"
    case .failed(let reason), .server(let reason): reason
    }
  }
}
