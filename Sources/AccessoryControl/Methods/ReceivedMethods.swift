import AccessoryFormats
import AccessorySimulator
import Certificates

extension ControlMethods {
  static let received = ControlMethod(
    "accessory.received",
    "Get the bytes that an accessory has received in its sessions, regardless of its behavior. With `data` or `text`, "
      + "search these bytes instead. The server keeps the last \(ReceivedBytes.most >> 20) MiB.",
    .init(
      "searching", .id(of: "accessory"), Argument(optional: "data", .text, "the bytes to search for, in base64"),
      Argument(optional: "text", .text, "the text to search for; use this instead of `data`"),
      Argument(
        optional: "times", .integer(0...Int.max),
        "how many times the accessory should have received the bytes (default: at least once)"),
      Argument(optional: "protocol", .text, "only sessions on this protocol (default: all)")),
    found, effect: .reads, errors: [.unknown, .gone],
    example: "{\"accessory\":\"a1\",\"text\":\"hello\",\"times\":1}"
  ) { call, accessory, data, text, times, protocolName in
    let received = try call.server.accessories.find(accessory).received
    guard data != nil || text != nil else {
      guard times == nil else {
        throw RPCError(.params, "times: needs 'data' or 'text' to search for")
      }
      return (received.streams.filter { protocolName == nil || $0.protocolName == protocolName }, nil)
    }
    let wanted = try bytes(data: data, text: text)
    guard !wanted.isEmpty else {
      throw RPCError(.params, "the bytes to search for are empty", advice: "pass at least one byte")
    }
    return (nil, received.search(for: wanted, times: times, on: protocolName))
  }

  private static let found = Answer<(streams: [ReceivedBytes.Stream]?, search: ReceivedSearch?)>(
    "received by an accessory"
  ) {
    Key(
      shape: FieldShape(
        key: "sessions",
        summary: "without a search: the bytes received, in the order in which the sessions were opened",
        shape: .list(.record(ReceivedBytes.Stream.answer.shape), count: 0...Int.max), isRequired: false)
    ) { $0.streams.map { .array($0.map(ReceivedBytes.Stream.answer.tree)) } }
    Key(
      optional: "count", .integer(0...Int.max),
      "number of occurrences found; they do not overlap, and none spans two sessions"
    ) { $0.search?.count }
    Key(optional: "met", .boolean, "whether the bytes were received as many times as `times` requires") {
      $0.search?.isMet
    }
    Key(
      optional: "text", .text,
      "the result in words; if the bytes were never received, also the closest match and its first difference"
    ) { $0.search?.description }
  }
}

extension ReceivedBytes.Stream {
  fileprivate static let answer = Answer<ReceivedBytes.Stream>(
    "received bytes", "what an accessory received in one session"
  ) {
    Key("protocol", .text, "the protocol of the session") { $0.protocolName }
    Key("t", .seconds, "when the session was opened, in seconds on the world's clock") { $0.began }
    Key("data", .text, "the bytes in base64") { Base64.text($0.bytes.copy(0..<$0.bytes.count)) }
    Key("dropped", .integer(0...Int.max), "number of earlier bytes that the server has dropped") { $0.dropped }
  }
}
