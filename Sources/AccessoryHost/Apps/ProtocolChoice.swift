import AccessoryFormats

/// Chooses the protocol on which an app opens a session.
public enum ProtocolChoice {
  /// Why no protocol can be chosen; the description is a sentence fragment with the nearest right name.
  public struct Refusal: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong, and which protocols are offered.
    public let description: String
  }

  /// The wanted protocol, or the only one that is offered.
  ///
  /// ```swift
  /// try ProtocolChoice.choose(nil, among: ["com.lawaken.iap2"])   // "com.lawaken.iap2"
  /// ```
  public static func choose(_ wanted: String?, among offered: [String]) throws(Refusal) -> String {
    let list = offered.joined(separator: ", ")
    if let wanted {
      if offered.contains(wanted) { return wanted }
      let near = Suggestion.nearHint(for: wanted, in: offered)
      throw Refusal(description: "the accessory does not offer \(wanted); it offers \(list)\(near)")
    }
    guard let first = offered.first else { throw Refusal(description: "the accessory offers no protocol yet") }
    if offered.count > 1 {
      throw Refusal(description: "several protocols are offered, choose one with --protocol: \(list)")
    }
    return first
  }
}
