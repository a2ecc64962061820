import ExternalAccessory
import ExternalAccessorySimulation
import ExternalAccessoryXCTest
import XCTest

@testable import Guide

/// Tests the guide's client with the glasses for which it was written.
final class GuideTests: XCTestCase {
  private let lawk = "com.lawaken.iap2"
  private let tenK = Data((0..<10_000).map { UInt8(truncatingIfNeeded: $0) })

  /// The client keeps the serial number in the user defaults, which may contain one from an earlier run.
  private func client() -> AutoReconnectManager {
    let client = AutoReconnectManager(protocolString: lawk)
    client.clearLastConnectedAccessory()
    return client
  }

  /// Collects the bytes that come back over a connection.
  private final class Inbox {
    var data = Data()
    var isSent: Bool?
  }

  func testTheWholeWayOfTheGuidesFlowChart() throws {
    let world = try simulatedWorld()
    let discovery = AccessoryDiscovery()
    discovery.listen()
    let client = client()
    let glasses = try world.add("lawk-view", quirks: ["flicker"])
    glasses.plugIn()
    world.expect { client.connection != nil }
    discovery.list()
    XCTAssertEqual(client.loadLastConnectedAccessory(), glasses.profile.identity.serialNumber)
    let inbox = Inbox()
    client.connection?.onData = { inbox.data += $0 }
    world.expect { client.connection?.outputStream?.hasSpaceAvailable == true }
    XCTAssertEqual(client.connection?.sendString("你好"), 6)
    XCTAssertEqual(client.connection?.sendHexCommand("01 FF 7f"), 3)
    world.expect { inbox.data.count == 9 }
    XCTAssertEqual(inbox.data, Data("你好".utf8) + [1, 255, 127])
    client.connection?.closeSession()
    world.settle()
    XCTAssertEqual(world.misuses, [])
    XCTAssertEqual(world.openSessions, [])
  }

  /// The data is sent in twenty pieces of one packet each, with a pause after each piece.
  func testTenThousandBytesGoInPiecesOf512() throws {
    var settings = SimulatedWorld.Settings()
    settings.sendBufferSize = 512
    let world = try simulatedWorld(settings)
    let glasses = try world.add("lawk-view")
    glasses.takeSessions()
    let client = client()
    glasses.plugIn()
    world.expect { client.connection != nil && !glasses.sessions.isEmpty }
    let inbox = Inbox()
    client.connection?.sendLargeData(tenK) { inbox.isSent = $0 }
    let far = try XCTUnwrap(glasses.sessions.first)
    var sizes: [Int] = []
    world.expect {
      let size = far.received.count - sizes.reduce(0, +)
      if size > 0 { sizes.append(size) }
      return inbox.isSent != nil && far.received.count == 10_000
    }
    XCTAssertEqual(inbox.isSent, true)
    XCTAssertEqual(Data(far.received), tenK)
    XCTAssertTrue(sizes.allSatisfy { $0 % 512 == 0 || $0 % 512 == 10_000 % 512 }, "\(sizes)")
  }

  func testTenThousandBytesComeBack() throws {
    let world = try simulatedWorld()
    let client = client()
    try world.add("lawk-view").plugIn()
    world.expect { client.connection != nil }
    let inbox = Inbox()
    client.connection?.onData = { inbox.data += $0 }
    client.connection?.sendLargeData(tenK) { inbox.isSent = $0 }
    world.expect { inbox.isSent == true && inbox.data.count == 10_000 }
    XCTAssertEqual(inbox.data, tenK)
  }

  func testAfterTheCableWasPulledItConnectsWithTheNextConnect() throws {
    let world = try simulatedWorld()
    let client = client()
    let glasses = try world.add("lawk-view", quirks: ["flicker"])
    glasses.plugIn()
    world.expect { client.connection?.session != nil }
    let first = client.connection
    glasses.pull()
    world.expect { client.connection?.session == nil }
    glasses.plugIn()
    world.expect { client.connection?.session != nil }
    XCTAssertFalse(client.connection === first)
    let inbox = Inbox()
    client.connection?.onData = { inbox.data += $0 }
    client.connection?.sendLargeData(tenK) { inbox.isSent = $0 }
    world.expect { inbox.data == tenK }
  }

  /// Without a connect notification, the guide's client finds the glasses in the list when its three-second timer
  /// fires.
  func testWhereNothingIsToldItsTimerConnects() throws {
    var settings = SimulatedWorld.Settings()
    settings.rules.lostConnects = .all
    // If the streams ended first, the client would forget its accessory before it is notified of the disconnect, and
    // would set no timer.
    settings.endOrder = .notificationFirst
    let world = try simulatedWorld(settings)
    let client = client()
    let glasses = try world.add("lawk-view")
    glasses.plugIn()
    world.settle()
    XCTAssertNil(client.connection)
    client.attemptReconnect()
    XCTAssertNotNil(client.connection?.session)
    glasses.unplug()
    world.expect { client.connection?.session == nil }
    glasses.plugIn()
    world.expect { client.connection?.session != nil }
  }

  func testWhenTheAppComesToTheScreenItLooksForItsAccessory() throws {
    var settings = SimulatedWorld.Settings()
    settings.rules.lostConnects = .all
    let world = try simulatedWorld(settings)
    let client = client()
    try world.add("lawk-view").plugIn()
    world.settle()
    client.attemptReconnect()
    world.move(to: .background)
    world.expect { client.connection?.session == nil }
    world.move(to: .foreground)
    world.expect { client.connection?.session != nil }
  }

  func testThePickerConnects() throws {
    let world = try simulatedWorld()
    let client = client()
    _ = try world.add("lawk-view")
    world.answerPicker { .choose($0[0]) }
    let discovery = AccessoryDiscovery()
    discovery.listen()
    discovery.pick()
    world.expect { client.connection?.session != nil }
  }
}
