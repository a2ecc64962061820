enum Key: Equatable {
  case character(Character)
  case enter
  case escape
  case backspace
  case up
  case down
  case left
  case right
  case pageUp
  case pageDown
  /// A control key: `c` for Ctrl-C.
  case control(Character)
}

/// Recognizes keys in the input from a terminal.
///
/// The escape key sends the same byte that begins an arrow key's sequence. An escape byte at the end of the input is
/// therefore held back. If no byte follows, the caller soon calls ``finish()``, which treats the held byte as the
/// escape key. Sequences for unknown keys are dropped.
struct KeyReader: Equatable {
  /// The length of the longest sequence that a terminal sends for a key.
  private static let longestSequence = 16
  private var held: [UInt8] = []

  /// Whether an escape byte is being held back.
  var isHolding: Bool { !held.isEmpty }

  mutating func read(_ bytes: some Sequence<UInt8>) -> [Key] {
    var keys: [Key] = []
    for byte in bytes {
      held.append(byte)
      while let (key, length) = first() {
        held.removeFirst(length)
        if let key { keys.append(key) }
      }
    }
    return keys
  }

  /// Treats a held escape byte as the escape key.
  mutating func finish() -> [Key] {
    defer { held = [] }
    return held.first == 0x1B && held.count == 1 ? [.escape] : []
  }

  /// Returns the first key and its length in bytes. The key is nil if the bytes do not represent a known key. Returns
  /// nil if more bytes are needed.
  private func first() -> (Key?, Int)? {
    guard let byte = held.first else { return nil }
    switch byte {
    case 0x1B: return sequence()
    case 0x0D, 0x0A: return (.enter, 1)
    case 0x7F, 0x08: return (.backspace, 1)
    case 0x01...0x1A: return (.control(Character(UnicodeScalar(byte + 0x60))), 1)
    case 0x20...0x7E: return (.character(Character(UnicodeScalar(byte))), 1)
    case 0xC2...0xF4: return character()
    default: return (nil, 1)
    }
  }

  private func character() -> (Key?, Int)? {
    let length = held[0] >= 0xF0 ? 4 : held[0] >= 0xE0 ? 3 : 2
    guard held.dropFirst().prefix(length - 1).allSatisfy({ $0 & 0xC0 == 0x80 }) else { return (nil, 1) }
    guard held.count >= length else { return nil }
    let text = String(validating: held.prefix(length), as: UTF8.self)
    return (text?.first.map(Key.character), length)
  }

  /// Parses `ESC [ A` (with or without parameters) or `ESC O A`. If two escape bytes arrive in a row, the first one is
  /// the escape key.
  private func sequence() -> (Key?, Int)? {
    guard held.count >= 2 else { return nil }
    guard held[1] == UInt8(ascii: "[") || held[1] == UInt8(ascii: "O") else {
      return held[1] == 0x1B ? (.escape, 1) : (nil, 2)
    }
    guard let end = held.dropFirst(2).firstIndex(where: { 0x40...0x7E ~= $0 }) else {
      return held.count >= Self.longestSequence ? (nil, held.count) : nil
    }
    if held[end] == UInt8(ascii: "~") {
      let pages: [UInt8: Key] = [UInt8(ascii: "5"): .pageUp, UInt8(ascii: "6"): .pageDown]
      return (pages[held[2]], end + 1)
    }
    let arrows: [UInt8: Key] = [0x41: .up, 0x42: .down, 0x43: .right, 0x44: .left]
    return (arrows[held[end]], end + 1)
  }
}
