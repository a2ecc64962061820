/// A connection between an accessory and a device: a main channel for the link and, if the medium supports native
/// transport, channels for External Accessory sessions that bypass the link.
///
/// Only the device opens native channels, so a cable's two ends are created differently:
///
/// ```swift
/// let device = Cable(main: left, openNativeChannel: { name throws(NativeChannelRefusal) in try bus.open(name) })
/// let accessory = Cable(main: right, onNativeChannel: { onEvent in bus.onOpen = onEvent })
/// ```
public struct Cable {
  /// The channel that carries iAP2.
  public let main: any Channel

  /// Opens a protocol's native channel. The channel is returned before it is started, but accepts bytes immediately,
  /// even while the medium is still opening it.
  public typealias Opener = (_ protocolName: String) throws(NativeChannelRefusal) -> any Channel
  /// Receives each native channel that the device opens, together with the channel's protocol. The channels have not
  /// been started yet.
  public typealias Listener = (_ protocolName: String, _ channel: any Channel) -> Void

  private enum NativeChannels {
    case none
    case opened(Opener)
    case received((@escaping Listener) -> Void)
  }

  private let nativeChannels: NativeChannels
  /// Whether no other host or accessory can take the place of either end, as on a serial line, a device port or an
  /// in-memory cable. On a dedicated cable, the other end may stay silent indefinitely, for example because it is
  /// switched off.
  public let isDedicated: Bool

  /// Creates a cable with only a main channel.
  public init(main: any Channel) {
    self.init(main: main, nativeChannels: .none, isDedicated: false)
  }

  /// Creates the device's end of a cable with native channels.
  public init(main: any Channel, openNativeChannel: @escaping Opener) {
    self.init(main: main, nativeChannels: .opened(openNativeChannel), isDedicated: false)
  }

  /// Creates the accessory's end of a cable with native channels. `onNativeChannel` is called once, with the listener.
  public init(main: any Channel, onNativeChannel: @escaping (@escaping Listener) -> Void) {
    self.init(main: main, nativeChannels: .received(onNativeChannel), isDedicated: false)
  }

  private init(main: any Channel, nativeChannels: NativeChannels, isDedicated: Bool) {
    (self.main, self.nativeChannels, self.isDedicated) = (main, nativeChannels, isDedicated)
  }

  /// This cable, marked as dedicated; see ``isDedicated``.
  public var dedicated: Cable { Cable(main: main, nativeChannels: nativeChannels, isDedicated: true) }

  /// Whether the medium supports native channels.
  public var hasNativeChannels: Bool {
    if case .none = nativeChannels { false } else { true }
  }

  /// Opens the native channel that carries a protocol's sessions. Only the device may call this method.
  public func openNativeChannel(for protocolName: String) throws(NativeChannelRefusal) -> any Channel {
    guard case .opened(let open) = nativeChannels else {
      throw NativeChannelRefusal("this cable has no native channels")
    }
    return try open(protocolName)
  }

  /// Calls `onEvent` for every native channel that the device opens from now on. Only the accessory may call this
  /// method; `onEvent` is never called if the medium has no native channels.
  public func onNativeChannel(_ onEvent: @escaping Listener) {
    if case .received(let begin) = nativeChannels { begin(onEvent) }
  }

  /// Returns this cable with its channels wrapped, for example in faults or a transcript.
  public func wrapped(
    main wrapMain: (any Channel) -> any Channel,
    side wrapSide: @escaping (_ protocolName: String, _ channel: any Channel) -> any Channel
  ) -> Cable {
    let outer: NativeChannels =
      switch nativeChannels {
      case .none: .none
      case .opened(let open): .opened { name throws(NativeChannelRefusal) in wrapSide(name, try open(name)) }
      case .received(let begin): .received { onEvent in begin { onEvent($0, wrapSide($0, $1)) } }
      }
    return Cable(main: wrapMain(main), nativeChannels: outer, isDedicated: isDedicated)
  }

  /// Returns this cable with a different main channel and the same native channels.
  public func with(main: any Channel) -> Cable {
    Cable(main: main, nativeChannels: nativeChannels, isDedicated: isDedicated)
  }
}

/// The reason a native channel cannot be opened.
public struct NativeChannelRefusal: Error, Equatable, Sendable, CustomStringConvertible {
  /// A sentence fragment for messages, such as "this cable has no native channels".
  public let description: String

  /// The refusal for a native channel that already carries a session.
  public static let inUse = NativeChannelRefusal("another session uses its native channel")

  /// Creates a refusal with this reason.
  public init(_ reason: String) {
    description = reason
  }
}
