import AccessoryCore
import AccessoryFormats
import IAP2

/// An event that concerns an accessory, on either side of its cable. Timelines show events, `--json` prints them, and
/// scenarios compare them.
///
/// Events only report what happened. Only the publication machine produces `connect` and `disconnect`.
public struct TimelineEvent: Equatable, Sendable {
  /// The side on which an event happened.
  public enum Side: String, Equatable, Sendable {
    case accessory
    case cable
    case device
    case app
  }

  /// The accessory that an event concerns, with everything that was known about it at the time.
  ///
  /// The subject is an immutable object, because many events refer to the same subject.
  public final class Subject: Equatable, Sendable {
    /// The name shown to users.
    public let name: String
    /// The serial number.
    public let serial: String
    /// The protocols that the accessory currently offers. The list is empty in the first half of a flicker.
    public let protocols: [String]
    /// The connection ID of the accessory's publication, if there is one.
    public let connectionID: Int?

    /// Creates a subject.
    public init(name: String, serial: String, protocols: [String], connectionID: Int? = nil) {
      self.name = name
      self.serial = serial
      self.protocols = protocols
      self.connectionID = connectionID
    }

    /// Compares the subjects' contents.
    public static func == (left: Subject, right: Subject) -> Bool {
      left === right
        || (left.name == right.name && left.serial == right.serial && left.protocols == right.protocols
          && left.connectionID == right.connectionID)
    }
  }

  /// What happened.
  public enum Kind: Equatable, Sendable {
    /// The accessory was plugged in. The value names the connection point, such as a port or a Bluetooth address.
    case attach(String)
    /// The accessory was unplugged or disappeared, for this reason.
    case detach(String)
    /// The link came up or went down.
    case link(isUp: Bool, String)
    indirect case message(PassedMessage)
    case identification(String)
    case authentication(Authentication)
    case connect
    case disconnect
    case sessionOpen(id: Int, protocolName: String)
    indirect case sessionClose(id: Int, protocolName: String, reason: String, read: Int, written: Int)
    /// The system showed this message to the user.
    case alert(String)
    /// A fault deliberately disturbed bytes on a channel.
    case fault(String)
    /// Something went wrong unintentionally.
    case warning(String)
    indirect case refused(Refusal)
    /// A note, such as "10,000 bytes sent".
    case note(String)
    /// An expectation was met or failed.
    case result(passed: Bool, String)
  }

  /// A step of authentication. The description is for users and for `--json`.
  public enum Authentication: Equatable, Sendable, CustomStringConvertible {
    case succeeded
    /// The accessory was notified that it was accepted.
    case accepted
    case refused(Refusal)
    /// The accessory was notified that it was refused.
    case refusedByDevice
    /// The accessory deliberately did not answer.
    case unanswered

    /// The reason the device refuses the accessory.
    public enum Refusal: Equatable, Sendable, CustomStringConvertible {
      /// The certificate cannot be used, for this reason.
      case certificate(String)
      /// The signature or the certificate chain is not accepted, for this reason.
      case signature(String)
      /// A quirk makes the device refuse a valid signature.
      case onPurpose

      /// The reason.
      public var description: String {
        switch self {
        case .certificate(let reason), .signature(let reason): reason
        case .onPurpose: "the signature is valid, but refused on purpose"
        }
      }
    }

    /// What happened.
    public var description: String {
      switch self {
      case .succeeded: "succeeded"
      case .accepted: "accepted by the device"
      case .refused(let reason): "refused: \(reason)"
      case .refusedByDevice: "refused by the device"
      case .unanswered: "left unanswered"
      }
    }
  }

  /// The time on the loop's clock.
  public var time: Instant
  /// The side on which the event happened.
  public var side: Side
  /// What happened.
  public var kind: Kind
  // With `Subject?` and `Int?`, which are nil before they are initialized, the initializer would copy the whole event.
  /// The accessory that the event concerns.
  public var subject: Optional<Subject>
  /// The number of the other side's accessory in the world, or nil if the sides are not in the same world. The number
  /// is known even before the accessory identifies itself. Timelines and files do not include this number.
  public var worldNumber: Optional<Int>

  /// Creates an event.
  public init(time: Instant, side: Side, kind: Kind, subject: Subject? = nil, worldNumber: Int? = nil) {
    self.time = time
    self.side = side
    self.kind = kind
    self.subject = subject
    self.worldNumber = worldNumber
  }
}

extension TimelineEvent.Kind {
  /// The event's name in JSON and in scenarios.
  public var name: String {
    switch self {
    case .attach: "attach"
    case .detach: "detach"
    case .link: "link"
    case .message: "message"
    case .identification: "identification"
    case .authentication: "authentication"
    case .connect: "connect"
    case .disconnect: "disconnect"
    case .sessionOpen: "session.open"
    case .sessionClose: "session.close"
    case .alert: "alert"
    case .fault: "fault"
    case .warning: "warning"
    case .refused: "refused"
    case .note: "note"
    case .result: "result"
    }
  }
}

extension TimelineEvent.Kind {
  /// Creates the event for a session that has ended, with the number of bytes read and written.
  public static func closed(_ session: Session, reason: String) -> Self {
    .sessionClose(
      id: Int(session.id), protocolName: session.protocolName, reason: reason, read: session.bytesRead,
      written: session.bytesWritten)
  }
}

extension PeerEvent {
  /// The warning about the other end, if the event reports that invalid bytes arrived.
  package var warning: String? {
    switch self {
    case .skipped(let skipped): skipped.description
    case .malformed(let text): text
    case .legacyFrame(let bytes): "ignored an iAP1 frame: \(Hex.spaced(bytes))"
    case .strayEnd(let end):
      "the accessory sent \(end == .reset ? "RST" : "SLP"), which only a device may send: ignored"
    case .synchronizationAdjusted(let values):
      "the SYN has values out of range: \(values.map(\.description).joined(separator: "; "))"
    case .strayData(let session, let bytes):
      "\(bytes) bytes arrived for session \(session), which is not open: dropped"
    default: nil
    }
  }
}

// MARK: - JSON

extension JSONObject {
  /// Starts an event in the format that all events of `--json` share.
  ///
  /// - Parameters:
  ///   - side: the side on which the event happened; nil for an event that belongs to neither role.
  ///   - members: the event's additional members.
  public init(
    event: String, at time: Instant, side: TimelineEvent.Side? = nil, _ members: JSONObject = [:]
  ) {
    self = ["v": TimelineEvent.jsonVersion, "t": time, "side": side?.rawValue, "event": event]
    add(members)
  }
}

extension TimelineEvent {
  /// The version of the format that ``json`` uses.
  public static let jsonVersion = 1

  /// The event as a line of JSON, in the format that all events of `--json` share.
  ///
  /// ```json
  /// {"v":1,"t":0.250113,"side":"device","event":"connect",
  ///  "accessory":{"name":"…","serial":"…","protocols":[],"connectionID":33685633}}
  /// ```
  public var json: String { object().text }

  /// Returns the event as a JSON object. The closure `name` returns the name of a remedy in the program that shows the
  /// event.
  public func object(naming name: (Refusal.Remedy) -> String? = { _ in nil }) -> JSONObject {
    var object = JSONObject(event: kind.name, at: time, side: side, ["accessory": subject?.json])
    switch kind {
    case .attach(let place): object.add("on", place)
    case .detach(let reason): object.add("reason", reason)
    case .link(let isUp, let text): object.add(["up": isUp, "text": text])
    case .message(let passed): object.add(passed)
    case .identification(let text), .alert(let text), .fault(let text), .warning(let text), .note(let text):
      object.add("text", text)
    case .authentication(let step): object.add("text", step.description)
    case .refused(let refusal):
      let advice = refusal.advice(naming: name)
      object.add(["reason": refusal.name, "text": refusal.sentence, "advice": advice.isEmpty ? nil : advice])
    case .connect, .disconnect: break
    case .sessionOpen(let id, let name): object.add(["session": id, "protocol": name])
    case .sessionClose(let id, let name, let reason, let read, let written):
      object.add(["session": id, "protocol": name, "reason": reason, "bytesRead": read, "bytesWritten": written])
    case .result(let passed, let text): object.add(["passed": passed, "text": text])
    }
    return object
  }
}

extension TimelineEvent.Subject {
  /// The accessory as a JSON object.
  public var json: JSONObject {
    return ["name": name, "serial": serial, "protocols": protocols, "connectionID": connectionID]
  }
}

extension JSONObject {
  /// Adds a control message as the fields of a `message` event.
  ///
  /// ```json
  /// "direction":"received","id":"EA03","name":"StatusExternalAccessoryProtocolSession",
  /// "parameters":[{"id":0,"name":"session","value":1},{"id":1,"name":"status","value":0}]
  /// ```
  mutating func add(_ passed: PassedMessage) {
    let message = passed.message
    let name = MessageCatalog.entry(message.id)?.name ?? ""
    add([
      "direction": passed.direction.rawValue, "id": Hex.number(message.id.rawValue), "name": name.isEmpty ? nil : name,
    ])
    do throws(ParameterError) {
      add("parameters", Self.list(try message.decoded()))
    } catch {
      add("unreadable", error.description)
      addHex(message.body)
    }
  }

  private static func list(_ parameters: [DecodedParameter]) -> [JSONObject] {
    parameters.map { parameter in
      var object: JSONObject = ["id": Int(parameter.id), "name": parameter.name.isEmpty ? nil : parameter.name]
      switch parameter.value {
      case .text(let text): object.add("value", text)
      case .number(let number): object.add("value", number)
      case .signed(let number): object.add("value", number)
      case .list(let list): object.add("value", list.map { Hex.number($0) })
      case .group(let group): object.add("parameters", list(group))
      case .present: object.add("value", true)
      case .bytes(let bytes): object.addHex(bytes)
      }
      return object
    }
  }

  /// Adds bytes. Long data is truncated, and its full length is added.
  private mutating func addHex(_ bytes: [UInt8]) {
    let shown = 1_024
    add(["hex": Hex.plain(bytes.prefix(shown)), "bytes": bytes.count > shown ? bytes.count : nil])
  }
}
