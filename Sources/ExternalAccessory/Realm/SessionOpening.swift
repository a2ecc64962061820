/// Where and in which world a session was opened, for messages.
package struct SessionOpening: Equatable, Sendable, CustomStringConvertible {
  /// The world, as text; empty for the bench.
  let world: String
  let place: CallPlace?

  /// "at App.swift:12 in connect(_:), in the world of test theAppConnects()".
  package var description: String {
    let parts = [place?.description, world.isEmpty ? nil : "in \(world)"].compactMap(\.self)
    return parts.isEmpty ? "by this program" : parts.joined(separator: ", ")
  }
}

/// A call in the app's source. The compiler fills it in at the call itself, so it costs nothing and needs no debug
/// information.
package struct CallPlace: Equatable, Sendable, CustomStringConvertible {
  let file: String
  let line: Int
  let function: String

  /// From `#fileID`, `#line` and `#function`.
  package init(file: String, line: Int, function: String) {
    (self.file, self.line, self.function) = (file, line, function)
  }

  package var description: String { "at \(file.split(separator: "/").last ?? ""):\(line) in \(function)" }
}
