import AccessoryCore

/// The sections that are written only where they differ from the defaults, and the behaviours.
extension Profile.Link {
  func members(_ standard: Profile.Link) -> [JSON5Member] {
    var members: [JSON5Member] = []
    func add<Value: Equatable>(_ key: String, _ field: KeyPath<Self, Value>, _ value: JSON5Value) {
      if self[keyPath: field] != standard[keyPath: field] { members.append(.init(key, value)) }
    }
    add("maximumOutstandingPackets", \.maximumOutstandingPackets, .number(Int(maximumOutstandingPackets)))
    add("maximumPacketLength", \.maximumPacketLength, .number(Int(maximumPacketLength)))
    add("retransmissionTimeout", \.retransmissionTimeout, .duration(retransmissionTimeout))
    add(
      "cumulativeAcknowledgementTimeout", \.cumulativeAcknowledgementTimeout,
      .duration(cumulativeAcknowledgementTimeout))
    add("maximumRetransmissions", \.maximumRetransmissions, .number(Int(maximumRetransmissions)))
    add(
      "maximumCumulativeAcknowledgements", \.maximumCumulativeAcknowledgements,
      .number(Int(maximumCumulativeAcknowledgements)))
    add("zeroAcknowledgement", \.zeroAcknowledgement, .boolean(zeroAcknowledgement))
    var sessions: [JSON5Member] = [
      .init("control", .number(Int(controlSession))),
      .init("externalAccessory", .number(Int(externalAccessorySession))),
    ]
    if let fileTransferSession { sessions.append(.init("fileTransfer", .number(Int(fileTransferSession)))) }
    add("sessions", \.sessionIDs, .object(sessions))
    return members
  }
}

extension Profile.Authentication {
  var members: [JSON5Member] {
    [
      .init("generation", .text(generation.rawValue)), .init("challenge", .text(challenge.rawValue)),
      .init("certSerial", .number(certSerial)), .init("certData", .number(certData)),
    ]
  }
}

extension Profile.Power {
  var members: [JSON5Member] {
    [.init("capability", .text(capability.rawValue)), .init("maximumCurrent", .number(Int(maximumCurrent)))]
  }
}

extension Profile.USB {
  func members(_ standard: Profile.USB) -> [JSON5Member] {
    var members: [JSON5Member] = []
    if vendor != standard.vendor { members.append(.init("vendor", .hex(vendor))) }
    if product != standard.product { members.append(.init("product", .hex(product))) }
    for (key, text) in [
      ("manufacturerString", manufacturerString), ("productString", productString), ("serialString", serialString),
    ] {
      if let text { members.append(.init(key, .text(text))) }
    }
    if speed != standard.speed { members.append(.init("speed", .text(speed.rawValue))) }
    return members
  }
}

extension Behavior {
  /// The name alone where there is nothing to add to it, otherwise an object.
  var value: JSON5Value {
    let members = members
    return members.isEmpty ? .text(name) : .object([.init("type", .text(name))] + members)
  }

  private var members: [JSON5Member] {
    switch self {
    case .echo: return []
    case .sink(let check): return check ? [.init("check", .boolean(true))] : []
    case .source(let source):
      var members: [JSON5Member] = [.init("rate", .number(source.rate)), .init("chunk", .number(source.chunk))]
      switch source.pattern {
      case .counting: members.append(.init("pattern", .text("counting")))
      case .random: members.append(.init("pattern", .text("random")))
      case .text(let text): members.append(.init("text", .text(text)))
      }
      if let total = source.total { members.append(.init("total", .number(total))) }
      return members
    case .script(let script):
      var members: [JSON5Member] = [
        .init("framing", script.framing.value), .init("rules", .array(script.rules.map(\.value))),
      ]
      if let otherwise = script.otherwise { members.append(.init("otherwise", .bytes(otherwise))) }
      return members
    case .exec(let program):
      var members: [JSON5Member] = [
        .init("command", .text(program.command)), .init("arguments", .array(program.arguments.map { .text($0) })),
      ]
      if !program.environment.isEmpty {
        members.append(.init("environment", .array(program.environment.map { .text($0) })))
      }
      return members
    }
  }
}

extension Script.Framing {
  fileprivate var value: JSON5Value {
    switch self {
    case .any: .text("any")
    case .delimiter(let bytes): .object([.init("delimiter", .bytes(bytes))])
    case .fixed(let length): .object([.init("fixed", .number(length))])
    }
  }
}

extension Script.Rule {
  fileprivate var value: JSON5Value {
    var members: [JSON5Member] = [.init("request", .bytes(request))]
    if !response.isEmpty { members.append(.init("response", .bytes(response))) }
    if delay != .zero { members.append(.init("delay", .duration(delay))) }
    return .object(members)
  }
}
