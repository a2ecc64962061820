/// Something the app did that Apple's documentation forbids or that fails on Apple's systems.
package enum Misuse: Equatable, Sendable, CustomStringConvertible {
  /// `read` on a stream that had no bytes.
  case readWithoutBytes(String)
  /// `write` on a stream that had no room.
  case writeWithoutSpace(String)
  /// A stream object was released while it was open.
  case sessionNotClosed(String)

  /// A sentence: what the app did on which protocol, what Apple's systems do then, and what to do instead.
  package var description: String {
    switch self {
    case .readWithoutBytes(let name):
      "\(name): read without bytes available; Apple's stream blocks until some arrive. Read after hasBytesAvailable"
    case .writeWithoutSpace(let name):
      "\(name): write without space available; Apple's stream fails the write. Write after hasSpaceAvailable"
    case .sessionNotClosed(let name):
      "\(name): the session was released with an open stream; on Apple's systems this can block the next session. "
        + "Close both streams first"
    }
  }
}
