import AccessoryCore

extension Profile {
  /// The profile as a tree, with what differs from the defaults; reading it gives the profile back.
  public var tree: JSON5Value {
    let standard = Profile(name: name, identity: identity, protocols: protocols)
    var root: [JSON5Member] = [.init("version", .number(Profile.formatVersion))]
    if !summary.isEmpty { root.append(.init("description", .text(summary))) }
    root.append(.init("accessory", .object(accessoryMembers)))
    if link != standard.link { root.append(.init("link", .object(link.members(standard.link)))) }
    if authentication != standard.authentication {
      root.append(.init("authentication", .object(authentication.members)))
    }
    if power != standard.power { root.append(.init("power", .object(power.members))) }
    if messages != standard.messages {
      let (sent, received) = (messages.sent.map(\.value), messages.received.map(\.value))
      root.append(.init("messages", .object([.init("sent", .array(sent)), .init("received", .array(received))])))
    }
    if transports != standard.transports { root.append(.init("transports", .array(transports.map(\.value)))) }
    if usb != standard.usb { root.append(.init("usb", .object(usb.members(standard.usb)))) }
    root.append(.init("behavior", behavior.value))
    if !quirks.isEmpty { root.append(.init("quirks", .array(quirks.map { .text($0.description) }))) }
    return .object(root)
  }

  /// The profile as the text of a file, under a comment that says what it is for.
  public func text(comment: String, as style: JSON5Writer.Style = .json5) -> String {
    let lines = style == .json ? [] : comment.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.map { $0.isEmpty ? "//\n" : "// \($0)\n" }.joined() + JSON5Writer.write(tree, as: style)
  }

  private var accessoryMembers: [JSON5Member] {
    let optional = { (text: String?) -> JSON5Value in text.map { .text($0) } ?? .null }
    return [
      .init("name", .text(identity.name)), .init("manufacturer", .text(identity.manufacturer)),
      .init("modelNumber", .text(identity.modelNumber)), .init("serialNumber", .text(identity.serialNumber)),
      .init("ppid", optional(identity.productPlanUID)), .init("regionCode", optional(identity.regionCode)),
      .init("firmwareRevision", .text(identity.firmwareRevision)),
      .init("firmwareRevisionPending", optional(identity.firmwareRevisionPending)),
      .init("hardwareRevision", .text(identity.hardwareRevision)), .init("dockType", .text(identity.dockType)),
      .init("currentLanguage", .text(identity.currentLanguage)),
      .init("supportedLanguages", .array(identity.supportedLanguages.map { .text($0) })),
      .init("protocols", .array(protocols.enumerated().map { $0.element.value(at: $0.offset) })),
    ]
  }
}

extension JSON5Value {
  /// Bytes: as text where it is one, otherwise in hex.
  static func bytes(_ bytes: [UInt8]) -> JSON5Value {
    if let text = String(validating: bytes, as: UTF8.self) { return .text(text) }
    return .object([.init("hex", .text(Hex.spaced(bytes)))])
  }
}

extension Profile.SessionProtocol {
  /// Only the name where everything else follows from its place in the list.
  fileprivate func value(at index: Int) -> JSON5Value {
    if self == Self(name, id: UInt8(truncatingIfNeeded: index)) { return .text(name) }
    var members: [JSON5Member] = [.init("name", .text(name)), .init("id", .number(Int(id)))]
    let word = Profile.MatchAction.names.first { $0.action == matchAction }?.name
    members.append(.init("matchAction", word.map { .text($0) } ?? .number(Int(matchAction.rawValue))))
    if let behavior { members.append(.init("behavior", behavior.value)) }
    if let component = nativeTransportComponent {
      members.append(.init("nativeTransportComponent", .number(Int(component))))
    }
    return .object(members)
  }
}

extension Profile.MessageName {
  fileprivate var value: JSON5Value {
    switch self {
    case .id(let id): .hex(id)
    case .name(let name): .text(name)
    }
  }
}

extension Profile.Transport {
  fileprivate var value: JSON5Value {
    var members: [JSON5Member] = [
      .init("kind", .text(kind.name)), .init("id", .number(Int(id))), .init("name", .text(name)),
    ]
    if case .bluetooth(let address) = kind { members.append(.init("mac", .text(address.description))) }
    if !supportsIAP2 { members.append(.init("supportsIAP2", .boolean(false))) }
    return .object(members)
  }
}
