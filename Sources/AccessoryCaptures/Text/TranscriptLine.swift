/// An end of a cable, as a letter of transcripts and captures.
public enum WireEnd: String, Sendable {
  /// The accessory.
  case accessory = "A"
  /// The device.
  case device = "D"
}

/// One parsed line of a transcript: `0.000213 D DATA seq=1 ack=0 session=1 AA00 …`.
public struct TranscriptLine: Equatable, Sendable {
  /// The time as it is written, in seconds.
  public let time: String
  /// The end that sent it, or that it is about.
  public let end: WireEnd
  /// The contents of the packet, as text.
  public let text: String

  /// Reads a line; nil when it is not a line of a transcript, for example because of a prefix before the time.
  public init?(_ line: some Sequence<UInt8>) {
    var text = String(decoding: Array(line), as: UTF8.self)
    while text.last?.isWhitespace == true { text.removeLast() }
    let words = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
    guard words.count == 3, Self.isTime(words[0]), let end = WireEnd(rawValue: String(words[1])) else {
      return nil
    }
    time = String(words[0])
    self.end = end
    self.text = String(words[2])
  }

  private static func isTime(_ word: Substring) -> Bool {
    let parts = word.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 2 && parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { 0x30...0x39 ~= $0 } }
  }

  /// The number after `name=` in the first words, where a packet's line has it.
  public func number(_ name: String) -> Int? {
    for word in text.split(separator: " ").prefix(5) where word.hasPrefix("\(name)=") {
      return Int(word.dropFirst(name.count + 1))
    }
    return nil
  }
}
