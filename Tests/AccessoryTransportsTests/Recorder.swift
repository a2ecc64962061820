import AccessoryCore

/// A channel handler that records every event.
final class Recorder: ChannelHandler {
  private(set) var bytes: [UInt8] = []
  /// How long each reception was.
  private(set) var receptions: [Int] = []
  private(set) var writableCalls = 0
  private(set) var end: ChannelEnd?
  var onReceived: (() -> Void)?
  var onWritable: (() -> Void)?
  var onEnd: (() -> Void)?

  var text: String { String(decoding: bytes, as: UTF8.self) }

  func channel(_ channel: any Channel, received span: RawSpan) {
    span.withUnsafeBytes { bytes.append(contentsOf: $0) }
    receptions.append(span.byteCount)
    onReceived?()
  }

  func channelIsWritable(_ channel: any Channel) {
    writableCalls += 1
    onWritable?()
  }

  func channel(_ channel: any Channel, endedWith end: ChannelEnd) {
    self.end = end
    onEnd?()
  }
}

extension Channel {
  /// Sends bytes of an array.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Int { bytes.withUnsafeBytes { send($0.bytes) } }

  /// Sends the bytes of a text.
  @discardableResult
  func send(_ text: String) -> Int { send(Array(text.utf8)) }

  /// Starts with a handler of its own.
  func startRecording() -> Recorder {
    let recorder = Recorder()
    start(recorder)
    return recorder
  }
}
