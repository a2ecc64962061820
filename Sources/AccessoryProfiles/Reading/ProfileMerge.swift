import AccessoryCore

/// Lays a file over the one it extends.
///
/// Sections (`accessory`, `link` and its `sessions`, `authentication`, `power`, `messages`, `usb`) are merged key by
/// key. Everything else is replaced whole: a list of protocols, a behaviour, the quirks.
enum ProfileMerge {
  private static let sections: Set<String> = [
    "accessory", "link", "link.sessions", "authentication", "power", "messages", "usb",
  ]

  /// `file` over `base`; positions stay those of the file a value comes from.
  static func lay(_ file: JSON5Value, over base: JSON5Value, path: String = "") -> JSON5Value {
    guard case .object(let own) = file.content, case .object(let inherited) = base.content else { return file }
    let merged = own.map { member -> JSON5Member in
      let key = path.isEmpty ? member.key : "\(path).\(member.key)"
      guard sections.contains(key), let below = base[member.key] else { return member }
      return JSON5Member(member.key, lay(member.value, over: below, path: key), at: member.keyPosition)
    }
    let added = inherited.filter { below in !own.contains { $0.key == below.key } }
    return JSON5Value(.object(merged + added), at: file.position)
  }
}
