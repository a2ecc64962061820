public import ExternalAccessorySimulation
public import XCTest

extension XCTestCase {
  /// Creates a world that ends with this test. If the test fails, the timeline and the path of a trace are printed.
  ///
  /// ```swift
  /// final class AppTests: XCTestCase {
  ///   func testItConnects() throws {
  ///     let world = try simulatedWorld()
  ///     let app = App()
  ///     try world.add("lawk-view").plugIn()
  ///     world.expect { app.isConnected }
  ///   }
  /// }
  /// ```
  ///
  /// A synchronous test runs the main run loop on the main thread, so timers and streams work as they do in an app. The
  /// test may also be async.
  public func simulatedWorld(_ settings: SimulatedWorld.Settings = SimulatedWorld.Settings()) throws -> SimulatedWorld {
    let world = try SimulatedWorld(settings)
    world.failing = { [unowned self] text, place in
      recordFailure(withDescription: text, inFile: place.filePath, atLine: place.line, expected: true)
    }
    // XCTest keeps teardown blocks until all tests have run, so the world is released explicitly.
    var held: SimulatedWorld? = world
    addTeardownBlock { [unowned self] in
      if testRun?.hasSucceeded == false, let held {
        print("\(name): \(held.newReport)")
        print("\(name): \(held.writeTrace(because: "\(name) failed"))")
      }
      held?.end()
      held?.settle()
      held = nil
    }
    return world
  }
}
