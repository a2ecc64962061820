import AccessoryCore
import AccessoryProfiles
import AccessoryTransports

extension BenchCard {
  /// Reads a card from the bench. Unknown keys are ignored: a later version may have written them.
  ///
  /// - Throws: ``BenchCardError``, which names the card and what is wrong with it.
  public init(reading bytes: [UInt8], of entry: BenchEntry) throws(BenchCardError) {
    let fields = try CardFields(bytes, of: entry)
    let version = try fields.number("v")
    guard version == BenchCard.version else {
      throw BenchCardError("\(entry.cardPath): written by another version of easim (v \(version))")
    }
    guard try fields.text("socket") == entry.socketFile else {
      throw BenchCardError("\(entry.cardPath): its socket must be \(entry.socketFile), beside it")
    }
    guard let pid = Int32(exactly: try fields.number("pid")), pid > 0 else {
      throw fields.wrong("pid", "a process id")
    }
    self.init(
      name: try fields.text("name"), serial: try fields.text("serial"), manufacturer: try fields.text("manufacturer"),
      model: try fields.text("model"), protocols: try fields.texts("protocols"),
      process: ProcessIdentity(pid: pid, startTime: UInt64(try fields.number("processStart"))),
      attachedAt: fields.microseconds("attachedAt"))
  }
}

/// The members of a card by key. A missing member, or one of another type, is an error that names the key.
private struct CardFields {
  private let entry: BenchEntry
  private let tree: JSON5Value

  init(_ bytes: [UInt8], of entry: BenchEntry) throws(BenchCardError) {
    self.entry = entry
    do { tree = try JSON5.read(bytes, file: entry.cardPath) } catch { throw BenchCardError("\(error)") }
  }

  func text(_ key: String) throws(BenchCardError) -> String {
    guard case .text(let text)? = tree[key]?.content else { throw wrong(key, "text") }
    return text
  }

  func number(_ key: String) throws(BenchCardError) -> Int {
    if case .number(let number)? = tree[key]?.content, let whole = number.integer, whole >= 0 { return Int(whole) }
    throw wrong(key, "a whole number")
  }

  func texts(_ key: String) throws(BenchCardError) -> [String] {
    guard case .array(let values)? = tree[key]?.content else { throw wrong(key, "a list of texts") }
    var texts: [String] = []
    for value in values {
      guard case .text(let text) = value.content else { throw wrong(key, "a list of texts") }
      texts.append(text)
    }
    return texts
  }

  /// Seconds as microseconds, 0 where they are missing: the time is only displayed.
  func microseconds(_ key: String) -> Int {
    guard case .number(let number)? = tree[key]?.content, (0...1e12).contains(number.value) else { return 0 }
    return Int((number.value * 1_000_000).rounded())
  }

  func wrong(_ key: String, _ expected: String) -> BenchCardError {
    let found = tree[key]?.summary ?? "nothing"
    return BenchCardError("\(entry.cardPath): expected \(expected) under '\(key)', found \(found)")
  }
}

/// Why a card cannot be used.
public struct BenchCardError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The card, and what is wrong with it.
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}
