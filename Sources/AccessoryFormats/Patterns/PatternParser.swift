indirect enum PatternNode {
  case byte(ByteSet)
  case assertion(PatternAssertion)
  case sequence([PatternNode])
  case choice([PatternNode])
  case repeated(PatternNode, least: Int, most: Int?, isLazy: Bool, at: Int)
  case group(PatternNode, number: Int)
  case match
}

struct PatternParser {
  private let characters: [Unicode.Scalar]
  private var place = 0
  private var depth = 0
  private var isCaseless = false
  private var hasLines = false
  private(set) var groupCount = 0
  private(set) var names: [String: Int] = [:]

  init(_ text: String) { characters = Array(text.unicodeScalars) }

  mutating func parse() throws(OptionError) -> PatternNode {
    let node = try choice()
    if next == ")" { throw error("this ) has no matching (") }
    return node
  }

  private var next: Unicode.Scalar? { place < characters.count ? characters[place] : nil }

  private func error(_ text: String, at place: Int? = nil) -> OptionError {
    OptionError("at character \((place ?? self.place) + 1): \(text)")
  }

  private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard next == scalar else { return false }
    place += 1
    return true
  }

  private mutating func choice() throws(OptionError) -> PatternNode {
    var nodes = [try sequence()]
    while take("|") { nodes.append(try sequence()) }
    return nodes.count == 1 ? nodes[0] : .choice(nodes)
  }

  private mutating func sequence() throws(OptionError) -> PatternNode {
    var nodes: [PatternNode] = []
    while let next, next != "|", next != ")" { nodes.append(try repeated()) }
    return .sequence(nodes)
  }

  private mutating func repeated() throws(OptionError) -> PatternNode {
    let node = try single()
    let begun = place
    guard let counts = try repetition() else { return node }
    let isLazy = take("?")
    let next = place
    if try repetition() != nil { throw error("a repetition of a repetition needs a group", at: next) }
    return .repeated(node, least: counts.least, most: counts.most, isLazy: isLazy, at: begun)
  }

  private mutating func repetition() throws(OptionError) -> (least: Int, most: Int?)? {
    if take("*") { return (0, nil) }
    if take("+") { return (1, nil) }
    if take("?") { return (0, 1) }
    guard next == "{" else { return nil }
    let begun = place
    place += 1
    let least = number()
    let most = take(",") ? number() : least
    let isOpen = characters[begun..<place].contains(",") && most == nil
    guard take("}"), let least, isOpen || most.map({ $0 >= least }) ?? false else {
      throw error("a repetition is written {2}, {2,} or {2,5}; a literal { is \\{", at: begun)
    }
    return (least, most)
  }

  private mutating func number() -> Int? {
    var digits = ""
    while let digit = next, ("0"..."9").contains(digit), digits.count < 4 {
      digits.unicodeScalars.append(digit)
      place += 1
    }
    return Int(digits)
  }

  private mutating func single() throws(OptionError) -> PatternNode {
    let begun = place
    guard let scalar = next else { throw error("the pattern ends too early") }
    place += 1
    switch scalar {
    case ".": return .byte(.all)
    case "(": return try group(begun)
    case "[": return .byte(try set(begun))
    case "^": return .assertion(hasLines ? .lineStart : .start)
    case "$": return .assertion(hasLines ? .lineEnd : .end)
    case "\\":
      if let assertion = assertion() { return .assertion(assertion) }
      return .byte(cased(try escape()))
    case "*", "+", "?", "{":
      throw error("there is nothing to repeat before this \(scalar); a literal \(scalar) is \\\(scalar)", at: begun)
    default:
      let bytes = String(scalar).utf8.map { PatternNode.byte(cased(ByteSet([$0]))) }
      return bytes.count == 1 ? bytes[0] : .sequence(bytes)
    }
  }

  private mutating func group(_ begun: Int) throws(OptionError) -> PatternNode {
    depth += 1
    if depth > BytePattern.deepestNesting { throw error("groups are nested too deeply", at: begun) }
    defer { depth -= 1 }
    let flags = (isCaseless, hasLines)
    var number: Int?
    if !take("?") {
      number = try counted(begun)
    } else if takeNameSign() {
      number = try named(begun)
    } else if !take(":"), try takeFlags(begun) {
      // The flags apply to the rest of the enclosing group.
      return .sequence([])
    }
    let node = try choice()
    (isCaseless, hasLines) = flags
    if !take(")") { throw error("this ( has no matching )", at: begun) }
    return number.map { .group(node, number: $0) } ?? node
  }

  /// Reads the `<` before a group's name, or Python's `P<`.
  private mutating func takeNameSign() -> Bool {
    let begun = place
    _ = take("P")
    if take("<"), let next, next != "=", next != "!" { return true }
    place = begun
    return false
  }

  /// Reads flags. Returns true if the flags apply to the rest of the enclosing group rather than to a new group.
  private mutating func takeFlags(_ begun: Int) throws(OptionError) -> Bool {
    if let next, "=!<".unicodeScalars.contains(next) {
      throw error("lookahead and lookbehind are not supported: match that text as well", at: begun)
    }
    let first = place
    while let flag = next, "ims".unicodeScalars.contains(flag) {
      if flag == "i" { isCaseless = true }
      if flag == "m" { hasLines = true }
      place += 1
    }
    if place > first, take(")") { return true }
    guard place > first, take(":") else {
      throw error("expected (?: …), (?<name> …), or (?i) for either case and (?m) for lines", at: begun)
    }
    return false
  }

  private mutating func counted(_ begun: Int) throws(OptionError) -> Int {
    groupCount += 1
    if groupCount > BytePattern.mostGroups {
      throw error("there are more than \(BytePattern.mostGroups) groups; (?: …) does not count", at: begun)
    }
    return groupCount
  }

  private mutating func named(_ begun: Int) throws(OptionError) -> Int {
    var name = ""
    while let letter = next, letter != ">" {
      name.unicodeScalars.append(letter)
      place += 1
    }
    let isName =
      name.first?.isLetter ?? false
      && name.unicodeScalars.allSatisfy { ByteSet.letters.contains(UInt8(exactly: $0.value) ?? 0) }
    guard isName, take(">") else {
      throw error("a group's name consists of letters, digits and _, and is written (?<name> …)", at: begun)
    }
    let number = try counted(begun)
    if names.updateValue(number, forKey: name) != nil { throw error("two groups are named '\(name)'", at: begun) }
    return number
  }

  /// Reads an escape that stands for a condition, such as `\b`, or returns nil for anything else.
  private mutating func assertion() -> PatternAssertion? {
    let assertions: [Unicode.Scalar: PatternAssertion] = ["A": .start, "z": .end, "b": .wordEdge, "B": .noWordEdge]
    guard let assertion = next.flatMap({ assertions[$0] }) else { return nil }
    place += 1
    return assertion
  }

  private func cased(_ set: ByteSet) -> ByteSet { isCaseless ? set.caseless : set }

  /// The letters that stand for a byte or a class of bytes when they follow a backslash.
  private static let escapes: [Unicode.Scalar: ByteSet] = [
    "d": .digits, "w": .letters, "s": .spaces,
    "D": ByteSet.digits.inverted, "W": ByteSet.letters.inverted, "S": ByteSet.spaces.inverted,
    "r": ByteSet([0x0D]), "n": ByteSet([0x0A]), "t": ByteSet([0x09]), "f": ByteSet([0x0C]), "v": ByteSet([0x0B]),
    "a": ByteSet([0x07]), "e": ByteSet([0x1B]), "0": ByteSet([0]),
  ]

  private mutating func escape() throws(OptionError) -> ByteSet {
    let begun = place - 1
    guard let scalar = next else { throw error("the pattern ends with a \\; a literal \\ is \\\\", at: begun) }
    place += 1
    if let set = Self.escapes[scalar] { return set }
    switch scalar {
    case "1"..."9": throw error("backreferences are not supported: repeat the group's contents", at: begun)
    case "x":
      let digits = String(String.UnicodeScalarView(characters[place..<min(place + 2, characters.count)]))
      guard digits.utf8.count == 2, let byte = UInt8(digits, radix: 16), !digits.hasPrefix("+") else {
        throw error("\\x needs two hex digits", at: begun)
      }
      place += 2
      return ByteSet([byte])
    default:
      guard scalar.isASCII, let byte = UInt8(exactly: scalar.value), !ByteSet.letters.contains(byte) else {
        throw error(
          "unknown \\\(scalar): expected \\d \\w \\s \\b \\A \\z \\r \\n \\t \\f \\v \\a \\e \\0 \\xHH, or \\ before a symbol",
          at: begun)
      }
      return ByteSet([byte])
    }
  }

  private mutating func set(_ begun: Int) throws(OptionError) -> ByteSet {
    let isInverted = take("^")
    var set = ByteSet()
    var isFirst = true
    while isFirst || next != "]" {
      isFirst = false
      let start = place
      let (low, isClass) = try member(begun)
      guard !isClass, next == "-", place + 1 < characters.count, characters[place + 1] != "]" else {
        set.formUnion(low)
        continue
      }
      place += 1
      let (high, isClassToo) = try member(begun)
      guard !isClassToo, let first = (0...255).first(where: { low.contains(UInt8($0)) }),
        let last = (0...255).first(where: { high.contains(UInt8($0)) }), first <= last
      else { throw error("a range goes from a lower to a higher character; a literal - is \\-", at: start) }
      for byte in first...last { set.insert(UInt8(byte)) }
    }
    place += 1
    return isInverted ? cased(set).inverted : cased(set)
  }

  /// Reads one character in a set, or a class such as `\d`.
  private mutating func member(_ begun: Int) throws(OptionError) -> (ByteSet, isClass: Bool) {
    guard let scalar = next else { throw error("this [ has no matching ]", at: begun) }
    place += 1
    if scalar == "[", let next, ":.=".unicodeScalars.contains(next) {
      throw error(
        "named classes are not supported in a set: write \\d, \\w, \\s or a-z; a literal [ is \\[", at: place - 1)
    }
    if scalar == "\\" {
      if let next, "AzbB".unicodeScalars.contains(next) {
        throw error("a set contains bytes, but \\\(next) is not a byte", at: place - 1)
      }
      let isClass = next.map { "dDwWsS".unicodeScalars.contains($0) } ?? false
      return (try escape(), isClass)
    }
    guard scalar.isASCII else {
      throw error("a set contains bytes, but '\(scalar)' is more than one byte: use ( | )", at: place - 1)
    }
    return (ByteSet([UInt8(scalar.value)]), false)
  }
}
