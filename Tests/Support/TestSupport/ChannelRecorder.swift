import AccessoryCore

/// A channel handler that records every event.
public final class ChannelRecorder: ChannelHandler {
  /// Everything that came.
  public private(set) var bytes: [UInt8] = []
  /// The length of each reception.
  public private(set) var receptions: [Int] = []
  /// How often there was room.
  public private(set) var writableCalls = 0
  /// How it ended.
  public private(set) var end: ChannelEnd?
  /// Called with every event of its kind.
  public var onReceived: (() -> Void)?
  /// Called with every event of its kind.
  public var onWritable: (() -> Void)?
  /// Called with every event of its kind.
  public var onEnd: (() -> Void)?

  /// Creates a recorder for a channel that is started with it as the handler.
  public init() {}

  /// The same as text.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Bytes arrived.
  public func channel(_ channel: any Channel, received span: RawSpan) {
    span.withUnsafeBytes { bytes.append(contentsOf: $0) }
    receptions.append(span.byteCount)
    onReceived?()
  }

  /// There is room to send more.
  public func channelIsWritable(_ channel: any Channel) {
    writableCalls += 1
    onWritable?()
  }

  /// The channel has ended.
  public func channel(_ channel: any Channel, endedWith end: ChannelEnd) {
    self.end = end
    onEnd?()
  }
}

extension Channel {
  /// Sends bytes of an array.
  @discardableResult
  public func send(_ bytes: [UInt8]) -> Int { bytes.withUnsafeBytes { send($0.bytes) } }

  /// Sends the bytes of a string.
  @discardableResult
  public func send(_ text: String) -> Int { send(Array(text.utf8)) }

  /// Starts with a separate handler.
  public func startRecording() -> ChannelRecorder {
    let recorder = ChannelRecorder()
    start(recorder)
    return recorder
  }
}
