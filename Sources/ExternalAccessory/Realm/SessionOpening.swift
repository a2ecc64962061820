internal import AccessoryCore
internal import Runtime

/// The program and its libraries, as they were loaded.
///
/// The runtime looks for them in whatever memory is mapped. In a program with threads another one may unmap it meanwhile,
/// and then the look ends the program: so it is taken before the program begins.
private let loadedImages = LoadedImages()

private final class LoadedImages: Sendable {
  let value = ImageMap.capture()
}

/// Called by CLinux while the program is loaded.
@_cdecl("easim_loaded")
package func easimLoaded() {
  _ = loadedImages
}

/// Where a session was opened, for messages.
package struct SessionOpening: Equatable, Sendable, CustomStringConvertible {
  /// The world, as text; empty for the bench.
  let world: String
  private let trace: Backtrace?

  /// The calls that lead to an `EASession`. Taking them costs a fraction of a millisecond, so this is for worlds only.
  init(in world: String) {
    self.world = world
    let isTraced = !world.isEmpty && Self.described.withLock { $0 < Self.mostDescribed }
    trace = isTraced ? try? Backtrace.capture(algorithm: .fast, limit: 16, top: 0, images: loadedImages.value) : nil
  }

  /// How many openings of a process get their place in the source, which is slow to find.
  private static let mostDescribed = 40
  private static let described = Locked(0)

  /// "at App.swift:12 in App.connect(_:), in the world of test theAppConnects()". Finding the place takes some
  /// milliseconds.
  package var description: String {
    [place, world.isEmpty ? nil : "in \(world)"].compactMap(\.self).joined(separator: ", ")
  }

  /// The first call outside of this module.
  private var place: String? {
    guard let trace else { return world.isEmpty ? "by this program" : nil }
    let isFew = Self.described.withLock { count -> Bool in
      count += 1
      return count <= Self.mostDescribed
    }
    guard isFew, let frames = trace.symbolicated(with: loadedImages.value)?.frames else { return nil }
    for frame in frames where !frame.isSystem && !frame.isSwiftThunk {
      guard let symbol = frame.symbol, let location = symbol.sourceLocation, location.line > 0 else { continue }
      if location.path.contains("Sources/ExternalAccessory/") { continue }
      let file = location.path.split(separator: "/").last.map(String.init) ?? location.path
      return "at \(file):\(location.line) in \(symbol.name)"
    }
    return nil
  }

  /// Two openings are the same when they read the same.
  package static func == (one: SessionOpening, other: SessionOpening) -> Bool { one.description == other.description }
}
