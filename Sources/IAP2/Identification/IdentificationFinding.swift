/// Something that is wrong with an identification, explained for a firmware developer.
public struct IdentificationFinding: Hashable, Sendable, CustomStringConvertible {
  /// Which rule was broken.
  public var check: IdentificationCheck
  /// The parameter of 1D01 that broke it.
  public var parameter: UInt16
  /// What is wrong, as a sentence.
  public var reason: String
  /// The offending message numbers, for parameters 6 and 7.
  public var messages: [MessageID] = []

  /// "parameter 10: two protocols have the number 1 (duplicateProtocol)".
  public var description: String {
    "parameter \(parameter): \(reason) (\(check.rawValue))"
  }
}

/// The rules for identifications: those that iPhones were seen to enforce, and those of the format.
public enum IdentificationCheck: String, Hashable, Sendable, CaseIterable {
  /// A parameter that every known accessory sends is missing.
  case missingParameter
  /// A parameter's bytes are not what its type says.
  case unreadableParameter
  /// A parameter that can come once comes twice.
  case repeatedParameter
  /// A text is blank.
  case blankText
  /// A text lacks the zero byte that ends it; it is read all the same.
  case textWithoutEnd
  /// Several languages are in one parameter, each with its zero byte; they are read nevertheless.
  case packedLanguages
  /// A text that need not be there is blank.
  case blankOptionalText
  /// A parameter that only says "present" has a value.
  case presenceWithValue
  /// Two protocols share a number or a name.
  case duplicateProtocol
  /// Two components share a number.
  case duplicateComponent
  /// There is no transport component. Every capture has one; whether an iPhone requires it is unknown.
  case missingTransport
  /// A protocol's native transport names a component that is not declared.
  case unknownNativeTransport
  /// A protocol's native transport names a component that is not USB, where alone there are endpoints for it.
  case nativeTransportBesideUSB
  /// A Start message is listed as sent, but its Stop message is not.
  case startWithoutStop
  /// A message is to be received that only a message the accessory does not send would bring.
  case receivedWithoutRequest
  /// Messages of identification and authentication are listed; they go without saying.
  case reservedMessage
  /// A message is in the list of the wrong direction.
  case wrongDirection
  /// Some protocols' sessions use the link, but the messages that open and close sessions are not listed.
  case sessionsWithoutMessages

  /// How much a broken rule matters.
  public enum Severity: Hashable, Sendable {
    /// The identification is refused.
    case error
    /// It is accepted, and the finding reported.
    case warning
    /// It is accepted, and nothing reported.
    case ignored
  }

  /// What iPhones were seen to do, and a warning where it is not known.
  public var defaultSeverity: Severity {
    switch self {
    case .textWithoutEnd, .packedLanguages, .blankOptionalText, .missingTransport, .wrongDirection,
      .sessionsWithoutMessages, .unknownNativeTransport,
      .nativeTransportBesideUSB:
      .warning
    default: .error
    }
  }
}
