import AccessoryCore

/// How the other end of a channel dies.
public enum Death: String, CaseIterable, Sendable {
  /// It closes.
  case close
  /// The owner resets the connection.
  case reset
  /// The owner's process is killed.
  case kill
  /// It sends no more, but is still there. Not a death, but it must not be mistaken for one.
  case halfClose
  /// The cable is pulled.
  case cut
}

/// The end of a channel that dies. It reads nothing.
public protocol RemoteEnd: AnyObject {
  /// Sends all of these bytes. Called only with a few bytes.
  func send(_ bytes: [UInt8])
  /// Dies. Can be called again after ``Death/halfClose``.
  func die(_ death: Death)
  /// Releases what is left of the end.
  func dispose()
}

/// The state of a channel when its other end dies.
public struct Situation: Sendable, CustomStringConvertible {
  /// What the owner does with the channel.
  enum Use: String {
    case reading, paused
    /// Started after the death.
    case notStarted = "not started"
    case closed
  }

  let use: Use
  /// Whether bytes from the other end are unread.
  var isUnread = false
  /// Whether the send buffer is full and the owner waits for room.
  var isFull = false
  /// Whether the other end half-closed before it died.
  var isHalfClosed = false
  /// Whether the owner sends after the death, without resuming reading.
  var sendsAfterwards = false

  /// "paused, unread, full".
  public var description: String {
    var words = [use.rawValue]
    if isUnread { words.append("unread") }
    if isFull { words.append("full") }
    if isHalfClosed { words.append("half-closed") }
    if sendsAfterwards { words.append("sends afterwards") }
    return words.joined(separator: ", ")
  }

  /// All states.
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

/// A kind of channel, and how its other end can die.
public struct DeathFactory: Sendable, CustomStringConvertible {
  /// The medium, and the channels around the channel.
  public let name: String
  /// The deaths that this medium has.
  let deaths: [Death]
  /// Whether unread bytes are lost when the other end dies, as on a terminal whose master is closed.
  let forgetsUnread: Bool
  /// How the channel reports a close.
  let closing: ChannelEnd
  let make: @Sendable () throws -> DeathRig

  /// Describes one kind of channel.
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

  /// The name.
  public var description: String { name }
}

/// A channel and its other end.
public struct DeathRig {
  let channel: any Channel
  let other: any RemoteEnd
  let run: (_ condition: () -> Bool) -> Bool
  let turns: () -> Int?
  let tearDown: () -> Void

  /// Makes a rig.
  ///
  /// - Parameters:
  ///   - run: runs the loop until the condition holds; returns false if it does not hold within the limit against
  ///     hanging.
  ///   - turns: runs an idle loop for a moment and returns how many turns it made; nil if time is virtual.
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
