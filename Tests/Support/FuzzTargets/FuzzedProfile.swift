import AccessoryFormats
import AccessoryProfiles

/// The profile fuzzer's target: the text of a profile, a quirk, a behavior, a pattern and a script's template.
public enum FuzzedProfile {
  /// Parses `bytes` with every parser for text that users write.
  public static func play(_ bytes: [UInt8]) {
    _ = try? ProfileLibrary().template(text: bytes, file: "fuzz.json5", name: "fuzz")
    let text = String(decoding: bytes.prefix(4_096), as: UTF8.self)
    _ = try? Quirk(text)
    _ = try? Behavior(text)
    if let pattern = try? BytePattern(text) { play(pattern, bytes) }
    _ = try? ScriptTemplate(text)
  }

  /// If the whole input matches a pattern, a search must also find the match, however the input is split.
  private static func play(_ pattern: BytePattern, _ bytes: [UInt8]) {
    var (whole, halves) = (PatternSearch(pattern), PatternSearch(pattern))
    whole.take(bytes.span.bytes)
    halves.take(bytes.span.bytes.extracting(0..<bytes.count / 2))
    _ = halves.isFound
    halves.take(bytes.span.bytes.extracting(bytes.count / 2..<bytes.count))
    precondition(whole.isFound == halves.isFound, "how bytes are cut does not matter")
    precondition(whole.isFound || pattern.match(bytes) == nil, "a match of everything is found")
  }
}
