import IAP2

/// The reason a host cannot use an accessory, reported as soon as it is known. A refusal makes a command exit with code
/// 6.
public enum Refusal: Equatable, Sendable {
  /// The accessory failed authentication (AA04) for this reason.
  case authentication(String)
  /// The device rejected the identification (1D03) for these reasons.
  case identification([IdentificationFinding])
  /// The accessory's SYN is unusable.
  case synchronization(LinkParametersError)
  /// The accessory sent iAP1 frames but no iAP2 detection sequence; the value is one of the frames.
  case legacyAccessory(frame: [UInt8])
  /// The accessory did not answer in time.
  case unanswered(DevicePeer.Step)
  /// The link never came up.
  case silent(Silence)

  /// A sentence that states what happened, without a full stop.
  public var sentence: String {
    switch self {
    case .authentication(let reason): "authentication failed (AA04): \(reason)"
    case .identification(let findings):
      "the identification was refused (1D03): \(findings.map(\.description).joined(separator: "; "))"
    case .synchronization(let error): error.description
    case .legacyAccessory(let frame): "the accessory speaks only iAP1: it sent \(Hex.spaced(frame.prefix(32)))"
    case .unanswered(.authentication): "the accessory did not answer the request to authenticate (AA00 or AA02)"
    case .unanswered(.identification): "the accessory did not answer the request to identify itself (1D00)"
    case .silent(let silence): "the link never came up: \(silence.sentence(about: "the accessory"))"
    }
  }

  /// A remedy that a program in the device's role may offer, under a name that the program chooses.
  public enum Remedy: Sendable {
    case acceptAuthentication
    case skipAuthentication
    case acceptIdentification
    case transcript
  }

  /// Advice on what the user can try. `name` returns the name of a remedy in the program that shows the advice, or nil
  /// if the program does not offer it.
  public func advice(naming name: (Remedy) -> String?) -> String {
    remedies.compactMap { remedy, text in
      guard let remedy else { return text }
      return name(remedy).map { "\($0) \(text)" }
    }.joined(separator: "; ")
  }

  private var remedies: [(Remedy?, String)] {
    switch self {
    case .authentication:
      [
        (.acceptAuthentication, "uses the accessory anyway, with a warning"),
        (.skipAuthentication, "does not request authentication"),
      ]
    case .identification(let findings):
      findings.contains { $0.check == .unreadableParameter && $0.parameter == 0 }
        ? [(nil, "correct the message in the firmware"), (.transcript, "keeps its bytes")]
        : [(.acceptIdentification, "only warns about this")]
    case .synchronization: [(nil, "correct the SYN in the firmware"), (.transcript, "keeps its bytes")]
    case .legacyAccessory:
      [
        (
          nil,
          "easim speaks iAP2, and iAP2 accessories begin with \(Hex.spaced(PacketWriter.detection)); check the "
            + "accessory's mode"
        )
      ]
    case .unanswered(.authentication): [(.skipAuthentication, "continues without authentication")]
    case .silent(let silence) where silence.phase == .synchronization:
      [
        (.transcript, "shows the SYN and easim's answer"),
        (nil, "check that the firmware answers SYN|ACK with ACK"),
      ]
    case .silent:
      [
        (
          nil,
          "check that the accessory is on and speaks iAP2 at this address; on a serial line, also check the speed and "
            + "both data lines"
        ), (.transcript, "shows what it sent"),
      ]
    case .unanswered(.identification):
      [(nil, "check that the firmware handles 1D00 once the link is up"), (.transcript, "shows what it sent")]
    }
  }

  /// The name used in JSON.
  public var name: String {
    switch self {
    case .authentication: "authentication"
    case .identification: "identification"
    case .synchronization: "syn"
    case .legacyAccessory: "iap1"
    case .unanswered: "unanswered"
    case .silent: "link"
    }
  }
}
