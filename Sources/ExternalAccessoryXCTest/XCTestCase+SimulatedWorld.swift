public import ExternalAccessorySimulation
public import XCTest

extension XCTestCase {
  /// A world for this test, async or not: it ends with the test, and when the test failed its timeline is printed.
  ///
  /// ```swift
  /// final class AppTests: XCTestCase {
  ///   func testItConnects() throws {
  ///     let world = try simulatedWorld()
  ///     let app = App()
  ///     try world.add("lawk-view").plugIn()
  ///     XCTAssertTrue(world.run { app.isConnected })
  ///   }
  /// }
  /// ```
  ///
  /// A test that is not async runs the main run loop itself, on the main thread, so timers and streams of the app work
  /// as in an app.
  public func simulatedWorld(_ settings: SimulatedWorld.Settings = SimulatedWorld.Settings()) throws -> SimulatedWorld {
    let world = try SimulatedWorld(settings)
    // XCTest keeps the blocks of a test, and the test, until all tests are over.
    var held: SimulatedWorld? = world
    addTeardownBlock { [unowned self] in
      if testRun?.hasSucceeded == false, let held { print("\(name): \(held.reportOfWhatIsNew)") }
      held?.end()
      held?.settle()
      held = nil
    }
    return world
  }
}
