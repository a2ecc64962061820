/// A parameter of a control message as ``MessageCatalog`` reads it.
public struct DecodedParameter: Hashable, Sendable {
  /// The value, by its kind; bytes where no kind is known or the value does not fit it.
  public enum Value: Hashable, Sendable {
    /// Text.
    case text(String)
    /// A number.
    case number(UInt64)
    /// A number that may be negative.
    case signed(Int64)
    /// Two-byte numbers.
    case list([UInt16])
    /// Parameters.
    indirect case group([DecodedParameter])
    /// No value: the parameter is there, which is all it says.
    case present
    /// Anything else.
    case bytes([UInt8])
  }

  /// The parameter's number.
  public var id: UInt16
  /// Its name; empty where it has none.
  public var name: String
  /// Its value.
  public var value: Value

  fileprivate init(_ parameter: Parameter, _ known: [MessageCatalog.ParameterEntry]) {
    let entry = known.first { $0.id == parameter.id }
    id = parameter.id
    name = entry?.name ?? ""
    value = Value(parameter, entry)
  }
}

extension ControlMessage {
  /// The parameters, with names and values as far as they are known.
  public func decoded() throws(ParameterError) -> [DecodedParameter] {
    let known = MessageCatalog.entry(id)?.parameters ?? []
    return try ParameterReader.read(body).map { DecodedParameter($0, known) }
  }
}

extension DecodedParameter.Value {
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
