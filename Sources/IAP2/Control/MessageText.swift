/// Formats control messages as text: the number, the name, and every parameter with its name from ``MessageCatalog``.
public enum MessageText {
  /// Formats a message on one line: `EA00 StartExternalAccessoryProtocolSession protocol=1 session=7`.
  public static func line(_ message: ControlMessage, shownBytes: Int = 8) -> String {
    do throws(ParameterError) {
      let parts = try message.decoded().map { text($0, shownBytes) }
      return ([message.id.description] + parts).joined(separator: " ")
    } catch {
      return "\(message.id) (unreadable: \(error))"
    }
  }

  /// Formats a message on one line. A line longer than `limit` characters is truncated with "…".
  public static func line(_ message: ControlMessage, atMost limit: Int) -> String {
    let whole = line(message)
    return whole.count <= limit ? whole : whole.prefix(limit - 1) + "…"
  }

  /// Formats each parameter on its own line: number, name and value. The parameters of a group are indented below it.
  ///
  /// ```
  /// 0 name = "LAWK View"
  /// 10 protocol
  ///   0 id = 1
  ///   1 name = "com.lawaken.iap2"
  /// ```
  public static func parameterLines(_ message: ControlMessage) -> [String] {
    do throws(ParameterError) { return try message.decoded().flatMap(lines) } catch { return ["unreadable: \(error)"] }
  }

  private static func lines(_ parameter: DecodedParameter) -> [String] {
    let title = ["\(parameter.id)", parameter.name].filter { !$0.isEmpty }.joined(separator: " ")
    if case .group(let group) = parameter.value { return [title] + group.flatMap(lines).map { "  \($0)" } }
    return ["\(title) = \(value(parameter.value, .max))"]
  }

  private static func text(_ parameter: DecodedParameter, _ shownBytes: Int) -> String {
    let name = parameter.name.isEmpty ? "\(parameter.id)" : parameter.name.replacing(" ", with: "-")
    return "\(name)=\(value(parameter.value, shownBytes))"
  }

  private static func value(_ value: DecodedParameter.Value, _ shownBytes: Int) -> String {
    switch value {
    case .text(let text): text.quoted
    case .number(let number): "\(number)"
    case .signed(let number): "\(number)"
    case .list(let list): "[\(list.map { Hex.number($0) }.joined(separator: " "))]"
    case .group(let group): "{\(group.map { text($0, shownBytes) }.joined(separator: " "))}"
    case .present: "yes"
    case .bytes(let bytes):
      Hex.plain(bytes.prefix(shownBytes)) + (bytes.count > shownBytes ? "…(\(bytes.count))" : "")
    }
  }
}

extension String {
  /// Quotes the text and escapes control characters and quotation marks, because text from the other end may be printed
  /// to a terminal.
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
}

/// A parameter of a control message, decoded according to ``MessageCatalog``.
public struct DecodedParameter: Hashable, Sendable {
  /// A decoded value, or its bytes if the kind is unknown or the value does not fit its kind.
  public enum Value: Hashable, Sendable {
    case text(String)
    case number(UInt64)
    case signed(Int64)
    case list([UInt16])
    indirect case group([DecodedParameter])
    /// The parameter has no value; only its presence matters.
    case present
    case bytes([UInt8])

    fileprivate init(_ parameter: Parameter, _ entry: MessageCatalog.ParameterEntry?) {
      let bytes = parameter.value
      self = bytes.isEmpty ? .present : .bytes(bytes)
      switch entry?.kind {
      case .utf8?: if let text = try? parameter.text() { self = .text(text) }
      case .u8?, .u16?, .u32?, .u64?, .number?:
        if (1...8).contains(bytes.count) { self = .number(bytes.reduce(0) { $0 << 8 | UInt64($1) }) }
      case .i8?, .i16?:
        if let first = bytes.first, bytes.count <= 8 {
          self = .signed(bytes.reduce(Int64(Int8(bitPattern: first)) >> 7) { $0 << 8 | Int64($1) })
        }
      case .list?: if let list = try? parameter.list() { self = .list(list) }
      case .group?:
        if let group = try? parameter.group() {
          self = .group(group.map { DecodedParameter($0, entry?.group ?? []) })
        }
      case nil: if let text = try? parameter.text(), text.count > 1 { self = .text(text) }
      case .some(.none), .blob?: break
      }
    }
  }

  /// The parameter's number.
  public var id: UInt16
  /// The parameter's name, or an empty string if it has none.
  public var name: String
  /// The parameter's value.
  public var value: Value

  fileprivate init(_ parameter: Parameter, _ known: [MessageCatalog.ParameterEntry]) {
    let entry = known.first { $0.id == parameter.id }
    id = parameter.id
    name = entry?.name ?? ""
    value = Value(parameter, entry)
  }
}

extension ControlMessage {
  /// Decodes the parameters, and adds the names of those that the catalog lists.
  public func decoded() throws(ParameterError) -> [DecodedParameter] {
    let known = MessageCatalog.entry(id)?.parameters ?? []
    return try ParameterReader.read(body).map { DecodedParameter($0, known) }
  }
}
