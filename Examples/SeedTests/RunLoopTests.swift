import ExternalAccessory
import ExternalAccessorySimulation
import ExternalAccessoryXCTest
import XCTest

/// Tests streams on a main run loop that is running, as in an app.
final class RunLoopTests: XCTestCase {
  private final class Listener: NSObject, StreamDelegate {
    var heard: [Stream.Event] = []
    func stream(_ stream: Stream, handle event: Stream.Event) { heard.append(event) }
  }

  func testWhatIsScheduledInOneModeIsNotToldInAnother() throws {
    let world = try simulatedWorld()
    try world.add("echo").plugIn()
    world.settle()
    let accessory = try XCTUnwrap(EAAccessoryManager.shared().connectedAccessories.first)
    let session = try XCTUnwrap(EASession(accessory: accessory, forProtocol: "com.example.echo"))
    let (listener, mode) = (Listener(), RunLoop.Mode("of our own"))
    session.inputStream?.delegate = listener
    session.inputStream?.schedule(in: .main, forMode: mode)
    session.inputStream?.open()
    for _ in 0..<10 { _ = RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: 0.01)) }
    XCTAssertEqual(listener.heard, [])
    _ = RunLoop.main.run(mode: mode, before: Date(timeIntervalSinceNow: 1))
    XCTAssertEqual(listener.heard, [.openCompleted])
    session.inputStream?.close()
  }
}
