import AccessoryCore
import AccessoryFormats
import IAP2

/// An entry in a capture: a packet, a message, or bytes outside packets.
public struct CaptureEntry: Equatable, Sendable {
  /// The kinds of entries.
  public enum Event: String, Sendable {
    case packet
    /// A packet whose payload checksum is wrong.
    case spoiled
    /// A truncated packet.
    case unfinished
    case detection
    /// Any other kind of iAP1 frame.
    case iap1
    /// A control message outside a packet.
    case message
    case skipped
    /// A comment in a capture file, or a transcript line that shows no packet.
    case note
    case transfer
    /// A cable in a capture file, reported before the cable's first packet.
    case cable
    /// A summary of everything in a capture file that is not iAP2.
    case others
    /// A damaged or missing part of a capture file.
    case problem

    var isSound: Bool { ![.spoiled, .unfinished, .skipped, .problem].contains(self) }
  }

  /// An entry's position.
  public enum Place: Equatable, Sendable {
    /// The offset among the bytes that one side sent.
    case offset(Int)
    /// The position in a transcript: the line number, and the time as the line gives it.
    case line(Int, time: String)
    /// The position in a capture file: the number of the packet that contains the entry's last byte, the time since the
    /// first packet, the cable's number, counting from 1, and the offset among the bytes that the sender sent over this
    /// cable.
    case packet(Int, time: Instant, cable: Int, offset: Int)
    /// The offset, in bytes, in a capture file.
    case file(Int)
  }

  /// A native channel in a capture file. Each native channel has its own interface in the file.
  public struct NativeChannel: Equatable, Sendable {
    /// The interface's number.
    public let interface: Int
    /// The name of the channel's cable.
    public let cable: String
    /// The name of the channel's protocol.
    public let protocolName: String
  }

  /// The entry's kind.
  public let event: Event
  /// The entry's position.
  public let place: Place
  /// The sender. The string is empty if the capture does not show who sent the bytes.
  public let from: String
  /// The entry's contents, as text.
  public let text: String
  /// The packet's header, if the entry is a packet.
  public private(set) var header: PacketHeader?
  /// The entry's bytes, or an empty array for a transcript, because transcripts do not contain all bytes.
  public private(set) var bytes: [UInt8] = []
  /// The control messages in the entry.
  public private(set) var messages: [ControlMessage] = []
  /// The native channel that the transfer or note belongs to.
  public private(set) var channel: NativeChannel?
  private(set) var skippedCount = 0

  init(
    _ event: Event, at place: Place, from: String = "", _ text: String, bytes: [UInt8] = [],
    on channel: NativeChannel? = nil
  ) {
    (self.event, self.place, self.from, self.text, self.bytes) = (event, place, from, text, bytes)
    self.channel = channel
  }

  init(
    _ piece: PacketCapture.Piece, of capture: PacketCapture, at place: Place? = nil, from: String,
    _ narrator: inout PacketNarrator
  ) {
    self.place = place ?? .offset(piece.range.lowerBound)
    self.from = from
    let bytes = Array(capture.bytes(of: piece))
    self.bytes = bytes
    let span = bytes.span.bytes
    switch piece.kind {
    case .packet(let found):
      event = .packet
      header = found
      text = narrator.line(for: found, packet: span)
      messages = narrator.messages(in: found, packet: span)
    case .spoiled(let found):
      event = .spoiled
      header = found
      text = narrator.spoiledLine(for: found)
    case .unfinished(let found):
      event = .unfinished
      header = found
      text = narrator.unfinishedLine(for: found, count: piece.range.count)
    case .detection:
      event = .detection
      text = "DETECT"
    case .legacy:
      event = .iap1
      text = narrator.legacyLine(span)
    case .message(let message):
      event = .message
      text = MessageText.line(message)
      messages = [message]
    case .skipped(let skipped):
      event = .skipped
      text = "SKIPPED \(skipped)"
      skippedCount = piece.range.count
    }
  }

  init(_ line: TranscriptLine, number: Int) {
    place = .line(number, time: line.time)
    from = line.end.rawValue
    text = line.text
    let words = line.text.split(separator: " ")
    switch words.first {
    case "DETECT"?: event = .detection
    case "IAP1"?: event = .iap1
    case "SPOILED"?: event = .spoiled
    case "SKIPPED"?: event = .skipped
    default: event = line.number("seq") == nil ? .note : .packet
    }
    skippedCount = words.first == "SKIPPED" && words.count > 1 ? max(0, Int(words[1]) ?? 0) : 0
  }

  // MARK: Text

  /// The entry as one line: its position, sender and contents.
  public var line: String {
    let who = from.isEmpty ? "" : "\(from) "
    switch place {
    case .offset(let offset): return "\(Self.hex(offset))  \(who)\(text)"
    case .line(_, let time): return "\(time) \(who)\(text)"
    case .packet(_, let time, let cable, _):
      if event == .note { return "\(time.secondsText) * \(text)" }
      return "\(time.secondsText) \(from.isEmpty || cable < 2 ? who : "\(from)\(cable) ")\(text)"
    case .file(let offset): return event == .problem ? "byte \(offset): \(text)" : text
    }
  }

  /// The additional lines in verbose output, which show every message parameter and every byte.
  public var details: [String] {
    var lines: [String] = []
    for message in messages {
      lines.append("          \(message.id)")
      lines += MessageText.parameterLines(message).map { "            \($0)" }
    }
    let start: Int
    switch place {
    case .offset(let offset), .packet(_, _, _, let offset): start = offset
    case .line, .file: return lines
    }
    for first in stride(from: 0, to: bytes.count, by: 16) {
      lines.append("          \(Self.hex(start + first))  \(Hex.spaced(bytes[first..<min(first + 16, bytes.count)]))")
    }
    return lines
  }

  private static func hex(_ number: Int) -> String {
    Hex.number(UInt(number), digits: 8, uppercase: false)
  }

  // MARK: JSON

  /// Returns the entry as one JSON object, with all bytes of the packet if `isVerbose` is true.
  public func json(isVerbose: Bool) -> String {
    var object: JSONObject = ["v": 1, "event": event.rawValue]
    switch place {
    case .offset(let offset): object.add(["offset": offset, "length": bytes.count])
    case .line(let number, let time): object.add(["line": number, "t": RawJSON(time)])
    case .packet(let number, let time, let cable, let offset):
      object.add([
        "packet": number, "t": time, "cable": cable > 0 ? cable : nil, "offset": offset, "length": bytes.count,
      ])
    case .file(let offset): object.add("byte", offset)
    }
    if !from.isEmpty { object.add("from", from) }
    if let header {
      object.add([
        "control": "\(header.control)", "seq": Int(header.sequence), "ack": Int(header.acknowledgement),
        "session": Int(header.session),
      ])
    }
    object.add("text", text)
    if !messages.isEmpty {
      object.add("messages", messages.map { Self.json($0, isVerbose) })
    }
    if isVerbose, !bytes.isEmpty { object.add("hex", Hex.plain(bytes)) }
    return object.text
  }

  private static func json(_ message: ControlMessage, _ isVerbose: Bool) -> JSONObject {
    [
      "id": Hex.number(message.id.rawValue), "name": MessageCatalog.entry(message.id)?.name,
      "parameters": isVerbose ? MessageText.parameterLines(message) : nil,
    ]
  }
}
