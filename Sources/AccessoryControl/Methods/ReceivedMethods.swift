import AccessoryFormats
import AccessorySimulator
import Certificates

extension ControlMethods {
  static let received = ControlMethod(
    "accessory.received",
    "Get what an accessory has received in its sessions, whatever its behavior is; or, with `data` or `text`, search in "
      + "it. The server keeps the last \(ReceivedBytes.most >> 20) MiB.",
    Searching.format, Found.format, effect: .reads, errors: [.unknown, .gone],
    example: "{\"accessory\":\"a1\",\"text\":\"hello\",\"times\":1}"
  ) { call, params in
    let received = try call.server.accessories.find(params.accessory).received
    guard params.wanted != SentBytes() else {
      guard params.times == nil else {
        throw RPCError(.params, "times: counts what 'data' or 'text' searches for, and neither is given")
      }
      return Found(
        streams: received.streams.filter { params.protocolName == nil || $0.protocolName == params.protocolName }
          .map(ReceivedStream.init))
    }
    let wanted = try params.wanted.bytes()
    guard !wanted.isEmpty else {
      throw RPCError(.params, "the searched bytes are empty", advice: "pass at least one byte")
    }
    let search = received.search(for: wanted, times: params.times, on: params.protocolName)
    return Found(count: search.count, isMet: search.isMet, text: search.description)
  }
}

private struct Searching: Equatable, Sendable {
  var accessory = ""
  var wanted = SentBytes()
  var times: Int?
  var protocolName: String?

  static let format = Record("searching", "", Searching()) {
    Field("accessory", \.accessory, .text, "the id of the accessory", isRequired: true)
    Field("data", \.wanted.data, .optional(.text), "the bytes to search for, in base64")
    Field("text", \.wanted.text, .optional(.text), "the bytes to search for as text, instead of data")
    Field(
      "times", \.times, .optional(.integer(0...Int.max)),
      "how many times the accessory should have received the bytes (default: at least once)")
    Field("protocol", \.protocolName, .optional(.text), "only sessions of this protocol (default: all)")
  }
}

private struct Found: Equatable, Sendable {
  var streams: [ReceivedStream]?
  var count: Int?
  var isMet: Bool?
  var text: String?

  static let format = Record("received by an accessory", "", Found()) {
    Field(
      "sessions", \.streams, .optional(.list(of: ReceivedStream.format.format)),
      "without a search: what was received, in the order in which the sessions were opened")
    Field(
      "count", \.count, .optional(.integer(0...Int.max)),
      "how many times the bytes were received; occurrences do not overlap, and each is in one session")
    Field("met", \.isMet, .optional(.boolean), "whether the bytes were received that many times")
    Field(
      "text", \.text, .optional(.text),
      "the result in words; if the bytes were never received, also the most similar ones and the first difference")
  }
}

private struct ReceivedStream: Equatable, Sendable {
  var protocolName = ""
  var began = 0.0
  var data = ""
  var dropped = 0

  init() {}

  init(_ stream: ReceivedBytes.Stream) {
    (protocolName, began) = (stream.protocolName, stream.began.wholeSeconds)
    (data, dropped) = (Base64.text(stream.bytes.copy(0..<stream.bytes.count)), stream.dropped)
  }

  static let format = Record("received bytes", "what an accessory received in one session", ReceivedStream()) {
    Field("protocol", \.protocolName, .text, "the protocol of the session", isRequired: true)
    Field("t", \.began, .seconds, "when the session was opened, in seconds on the world's clock", isRequired: true)
    Field("data", \.data, .text, "the bytes in base64", isRequired: true)
    Field(
      "dropped", \.dropped, .integer(0...Int.max), "number of earlier bytes that are no longer kept", isRequired: true)
  }
}
