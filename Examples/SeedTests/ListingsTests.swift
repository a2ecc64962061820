import ExternalAccessory
import ExternalAccessorySimulation
import ExternalAccessoryXCTest
import XCTest

@testable import Listings

/// Tests Listings 1 and 2 on the main thread's run loop.
final class ListingsTests: XCTestCase {
  func testCommandsGoOneByOneAndTheirEchoIsProcessed() throws {
    let world = try simulatedWorld()
    try world.add("echo").plugIn()
    world.settle()
    let listings = Listings()
    listings.commands = [Array("first".utf8), Array("second".utf8), [UInt8](repeating: 7, count: 1_000)]
    var session = listings.openSession(forProtocol: "com.example.echo")
    world.expect { listings.received.count == 1_011 }
    XCTAssertEqual(listings.received, Array("firstsecond".utf8) + [UInt8](repeating: 7, count: 1_000))
    session?.inputStream?.close()
    session?.outputStream?.close()
    session = nil
    world.settle()
    XCTAssertEqual(world.misuses, [])
    XCTAssertEqual(world.openSessions, [])
  }

  func testThereIsNoSessionWithoutAnAccessoryThatOffersTheProtocol() throws {
    let world = try simulatedWorld()
    XCTAssertNil(Listings().openSession(forProtocol: "com.example.echo"))
    try world.add("lawk-view").plugIn()
    world.settle()
    XCTAssertNil(Listings().openSession(forProtocol: "com.example.echo"))
    XCTAssertNotNil(Listings().openSession(forProtocol: "com.lawaken.iap2"))
  }

  /// "The External Accessory framework closes the existing session before opening the new one."
  func testASecondSessionForTheProtocolClosesTheFirst() throws {
    let world = try simulatedWorld()
    let echo = try world.add("echo")
    echo.takeSessions()
    echo.plugIn()
    world.settle()
    let listings = Listings()
    let first = try XCTUnwrap(listings.openSession(forProtocol: "com.example.echo"))
    world.settle()
    listings.commands = [[2]]
    let second = try XCTUnwrap(listings.openSession(forProtocol: "com.example.echo"))
    world.settle()
    XCTAssertEqual(echo.sessions.map(\.isOpen), [false, true])
    XCTAssertEqual(echo.sessions.last?.received, [2])
    XCTAssertEqual(first.inputStream?.streamStatus, .atEnd)
    XCTAssertEqual(second.inputStream?.streamStatus, .open)
  }
}
