import AccessoryCore
import AccessoryHost

extension EADemoApp {
  enum Waiting: Equatable {
    /// The app waits for a protocol to appear, so that it can open a session.
    case opening(protocolName: String?, number: Int?)
    case sending(Int)
    case pausing
    /// The app waits for a reply.
    case reading(ReplyCollector, ReplyRule)
    case closing
    /// The app waits for the condition of a script's `wait` command.
    case asked(EADemoWait)
  }

  enum Event: Equatable {
    case appeared(PublishedAccessory)
    case disappeared(PublishedAccessory)
    case opened(PublishedAccessory, protocolName: String)
    case refused(String)
    /// The session in which bytes were sent; nil means the current session.
    case sent(Int, session: Int? = nil)
    case received([UInt8], session: Int? = nil)
    case ended(String, session: Int? = nil)
  }

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

  struct Line: Equatable {
    var text: String
    var isError = false
    var time: Instant?
  }
}
