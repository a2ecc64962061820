import AccessoryCaptures
import AccessoryCore
import AccessoryFormats
import AccessoryProfiles

/// Determines which bytes of a recording are not compared because they change each time, such as counters and clocks.
///
/// ```swift
/// let mask = try ReplayMask.format.read(text, file: "clock.json5")
/// let learned = try ReplayMask(differencesOf: first, and: second)
/// ```
public struct ReplayMask: Equatable, Sendable {
  /// The version of the file format.
  public static let formatVersion = 1

  /// The entries. A byte is not compared if any entry covers it.
  public var entries: [Entry] = []

  /// Creates a mask that covers nothing.
  public init() {}

  /// The bytes to ignore: either a range within sessions, or a pattern wherever it occurs.
  public struct Entry: Equatable, Sendable {
    /// The session's number, counting from 1, or 0 for all sessions.
    public var session = 0
    /// The protocol of the sessions, or nil for all protocols.
    public var protocolName: String?
    /// The side that sends the bytes, or nil for both sides.
    public var from: Recording.End?
    /// The offset of the first byte in the data that the sender sends in the session.
    public var offset = 0
    /// The number of bytes, or 0 if the entry is a pattern.
    public var count = 0
    /// A pattern, which applies wherever it occurs, or nil if the entry is a range.
    public var pattern: Pattern?

    /// Creates an entry that covers nothing.
    public init() {}

    static let format = Record("mask entry", "bytes to ignore", Self()) {
      Field("session", \.session, .integer(0...Int(Int32.max)), "the session's number in the recording; 0 for all")
      Field("protocol", \.protocolName, .optional(.text), "the protocol of the sessions; default: all")
      Field("from", \.from, .optional(.choice), "the end that sends the bytes; default: both ends")
      Field("offset", \.offset, .integer(0...Int.max), "the offset of the first byte in the bytes that this end sends")
      Field("count", \.count, .integer(0...Int.max), "number of bytes from the offset")
      Field(
        "pattern", \.pattern, .optional(Pattern.format),
        "bytes in hex, with ?? for bytes to ignore; applies wherever they occur")
    }.checked { entry, object in
      if (entry.count > 0) == (entry.pattern != nil) {
        object.problems.error(
          at: object.tree.position, "a mask entry needs either 'count' (with 'offset') or 'pattern'")
      }
    }
  }

  /// A sequence of bytes in hex, with `??` for each byte that is not compared.
  public struct Pattern: Equatable, Sendable, CustomStringConvertible {
    /// The bytes. A nil element stands for any value.
    public var bytes: [UInt8?]

    /// Reads a pattern such as "02 ?? ?? 03". Returns nil if the text is not a pattern, or if either all or none of its
    /// bytes are wildcards.
    public init?(_ text: String) {
      let digits = Array(text.utf8).filter { $0 != UInt8(ascii: " ") }
      guard digits.count >= 2, digits.count % 2 == 0 else { return nil }
      var bytes: [UInt8?] = []
      for index in stride(from: 0, to: digits.count, by: 2) {
        let pair = String(decoding: digits[index...index + 1], as: UTF8.self)
        if pair == "??" {
          bytes.append(nil)
        } else if let byte = UInt8(pair, radix: 16), pair.allSatisfy(\.isHexDigit) {
          bytes.append(byte)
        } else {
          return nil
        }
      }
      guard bytes.contains(where: { $0 == nil }), bytes.contains(where: { $0 != nil }) else { return nil }
      self.bytes = bytes
    }

    /// The pattern as it is written in mask files.
    public var description: String { bytes.map { $0.map { Hex.number($0) } ?? "??" }.joined(separator: " ") }

    static let format = Format<Pattern>.parsed(
      TextShape("pattern", pattern: "^( *([0-9A-Fa-f]{2}|\\?\\?))+ *$"),
      expected: "a pattern: expected pairs of hex digits and at least one ??, such as '02 ?? ?? 03'",
      Pattern.init, text: \.description)
  }

  /// The file's format.
  public static let format = Record("mask", "bytes of a recording to ignore", Self()) {
    Field(constant: "version", formatVersion, "the version of this format")
    Field("mask", \.entries, .list(of: .object(Entry.format)), "the bytes", isRequired: true)
  }

  /// Returns the ranges that are not compared among the bytes from one side of a session. The ranges are sorted and do
  /// not overlap.
  func ranges(of session: Recording.Session, from end: Recording.End, _ bytes: [UInt8]) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    for entry in entries {
      guard entry.session == 0 || entry.session == session.number,
        entry.protocolName == nil || entry.protocolName == session.protocolName,
        entry.from == nil || entry.from == end
      else { continue }
      if let pattern = entry.pattern {
        ranges += Self.places(of: pattern.bytes, in: bytes)
      } else if entry.offset < bytes.count {
        ranges.append(entry.offset..<min(bytes.count, entry.offset + min(entry.count, bytes.count)))
      }
    }
    return RangeSet(ranges).ranges.map(\.self)
  }

  private static func places(of pattern: [UInt8?], in bytes: [UInt8]) -> [Range<Int>] {
    guard pattern.count <= bytes.count else { return [] }
    var ranges: [Range<Int>] = []
    for start in 0...(bytes.count - pattern.count)
    where pattern.indices.allSatisfy({ pattern[$0] == nil || pattern[$0] == bytes[start + $0] }) {
      for index in pattern.indices where pattern[index] == nil { ranges.append(start + index..<start + index + 1) }
    }
    return ranges
  }
}

// MARK: - Learning

extension ReplayMask {
  /// The reason why a mask cannot be made from two recordings.
  public struct Mismatch: Error, Equatable, Sendable, CustomStringConvertible {
    /// A sentence that describes the problem.
    public let description: String
  }

  /// Creates a mask from the bytes that differ between two recordings of the same actions.
  ///
  /// - Throws: ``Mismatch`` if the recordings differ in their sessions or in the number of bytes.
  public init(differencesOf first: Recording, and second: Recording) throws(Mismatch) {
    self.init()
    guard first.sessions.count == second.sessions.count else {
      throw Mismatch(
        description: "the recordings have \(first.sessions.count.counted("session")) and \(second.sessions.count): "
          + "a mask needs two recordings of the same run")
    }
    for (one, other) in zip(first.sessions, second.sessions) {
      guard one.protocolName == other.protocolName else {
        throw Mismatch(
          description:
            "session \(one.number) is on \(one.protocolName) in one recording and on \(other.protocolName) in "
            + "the other")
      }
      for end in [Recording.End.device, .accessory] {
        let (bytes, others) = (one.bytes(from: end), other.bytes(from: end))
        guard bytes.count == others.count else {
          throw Mismatch(
            description: "session \(one.number): the \(end.rawValue) sent \(bytes.count) bytes in one recording and "
              + "\(others.count) in the other; a mask covers bytes in the same places")
        }
        let differing = bytes.indices.filter { bytes[$0] != others[$0] }
        for range in RangeSet(differing.map { $0..<$0 + 1 }).ranges {
          var entry = Entry()
          (entry.session, entry.protocolName) = (one.number, one.protocolName)
          (entry.from, entry.offset, entry.count) = (end, range.lowerBound, range.count)
          entries.append(entry)
        }
      }
    }
  }
}
