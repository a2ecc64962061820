import AccessoryCore
import AccessoryHost

/// What goes into ``EADemoApp``, and what comes out.
extension EADemoApp {
  /// What a command waits for.
  enum Waiting: Equatable {
    /// A protocol to open a session on.
    case opening(protocolName: String?, number: Int?)
    /// All bytes to be sent.
    case sending(Int)
    /// The next repetition.
    case pausing
    /// A reply.
    case reading(ReplyCollector, ReplyRule)
    /// The session to be over.
    case closing
    /// What the line says.
    case asked(EADemoWait)
  }

  /// What happens from outside.
  enum Event: Equatable {
    case appeared(PublishedAccessory)
    case disappeared(PublishedAccessory)
    case opened(PublishedAccessory, protocolName: String)
    case refused(String)
    /// Of the session with this number, or of the current one.
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
