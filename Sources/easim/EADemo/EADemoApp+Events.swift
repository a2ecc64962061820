import AccessoryCore
import AccessoryHost

/// The input and output of ``EADemoApp``.
extension EADemoApp {
  /// What a command of the console is waiting for.
  enum Waiting: Equatable {
    /// A protocol for a session.
    case opening(protocolName: String?, number: Int?)
    /// The last byte to be sent.
    case sending(Int)
    /// The next repetition.
    case pausing
    /// A reply.
    case reading(ReplyCollector, ReplyRule)
    /// The end of the session.
    case closing
    /// The condition of a `wait` command in a script.
    case asked(EADemoWait)
  }

  /// External events.
  enum Event: Equatable {
    case appeared(PublishedAccessory)
    case disappeared(PublishedAccessory)
    case opened(PublishedAccessory, protocolName: String)
    case refused(String)
    /// Bytes were sent in the session with this number, or in the current one.
    case sent(Int, session: Int? = nil)
    case received([UInt8], session: Int? = nil)
    case ended(String, session: Int? = nil)
  }

  /// What the owner must do.
  enum Action: Equatable {
    case open(PublishedAccessory, protocolName: String)
    case send([UInt8], session: Int)
    case close(session: Int)
    case unplug
    case save([UInt8], path: String)
    case move(to: AppState)
    case quit
    case say(Line)
  }

  /// Something to print.
  struct Line: Equatable {
    var text: String
    var isError = false
    var time: Instant?
  }
}
