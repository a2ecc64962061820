import AccessoryCore

/// The ways in which a channel's peer can die.
public enum Death: String, CaseIterable, Sendable {
  case close
  case reset
  case kill
  /// The peer stops sending but stays connected. The channel must not report this as the end of the connection.
  case halfClose
  case cut
}

/// A peer that never reads and that a test can cause to die.
public protocol RemoteEnd: AnyObject {
  func send(_ bytes: [UInt8])
  /// Causes the peer to die. May be called again after ``Death/halfClose``.
  func die(_ death: Death)
  func dispose()
}

/// The state of a channel when its peer dies.
public struct Situation: Sendable, CustomStringConvertible {
  enum Use: String {
    case reading, paused
    /// The owner starts the channel only after the peer has died.
    case notStarted = "not started"
    case closed
  }

  let use: Use
  var isUnread = false
  var isFull = false
  var isHalfClosed = false
  var sendsAfterwards = false

  /// The situation as text, for example "paused, unread, full".
  public var description: String {
    var words = [use.rawValue]
    if isUnread { words.append("unread") }
    if isFull { words.append("full") }
    if isHalfClosed { words.append("half-closed") }
    if sendsAfterwards { words.append("sends afterwards") }
    return words.joined(separator: ", ")
  }

  static let all: [Situation] = [
    Situation(use: .reading), Situation(use: .reading, isFull: true),
    Situation(use: .paused), Situation(use: .paused, isFull: true),
    Situation(use: .paused, isUnread: true), Situation(use: .paused, isUnread: true, isFull: true),
    Situation(use: .paused, isUnread: true, sendsAfterwards: true),
    Situation(use: .paused, isUnread: true, isHalfClosed: true),
    Situation(use: .paused, isUnread: true, isFull: true, isHalfClosed: true),
    Situation(use: .paused, isUnread: true, isHalfClosed: true, sendsAfterwards: true),
    Situation(use: .notStarted), Situation(use: .notStarted, isUnread: true),
    Situation(use: .notStarted, isFull: true), Situation(use: .notStarted, isUnread: true, isFull: true),
    Situation(use: .closed), Situation(use: .closed, isUnread: true),
    Situation(use: .closed, isUnread: true, isFull: true),
  ]
}

/// A kind of channel, and the ways in which its peer can die.
public struct DeathFactory: Sendable, CustomStringConvertible {
  /// The names of the medium and of any channels wrapped around it.
  public let name: String
  let deaths: [Death]
  /// Whether unread bytes are lost when the peer dies, as on a terminal whose master side is closed.
  let forgetsUnread: Bool
  let closing: ChannelEnd
  let make: @Sendable () throws -> DeathRig

  /// Creates a description of one kind of channel.
  public init(
    _ name: String, deaths: [Death], forgetsUnread: Bool = false, closing: ChannelEnd = .closedByPeer,
    make: @escaping @Sendable () throws -> DeathRig
  ) {
    self.name = name
    self.deaths = deaths
    self.forgetsUnread = forgetsUnread
    self.closing = closing
    self.make = make
  }

  /// The factory's name.
  public var description: String { name }
}

/// A channel and its peer.
public struct DeathRig {
  let channel: any Channel
  let other: any RemoteEnd
  let run: (_ condition: () -> Bool) -> Bool
  let turns: () -> Int?
  let tearDown: () -> Void

  /// Creates a rig.
  ///
  /// - Parameters:
  ///   - run: runs the loop until the condition holds. Returns false if the condition does not hold within a generous
  ///     time limit.
  ///   - turns: runs an idle loop for a moment and returns how many turns it made, or nil if time is virtual.
  public init(
    channel: any Channel, other: any RemoteEnd, run: @escaping (() -> Bool) -> Bool, turns: @escaping () -> Int?,
    tearDown: @escaping () -> Void = {}
  ) {
    self.channel = channel
    self.other = other
    self.run = run
    self.turns = turns
    self.tearDown = tearDown
  }
}
