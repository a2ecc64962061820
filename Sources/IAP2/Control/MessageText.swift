/// Control messages as text: the number, the name, and every parameter as ``MessageCatalog`` names it.
public enum MessageText {
  /// One line: `EA00 StartExternalAccessoryProtocolSession protocol=1 session=7`.
  public static func line(_ message: ControlMessage, shownBytes: Int = 8) -> String {
    do throws(ParameterError) {
      let known = MessageCatalog.entry(message.id)?.parameters ?? []
      let parts = try ParameterReader.read(message.body).map { parameter in
        text(parameter, known.first { $0.id == parameter.id }, shownBytes)
      }
      return ([message.id.description] + parts).joined(separator: " ")
    } catch {
      return "\(message.id) (unreadable: \(error))"
    }
  }

  /// Every parameter on a line of its own, whole: number, name and value, the parameters of a group indented below it.
  ///
  /// ```
  /// 0 name = "LAWK View"
  /// 10 protocol
  ///   0 = 01
  ///   1 = "com.lawaken.iap2"
  /// ```
  public static func parameterLines(_ message: ControlMessage) -> [String] {
    do throws(ParameterError) {
      let known = MessageCatalog.entry(message.id)?.parameters ?? []
      return try ParameterReader.read(message.body).flatMap { parameter in
        lines(parameter, known.first { $0.id == parameter.id })
      }
    } catch {
      return ["unreadable: \(error)"]
    }
  }

  private static func lines(_ parameter: Parameter, _ entry: MessageCatalog.ParameterEntry?) -> [String] {
    let title = ["\(parameter.id)", entry?.name ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
    if entry?.kind == .group, let group = try? parameter.group() {
      return [title] + group.flatMap { lines($0, nil) }.map { "  \($0)" }
    }
    return ["\(title) = \(value(parameter, entry?.kind, .max))"]
  }

  private static func text(
    _ parameter: Parameter, _ entry: MessageCatalog.ParameterEntry?, _ shownBytes: Int
  ) -> String {
    let name = entry.flatMap { $0.name.isEmpty ? nil : $0.name.replacingSpaces } ?? "\(parameter.id)"
    return "\(name)=\(value(parameter, entry?.kind, shownBytes))"
  }

  private static func value(
    _ parameter: Parameter, _ kind: MessageCatalog.ValueKind?, _ shownBytes: Int
  ) -> String {
    let bytes = parameter.value
    switch kind {
    case .utf8?: if let text = try? parameter.text() { return text.quoted }
    case .u8?, .u16?, .number?:
      if (1...8).contains(bytes.count) { return "\(bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })" }
    case .signed?:
      if let first = bytes.first, bytes.count <= 8 {
        return "\(bytes.reduce(Int64(Int8(bitPattern: first)) >> 7) { $0 << 8 | Int64($1) })"
      }
    case .list?:
      if let list = try? parameter.list() { return "[\(list.map { Hex.number($0) }.joined(separator: " "))]" }
    case .group?:
      if let group = try? parameter.group() {
        return "{\(group.map { "\($0.id)=\(value($0, nil, shownBytes))" }.joined(separator: " "))}"
      }
    case .some(.none): if bytes.isEmpty { return "yes" }
    case .blob?, nil: break
    }
    if bytes.isEmpty { return "yes" }
    if kind == nil, let text = try? parameter.text(), text.count > 1 { return text.quoted }
    let more = bytes.count > shownBytes ? "…(\(bytes.count))" : ""
    return Hex.plain(bytes.prefix(shownBytes)) + more
  }
}

extension String {
  /// In quotation marks, with everything written out that could end a line, a quotation, or speak to a terminal: the
  /// text comes from the other end.
  fileprivate var quoted: String {
    var text = "\""
    for scalar in unicodeScalars {
      if scalar.isUnprintable {
        text += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        if scalar == "\"" || scalar == "\\" { text += "\\" }
        text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }

  fileprivate var replacingSpaces: String {
    String(map { $0 == " " ? "-" : $0 })
  }
}
