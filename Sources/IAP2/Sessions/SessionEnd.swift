/// Why an External Accessory session is over.
public enum SessionEnd: Error, Equatable, Sendable {
  /// The device closed it (EA01), or the app did.
  case closedByDevice
  /// The accessory closed it (EA03 with status 1).
  case closedByAccessory
  /// The accessory refused it before a byte had come.
  case refused
  /// The link went down under it.
  case linkDown(LinkEnd)
  /// The channel went away under it; the text says how.
  case channelEnded(String)
  /// Nobody read what had arrived, and waiting longer would have cost the whole link.
  case notRead(bytes: Int)
}

extension SessionEnd: CustomStringConvertible {
  /// A sentence fragment for messages: "the accessory closed it".
  public var description: String {
    switch self {
    case .closedByDevice: "the device closed it"
    case .closedByAccessory: "the accessory closed it"
    case .refused: "the accessory refused it"
    case .linkDown(let end): "the link went down: \(end)"
    case .channelEnded(let how): how
    case .notRead(let bytes): "nobody read the \(bytes) bytes that had arrived"
    }
  }
}
