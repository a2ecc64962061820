// The formats of single values, lists and objects.

extension Format<String> {
  /// Any text.
  public static let text = text(TextShape())

  /// The format of a string whose rules also appear in the schema. The rules are not checked when the string is read,
  /// so each record must check them in ``Record/checked(_:)``.
  public static func text(_ shape: TextShape) -> Format {
    Format(.text(shape)) { value, place in
      if case .text(let text) = value.content { text } else { place.expected("text", value) }
    } write: {
      .text($0)
    }
  }
}

extension Format<Bool> {
  /// `true` or `false`.
  public static let boolean = Format(.boolean) { value, place in
    if case .boolean(let boolean) = value.content { boolean } else { place.expected("true or false", value) }
  } write: {
    .boolean($0)
  }
}

extension Format where Value: FixedWidthInteger {
  /// The format of a whole number within a range.
  public static func integer(_ range: ClosedRange<Value>) -> Format { integer(range) { .number(Int(clamping: $0)) } }

  /// A 16-bit number written in hex, such as a message ID or a USB ID.
  public static var hex16: Format {
    integer(0...Value(clamping: 0xFFFF)) { .hex(UInt16(truncatingIfNeeded: $0)) }
  }

  private static func integer(
    _ range: ClosedRange<Value>, write: @escaping @Sendable (Value) -> JSON5Value
  ) -> Format {
    let shown = Int64(clamping: range.lowerBound)...Int64(clamping: range.upperBound)
    return Format(.integer(shown)) { value, place in
      if case .number(let number) = value.content, let integer = number.integer.flatMap(Value.init(exactly:)),
        range.contains(integer)
      {
        return integer
      }
      return place.expected("a whole number from \(range.lowerBound) to \(range.upperBound)", value)
    } write: {
      write($0)
    }
  }
}

extension Format<Double> {
  /// The format of a number within a range.
  public static func number(_ range: ClosedRange<Double>) -> Format {
    Format(.number(range)) { value, place in
      if case .number(let number) = value.content, range.contains(number.value) { return number.value }
      return place.expected("a number from \(range.lowerBound) to \(range.upperBound)", value)
    } write: {
      JSON5Value(.number(JSON5Number(spelling: "\($0)", value: $0, integer: Int64(exactly: $0))))
    }
  }
}

extension Format<Duration> {
  /// A duration of any length.
  public static let duration = duration(.zero...DurationText.longest)

  /// The format of a duration such as `'250ms'` within a range.
  public static func duration(_ range: ClosedRange<Duration>) -> Format {
    Format(.duration(range)) { value, place in
      guard case .text(let text) = value.content else { return place.expected("a duration such as '250ms'", value) }
      do {
        let duration = try DurationText.parse(text)
        if range.contains(duration) { return duration }
        return place.expected("a duration from \(range.text)", value)
      } catch {
        place.error(value, "\(error)")
        return nil
      }
    } write: {
      .duration($0)
    }
  }
}

extension Format<Chance> {
  /// The format of a probability such as `'2.5%'`.
  public static let chance = parsed(
    .chance, expected: "a chance such as '2.5%'", throwing: { try Chance($0) }, text: \.description)
}

extension Format where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
  /// The format of an enum whose cases are written as their raw values.
  public static var choice: Format { choice(of: Array(Value.allCases)) }

  /// The format of an enum, limited to some of its cases.
  public static func choice(of cases: [Value]) -> Format { words(cases.map { ($0.rawValue, $0) }) }
}

extension Format {
  /// The format of a value that is written as one of several words.
  public static func words(_ meanings: [(word: String, value: Value)]) -> Format {
    let words = meanings.map(\.word)
    return Format(.words(words)) { value, place in
      guard case .text(let text) = value.content else { return place.expected("text", value) }
      if let found = meanings.first(where: { $0.word == text }) { return found.value }
      place.error(
        value,
        place.problems.isOfOneWord
          ? "expected \(words.joined(separator: ", "))\(Suggestion.nearHint(for: text, in: words))"
          : "unknown value '\(Excerpt.of(text))'\(Suggestion.hint(for: text, in: words))")
      return nil
    } write: { value in
      meanings.first { $0.value == value }.map { .text($0.word) } ?? .null
    }
  }

  /// The format of a string that `parse` converts. `expected` describes valid strings.
  public static func parsed(
    _ shape: TextShape, expected: String, _ parse: @escaping @Sendable (String) -> Value?,
    text: @escaping @Sendable (Value) -> String
  ) -> Format {
    Format(.text(shape)) { value, place in
      guard case .text(let text) = value.content else { return place.expected("text", value) }
      if let parsed = parse(text) { return parsed }
      place.error(
        value, place.problems.isOfOneWord ? "expected \(expected)" : "'\(Excerpt.of(text))' is not \(expected)")
      return nil
    } write: {
      .text(text($0))
    }
  }

  /// The format of a string that `parse` converts. The errors that `parse` throws describe mistakes in a string, and
  /// `expected` describes strings for a value of another type.
  public static func parsed(
    _ shape: Shape, expected: String, throwing parse: @escaping @Sendable (String) throws -> Value?,
    text: @escaping @Sendable (Value) -> String
  ) -> Format {
    Format(shape) { value, place in
      guard case .text(let text) = value.content else { return place.expected(expected, value) }
      do { return try parse(text) } catch {
        place.error(value, "\(error)")
        return nil
      }
    } write: {
      .text(text($0))
    }
  }

  /// The format of a value that may be omitted. A value of nil is not written.
  public static func optional<Wrapped>(_ format: Format<Wrapped>) -> Format where Value == Wrapped? {
    Format(format.shape, decode: { value, now, place in format.decode(value, now ?? nil, place).map(Optional.some) }) {
      value, standard in
      value.flatMap { format.encode($0, standard ?? nil) }
    }
  }

  /// The format of a value that may be `null`, which is read as nil.
  public static func nullable<Wrapped>(_ format: Format<Wrapped>) -> Format where Value == Wrapped? {
    let optional = Format.optional(format)
    return Format(
      .either([format.shape, .null]),
      decode: { value, now, place in value.content == .null ? .some(nil) : optional.decode(value, now, place) }
    ) { value, standard in
      if value == standard { return nil }
      return value == nil ? .null : optional.encode(value, standard)
    }
  }

  /// A list. Elements that cannot be read are omitted. See ``ProblemCollector/paths(of:count:)``.
  ///
  /// - Parameters:
  ///   - count: the allowed number of elements.
  ///   - base: returns an element's defaults, given its index in the list.
  public static func list<Element>(
    of format: Format<Element>, count: ClosedRange<Int> = 0...Int.max,
    base: (@Sendable (Int) -> Element)? = nil
  ) -> Format where Value == [Element] {
    Format(.list(format.shape, count: count)) { value, _, place in
      guard case .array(let elements) = value.content else { return place.expected("a list", value) }
      guard count.contains(elements.count) else {
        place.error(value, "expected \(count.elementsText), found \(elements.isEmpty ? "none" : "\(elements.count)")")
        return nil
      }
      var values: [Element] = []
      values.reserveCapacity(elements.count)
      for index in elements.indices {
        let here = place.element(index)
        if let value = format.decode(elements[index], base?(index), here) {
          values.append(value)
        } else {
          place.problems.noteUnreadable(here.path)
        }
      }
      return values
    } encode: { values, standard in
      if values == standard { return nil }
      return .array(values.enumerated().map { format.encode($0.element, base?($0.offset)) ?? format.write($0.element) })
    }
  }

  /// The format of an object whose keys the user chooses. The order of the keys is preserved.
  public static func named<Element>(of format: Format<Element>, atLeast least: Int = 0) -> Format
  where Value == [Named<Element>] {
    named(atLeast: least) { _ in format }
  }

  /// Like ``named(of:atLeast:)``, but the format of each value depends on its name. All values must have the same
  /// shape, regardless of their names.
  public static func named<Element>(
    atLeast least: Int = 0, _ format: @escaping @Sendable (String) -> Format<Element>
  ) -> Format where Value == [Named<Element>] {
    Format(.named(format("").shape, atLeast: least)) { value, place in
      guard case .object(let members) = value.content else {
        return place.expected("an object with names as keys", value)
      }
      if members.count < least { return place.expected("an object with at least \(least.counted("name"))", value) }
      for (index, member) in members.enumerated() where members[..<index].contains(where: { $0.key == member.key }) {
        place.problems.error(
          at: member.keyPosition, path: place.path, "the name '\(Excerpt.of(member.key))' is given twice")
      }
      return members.compactMap { member in
        format(member.key).read(member.value, at: place.key(member.key)).map { Named(member.key, $0) }
      }
    } write: { values in
      .object(values.map { JSON5Member($0.name, format($0.name).write($0.value)) })
    }
  }

  /// An object.
  public static func object(_ record: Record<Value>) -> Format { record.format }

  /// The format of a value that has one of several kinds and is written as an object or a string.
  public static func oneOf(_ kinds: OneOf<Value>) -> Format { kinds.format }
}

extension ClosedRange<Duration> {
  var text: String { "\(DurationText.format(lowerBound)) to \(DurationText.format(upperBound))" }
}

extension ClosedRange<Int> {
  fileprivate var elementsText: String {
    if upperBound == .max { return "a list of at least \(lowerBound.counted("element"))" }
    if lowerBound == 0 { return "a list of at most \(upperBound.counted("element"))" }
    return "a list of \(lowerBound) to \(upperBound.counted("element"))"
  }
}

extension Format<[UInt8]> {
  /// Bytes, written as a string (encoded as UTF-8) or as `{ hex: "0a 0b" }`.
  public static let bytes = bytes(named: "bytes", atLeast: 0)

  /// The format of bytes. The schema requires at least `least` bytes. In the documentation, `name` stands for the
  /// object `{ hex: … }`.
  public static func bytes(named name: String, atLeast least: Int) -> Format {
    let hex = Record(name, "bytes in hex", HexBytes()) {
      Field(
        "hex", \.bytes, .hex(atLeast: least), "two hex digits for each byte, with or without spaces", isRequired: true)
    }
    return Format(.either([.text(TextShape(length: least...Int.max)), hex.format.shape])) { value, place in
      switch value.content {
      case .text(let text): Array(text.utf8)
      case .object: hex.format.read(value, at: place)?.bytes
      case .null, .boolean, .number, .array: place.expected("text or { hex: … }", value)
      }
    } write: { bytes in
      if let text = String(validating: bytes, as: UTF8.self) { return .text(text) }
      return hex.format.write(HexBytes(bytes: bytes))
    }
  }

  private static func hex(atLeast least: Int) -> Format {
    let pattern = "^\\s*([0-9A-Fa-f]{2}\\s*)\(least == 0 ? "*" : "+")$"
    return parsed(
      .text(TextShape(pattern: pattern)), expected: "text", throwing: { try Hex.parse($0) }, text: { Hex.spaced($0) })
  }
}

private struct HexBytes: Equatable {
  var bytes: [UInt8] = []
}
