/// What is wrong with an address, where, and the nearest right form.
///
/// ```
/// unknown kind 'unx' in the address 'unx:/tmp/a.sock' (byte 0): did you mean 'unix:/tmp/a.sock'?
/// ```
public struct AddressError: Error, Equatable, Sendable {
  /// The address as it was written.
  public let text: String
  /// The part of it that is wrong; empty where something is missing.
  public let part: String
  /// Where that part begins, in bytes of UTF-8.
  public let offset: Int
  /// The problem, as a fragment of a sentence that names the part: "the port '99999' is above 65535".
  public let problem: String
  /// The nearest right form, where there is one; words in capitals are to be filled in.
  public let suggestion: String?

  /// Makes an error about one part of `text`.
  public init(text: String, part: String, offset: Int, problem: String, suggestion: String?) {
    self.text = text
    self.part = part
    self.offset = offset
    self.problem = problem
    self.suggestion = suggestion
  }
}

extension AddressError: CustomStringConvertible {
  /// One line for users. Control characters are escaped and very long addresses cut, so that a wrong address can
  /// neither control a terminal nor flood it.
  public var description: String {
    let line = "\(problem.spelledOut(atMost: 240)) in the address '\(text.spelledOut(atMost: 160))' (byte \(offset))"
    return suggestion.map { "\(line): did you mean '\($0.spelledOut(atMost: 160))'?" } ?? line
  }
}

extension StringProtocol {
  /// This text with control characters as escapes, and cut at a length.
  func spelledOut(atMost limit: Int) -> String {
    let shown = String(String.UnicodeScalarView(unicodeScalars.prefix(limit))).spelledOut
    return unicodeScalars.dropFirst(limit).isEmpty ? shown : shown + "…"
  }
}
