import AccessoryCore

/// A channel handler that records every event.
public final class ChannelRecorder: ChannelHandler {
  /// All received bytes.
  public private(set) var bytes: [UInt8] = []
  /// The number of bytes in each reception.
  public private(set) var receptions: [Int] = []
  /// How many times the channel reported that there is room to send.
  public private(set) var writableCalls = 0
  /// How the channel ended.
  public private(set) var end: ChannelEnd?
  /// Called after each reception.
  public var onReceived: (() -> Void)?
  /// Called whenever there is room to send.
  public var onWritable: (() -> Void)?
  /// Called when the channel has ended.
  public var onEnd: (() -> Void)?

  /// Creates a recorder. To use it, start a channel with the recorder as its handler.
  public init() {}

  /// The received bytes as text.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Records received bytes.
  public func channel(_ channel: any Channel, received span: RawSpan) {
    span.withUnsafeBytes { bytes.append(contentsOf: $0) }
    receptions.append(span.byteCount)
    onReceived?()
  }

  /// Records that there is room to send more.
  public func channelIsWritable(_ channel: any Channel) {
    writableCalls += 1
    onWritable?()
  }

  /// Records the end of the channel.
  public func channel(_ channel: any Channel, endedWith end: ChannelEnd) {
    self.end = end
    onEnd?()
  }
}

extension Channel {
  /// Sends the bytes of an array.
  @discardableResult
  public func send(_ bytes: [UInt8]) -> Int { bytes.withUnsafeBytes { send($0.bytes) } }

  /// Sends the bytes of a string.
  @discardableResult
  public func send(_ text: String) -> Int { send(Array(text.utf8)) }

  /// Starts the channel with a new recorder as its handler.
  public func startRecording() -> ChannelRecorder {
    let recorder = ChannelRecorder()
    start(recorder)
    return recorder
  }
}
