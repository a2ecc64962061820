import AccessoryCore
import AccessoryProfiles

/// What the profile fuzzer does with its bytes: a profile's text, a quirk, a behaviour, a pattern and a
/// template of a script.
public enum FuzzedProfile {
  /// Reads `bytes` in every way a user's text is read.
  public static func play(_ bytes: [UInt8]) {
    _ = try? ProfileLibrary().template(text: bytes, file: "fuzz.json5", name: "fuzz")
    let text = String(decoding: bytes.prefix(4_096), as: UTF8.self)
    _ = try? Quirk(text)
    _ = try? Behavior(text)
    if let pattern = try? BytePattern(text) { _ = pattern.match(bytes) }
    _ = try? ScriptTemplate(text)
  }
}
