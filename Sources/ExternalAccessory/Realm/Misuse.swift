/// A mistake in the app: something that Apple's documentation forbids or that fails on Apple's systems.
package enum Misuse: Sendable, CustomStringConvertible {
  /// The app called `read` on a stream that had no bytes.
  case readWithoutBytes(String)
  /// The app called `write` on a stream whose buffer was full.
  case writeWithoutSpace(String)
  /// A write accepted only some of its bytes, and the app did not write the rest.
  case shortWrite(String, LostRest)
  /// A stream object was released while it was open.
  case sessionNotClosed(String)

  /// The app called `DispatchQueue.main.sync` on the main queue.
  case syncOnMain(CallTrace)
  /// The app opened a second session for the same accessory and protocol while the first was still in use.
  case secondSession(String, first: SessionOpening, second: SessionOpening)
  case stream(String, StreamMisuse)

  /// An explanation of what the app did and for which protocol, what happens on Apple's systems, and what to do.
  package var description: String {
    switch self {
    case .readWithoutBytes(let name):
      "\(name): read without bytes available; Apple's stream blocks until bytes arrive. Read after hasBytesAvailable"
    case .writeWithoutSpace(let name):
      "\(name): write without space available; Apple's stream fails the write. Write after hasSpaceAvailable"
    case .shortWrite(let name, let lost):
      "\(name): \(lost), and the rest was never written, so it is lost. Keep the bytes that write does not accept, and "
        + "write them at hasSpaceAvailable"
    case .sessionNotClosed(let name):
      "\(name): the session was released with an open stream; on Apple's systems this can block the next session. "
        + "Close both streams first"
    case .syncOnMain(let trace):
      "DispatchQueue.main.sync was called on the main queue"
        + (trace.place.map { " \($0)" } ?? "")
        + ": the call waits for itself, so easim ends the process. Notifications, delegates and streams of the main "
        + "run loop are on that queue already; call without it, or use async"
    case .secondSession(let name, let first, let second):
      "\(name): a second session closes the first, as on Apple's systems. The first was opened \(first), the second "
        + "\(second). Close both streams of the first; an observer that outlives its test opens sessions in the worlds of "
        + "later tests, so remove it"
    case .stream(let name, .ownDelegate):
      "\(name): a stream without a delegate was opened and scheduled; on Apple's systems it is its own delegate, and "
        + "the app can crash at the first event. Set a delegate before the run loop runs, or poll without scheduling "
        + "the stream"
    case .stream(let name, .deadLoop):
      "\(name): a stream is scheduled on a run loop that never runs, so its delegate gets no events. Schedule it on "
        + "RunLoop.main, or run the loop of that thread"
    }
  }
}

/// A mistake that an app can make with one stream.
package enum StreamMisuse: Hashable, Sendable {
  /// The stream is scheduled and open, but has no delegate, so it receives its own events.
  case ownDelegate
  case deadLoop
}

/// Where in the app's source, and in which world, a session was opened. Used in messages.
package struct SessionOpening: Sendable, CustomStringConvertible {
  let world: String
  let place: CallPlace?

  /// The source location and the world as text, for example "at App.swift:12 in connect(_:), in the world of test
  /// theAppConnects()".
  package var description: String {
    let parts = [place?.description, world.isEmpty ? nil : "in \(world)"].compactMap(\.self)
    return parts.isEmpty ? "by this program" : parts.joined(separator: ", ")
  }
}

/// The source location of a call. The compiler supplies the location, so finding it takes no time and needs no debug
/// information.
package struct CallPlace: Sendable, CustomStringConvertible {
  let file: String
  let line: Int
  let function: String

  package var description: String { "at \(file.split(separator: "/").last ?? ""):\(line) in \(function)" }
}
