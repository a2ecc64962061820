import Foundation

/// Committed text that is generated from code, such as golden error texts, a schema, or a table in a document.
///
/// A test compares the committed text with the text that the code now generates. To accept the new text, run
/// `EASIM_REWRITE=1 Scripts/test -- --filter NameOfTheTest` and check `git diff`.
///
/// ```swift
/// #expect(try CommittedText.difference("docs/faults.md", from: table) == nil)
/// ```
public enum CommittedText {
  /// Whether files that differ are rewritten.
  public static let rewrites = ProcessInfo.processInfo.environment["EASIM_REWRITE"] == "1"

  /// Returns the first line in which the file differs from `text`, with instructions for accepting the new text.
  /// Returns nil if the file and `text` are equal. With `EASIM_REWRITE=1`, rewrites the file instead.
  public static func difference(_ path: String, from text: String) throws -> String? {
    let committed = (try? Repository.text(path)) ?? ""
    if committed == text { return nil }
    if rewrites {
      try text.write(toFile: "\(Repository.root)/\(path)", atomically: true, encoding: .utf8)
      return nil
    }
    let (old, new) = (lines(committed), lines(text))
    let place = zip(old, new).prefix { $0 == $1 }.count
    return """
      \(path):\(place + 1) differs from what the code says; EASIM_REWRITE=1 rewrites the file
        committed: \(place < old.count ? old[place] : "(end of file)")
        the code:  \(place < new.count ? new[place] : "(end of file)")
      """
  }

  /// Compares only the part of a file between `<!-- begin NAME -->` and `<!-- end NAME -->`.
  public static func difference(_ path: String, part name: String, from text: String) throws -> String? {
    let whole = try Repository.text(path)
    guard let begin = whole.range(of: "<!-- begin \(name) -->\n"), let end = whole.range(of: "<!-- end \(name) -->")
    else {
      return "\(path) has no part '\(name)': write <!-- begin \(name) --> and <!-- end \(name) -->"
    }
    return try difference(path, from: "\(whole[..<begin.upperBound])\(text)\(whole[end.lowerBound...])")
  }

  private static func lines(_ text: String) -> [Substring] {
    text.split(separator: "\n", omittingEmptySubsequences: false)
  }
}
