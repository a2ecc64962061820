import AccessoryCore

/// The sections beside `accessory`.
extension ProfileReader {
  static func link(_ reader: ObjectReader) -> Profile.Link {
    typealias Link = Profile.Link
    var link = Link()
    if let count = reader.integer("maximumOutstandingPackets", in: Link.outstandingRange) {
      link.maximumOutstandingPackets = UInt8(count)
    }
    if let length = reader.integer("maximumPacketLength", in: Link.packetLengthRange) {
      link.maximumPacketLength = UInt16(length)
    }
    if let time = reader.duration("retransmissionTimeout", in: Link.retransmissionTimeoutRange) {
      link.retransmissionTimeout = time
    }
    if let time = reader.duration("cumulativeAcknowledgementTimeout", in: Link.acknowledgementTimeoutRange) {
      link.cumulativeAcknowledgementTimeout = time
    }
    if let count = reader.integer("maximumRetransmissions", in: Link.retransmissionsRange) {
      link.maximumRetransmissions = UInt8(count)
    }
    if let count = reader.integer("maximumCumulativeAcknowledgements", in: Link.cumulativeRange) {
      link.maximumCumulativeAcknowledgements = UInt8(count)
    } else {
      // A small window alone must not break the rule that it bounds this count.
      link.maximumCumulativeAcknowledgements = min(
        link.maximumCumulativeAcknowledgements, link.maximumOutstandingPackets)
    }
    link.zeroAcknowledgement = reader.boolean("zeroAcknowledgement") ?? false
    if let sessions = reader.object("sessions", ProfileShapes.sessions) { read(sessions, into: &link) }
    return link
  }

  private static func read(_ reader: ObjectReader, into link: inout Profile.Link) {
    if let id = reader.integer("control", in: Profile.Link.sessionRange) { link.controlSession = UInt8(id) }
    if let id = reader.integer("externalAccessory", in: Profile.Link.sessionRange) {
      link.externalAccessorySession = UInt8(id)
    }
    link.fileTransferSession = reader.integer("fileTransfer", in: Profile.Link.sessionRange).map { UInt8($0) }
  }

  static func authentication(_ reader: ObjectReader) -> Profile.Authentication {
    typealias Authentication = Profile.Authentication
    let generation = reader.word("generation", Authentication.Generation.self) ?? .current
    var authentication = Authentication(
      generation, challenge: reader.word("challenge", Authentication.Challenge.self) ?? .digest)
    if let size = reader.integer("certSerial", in: Authentication.certSerialRange) { authentication.certSerial = size }
    if let size = reader.integer("certData", in: Authentication.certDataRange) { authentication.certData = size }
    return authentication
  }

  static func power(_ reader: ObjectReader) -> Profile.Power {
    var power = Profile.Power()
    if let capability = reader.word("capability", Profile.Power.Capability.self) { power.capability = capability }
    if let current = reader.integer("maximumCurrent", in: 0...65_535) { power.maximumCurrent = UInt16(current) }
    return power
  }

  static func messages(_ reader: ObjectReader) -> Profile.Messages {
    var messages = Profile.Messages()
    if let sent = names("sent", reader) { messages.sent = sent }
    if let received = names("received", reader) { messages.received = received }
    return messages
  }

  private static func names(_ key: String, _ reader: ObjectReader) -> [Profile.MessageName]? {
    guard let elements = reader.array(key) else { return nil }
    return elements.compactMap { path, value in
      if let name = Profile.MessageName(value) { return name }
      reader.problems.error(
        at: value.position, path: path,
        "expected a message's number from 0 to 0xFFFF or its name, found \(value.summary)")
      return nil
    }
  }

  /// The transports that can be read, each with its path; nil when the profile does not list any.
  static func transports(_ root: ObjectReader) -> [(path: String, entry: Profile.Transport)]? {
    root.array("transports")?.enumerated().compactMap { index, element in
      ObjectReader(element.value, shape: ProfileShapes.transport, path: element.path, root.problems)
        .flatMap { transport($0, defaultID: index) }
        .map { (element.path, $0) }
    }
  }

  private static func transport(_ reader: ObjectReader, defaultID: Int) -> Profile.Transport? {
    guard reader.require("kind"), let word = reader.choice("kind", of: Profile.Transport.Kind.names) else { return nil }
    let id = UInt16(reader.integer("id", in: 0...65_535) ?? min(defaultID, 65_535))
    var transport = Profile.Transport(kind(word), id: id, name: reader.text("name") ?? word)
    transport.supportsIAP2 = reader.boolean("supportsIAP2") ?? true
    if word == "bluetooth" {
      guard reader.require("mac"), let text = reader.text("mac") else { return nil }
      guard let address = Profile.MACAddress(text) else {
        reader.error("mac", "'\(Excerpt.of(text))' is not an address: expected six bytes such as '02:00:5E:10:00:01'")
        return nil
      }
      transport.kind = .bluetooth(address)
    } else if reader.value("mac") != nil {
      reader.error("mac", "only a bluetooth transport has an address")
    }
    return transport
  }

  private static func kind(_ word: String) -> Profile.Transport.Kind {
    switch word {
    case "usbDevice": .usbDevice
    case "serial": .serial
    default: .usbHost
    }
  }

  static func usb(_ reader: ObjectReader) -> Profile.USB {
    var usb = Profile.USB()
    if let vendor = reader.integer("vendor", in: 0...65_535) { usb.vendor = UInt16(vendor) }
    if let product = reader.integer("product", in: 0...65_535) { usb.product = UInt16(product) }
    usb.manufacturerString = reader.text("manufacturerString")
    usb.productString = reader.text("productString")
    usb.serialString = reader.text("serialString")
    if let speed = reader.word("speed", Profile.USB.Speed.self) { usb.speed = speed }
    return usb
  }
}

extension Profile.MessageName {
  /// A number, a number in hex as text, or a name; nil for anything else.
  init?(_ value: JSON5Value) {
    switch value.content {
    case .number(let number):
      guard let id = number.integer.flatMap({ UInt16(exactly: $0) }) else { return nil }
      self = .id(id)
    case .text(let text):
      if text.hasPrefix("0x") || text.hasPrefix("0X") {
        let digits = text.dropFirst(2)
        guard digits.allSatisfy({ $0.isASCII && $0.isHexDigit }), let id = UInt16(digits, radix: 16) else {
          return nil
        }
        self = .id(id)
      } else {
        guard text.first?.isLetter == true, text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
          return nil
        }
        self = .name(text)
      }
    default: return nil
    }
  }
}

extension ObjectReader {
  /// One of the words that are the raw values of `type`.
  func word<Word: RawRepresentable & CaseIterable>(_ key: String, _ type: Word.Type) -> Word?
  where Word.RawValue == String {
    choice(key, of: type.allCases.map(\.rawValue)).flatMap { Word(rawValue: $0) }
  }
}
