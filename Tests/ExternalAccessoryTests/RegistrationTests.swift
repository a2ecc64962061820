import ExternalAccessory
import ExternalAccessorySimulation
import Testing

/// Tests registration and notifications: behaviors N1, N2, … in docs/external-accessory.md.
@Suite struct RegistrationTests {
  @Test func n1AndN8WhatIsAttachedAtRegistrationIsInTheListAndNotPosted() async throws {
    try await withSimulatedWorld { world in
      let before = EventRecorder()
      let glasses = try await world.plugIn("lawk-view")
      #expect(before.words == [])
      #expect(manager.connectedAccessories.map(\.protocolStrings) == [[glassesProtocol]])
      manager.registerForLocalNotifications()
      let after = EventRecorder()
      await world.unplug(glasses)
      #expect(before.words == ["disconnect 1"])
      #expect(after.words == ["disconnect 1"])
      manager.unregisterForLocalNotifications()
    }
  }

  @Test func n2AndN17EachOfSeveralOwnersNeedsItsUnregistration() async throws {
    try await withSimulatedWorld { world in
      let recorder = EventRecorder()
      let glasses = try world.add("lawk-view")
      manager.registerForLocalNotifications()
      manager.registerForLocalNotifications()
      manager.unregisterForLocalNotifications()
      #expect(world.registrationCount == 1)
      await world.plugIn(glasses)
      #expect(recorder.words == ["connect 1"])
      manager.unregisterForLocalNotifications()
      await world.unplug(glasses)
      #expect(recorder.words == ["connect 1"])
      #expect(world.misuses == [])
    }
  }

  @Test func n3OneOwnerThatUnregistersTwiceMakesEveryOtherDeaf() async throws {
    try await withSimulatedWorld { world in
      let (app, sdk) = (EventRecorder.registered(), SecondListener())
      sdk.register()
      sdk.unregister(times: 2)
      try await world.plugIn("lawk-view")
      #expect(app.words == [])
      #expect(world.registrationCount == 0)
      sdk.register()
      try await world.plugIn("multi")
      #expect(sdk.notices.map(\.isConnect) == [true])
      #expect(app.heard.count == 1)
      sdk.stop()
    }
  }

  @Test func n4UnregisteringBelowZeroStaysAtZeroAndIsRecorded() async throws {
    try await withSimulatedWorld { world in
      let recorder = EventRecorder()
      manager.unregisterForLocalNotifications()
      #expect(world.misuses.count == 1)
      manager.registerForLocalNotifications()
      try await world.plugIn("lawk-view")
      #expect(recorder.words == ["connect 1"])
      world.end()
      #expect(world.misuses.count == 1)
    }
  }

  @Test func n5AndN7TheObjectIsTheSharedManagerOnTheMainQueue() async throws {
    try await withSimulatedWorld { world in
      let recorders = [EventRecorder(), EventRecorder(object: manager), EventRecorder(queue: .main)]
      manager.registerForLocalNotifications()
      try await world.plugIn("lawk-view")
      for recorder in recorders {
        #expect(recorder.words == ["connect 1"])
        #expect(recorder.heard.first?.object === manager)
        #expect(recorder.heard.first?.isOnMainQueue == true)
      }
    }
  }

  @Test func n9AConnectedAccessoryCanBeUsedAtOnce() async throws {
    try await withSimulatedWorld { world in
      var streams: StreamRecorder?
      var session: EASession?
      let recorder = EventRecorder { heard in
        session = EASession(accessory: heard.accessory, forProtocol: "com.example.echo")
        guard let session else { return }
        streams = StreamRecorder(session)
        streams.map { session.start($0) }
        session.write([1, 2, 3])
      }
      manager.registerForLocalNotifications()
      try await world.plugIn("echo")
      #expect(recorder.words == ["connect 1"])
      #expect(streams?.received == [1, 2, 3])
      session?.stop()
    }
  }

  @Test(arguments: [true, false]) func n10TheDelegateHearsOfTheDisconnect(withoutRegistration: Bool) async throws {
    final class Delegate: NSObject, EAAccessoryDelegate, @unchecked Sendable {
      var gone: [EAAccessory] = []
      func accessoryDidDisconnect(_ accessory: EAAccessory) { gone.append(accessory) }
    }
    try await withSimulatedWorld(.with { $0.rules.tellsDelegateUnregistered = withoutRegistration }) { world in
      let glasses = try await world.plugIn("lawk-view")
      let accessory = try #require(manager.connectedAccessories.first)
      let delegate = Delegate()
      accessory.delegate = delegate
      await world.unplug(glasses)
      #expect(delegate.gone.count == (withoutRegistration ? 1 : 0))
      if withoutRegistration { #expect(delegate.gone.first === accessory) }
    }
  }

  @Test func n11AndN12AndN13AndN14TheSameObjectKeepsItsNumberAndProtocolsAndIsNotConnected() async throws {
    try await withSimulatedWorld { world in
      var states: [Bool] = []
      let recorder = EventRecorder { states.append($0.accessory.isConnected) }
      manager.registerForLocalNotifications()
      let glasses = try await world.plugIn("lawk-view")
      let listed = try #require(manager.connectedAccessories.first)
      let id = listed.connectionID
      await world.unplug(glasses)
      #expect(recorder.heard.count == 2)
      #expect(recorder.heard.allSatisfy { $0.accessory === listed })
      #expect(listed.connectionID == id)
      #expect(id > 1 << 24)
      #expect(listed.protocolStrings == [glassesProtocol])
      #expect(states == [true, false])
      #expect(recorder.heard.map(\.listed) == [[id], []])
    }
  }

  @Test(arguments: [true, false]) func f2AndN15ASwitchOfTransportsConnectsAnewBeforeOrAfterItDisconnects(
    newFirst: Bool
  ) async throws {
    try await withSimulatedWorld { world in
      let recorder = EventRecorder.registered()
      // The app can reach the same pair of glasses over two transports.
      let (bluetooth, usb) = (try world.add("lawk-view"), try world.add("lawk-view"))
      await world.plugIn(bluetooth)
      if newFirst { usb.plugIn() } else { bluetooth.unplug() }
      await world.settle()
      if newFirst { #expect(manager.connectedAccessories.count == 2) }
      if newFirst { bluetooth.unplug() } else { usb.plugIn() }
      await world.settle()
      #expect(
        recorder.heard.map(\.name)
          == (newFirst ? ["connect", "connect", "disconnect"] : ["connect", "disconnect", "connect"]))
      let (old, new) = (recorder.heard[0].accessory, recorder.heard[newFirst ? 1 : 2].accessory)
      #expect(old.serialNumber == new.serialNumber)
      #expect(old.connectionID != new.connectionID)
      #expect(manager.connectedAccessories == [new])
    }
  }

  /// Two connects are followed by only one disconnect, for the more recent connection. There is no disconnect if the
  /// system does not notice that the first connection is gone.
  @Test(arguments: [true, false]) func n16TwoConnectsMayHaveOneDisconnectOrNone(isNoticed: Bool) async throws {
    try await withSimulatedWorld { world in
      let recorder = EventRecorder.registered()
      let (bluetooth, usb) = (try world.add("lawk-view"), try world.add("lawk-view"))
      bluetooth.plugIn()
      usb.plugIn()
      await world.advance(by: .seconds(1))
      bluetooth.pull(unnoticed: !isNoticed)
      await world.advance(by: .seconds(3600))
      #expect(!bluetooth.isPluggedIn)
      #expect(recorder.heard.map(\.name) == ["connect", "connect"] + (isNoticed ? ["disconnect"] : []))
      #expect(Set(recorder.heard.map(\.accessory.connectionID)).count == 2)
      #expect(manager.connectedAccessories.count == (isNoticed ? 1 : 2))
    }
  }

  @Test @MainActor func typedMessagesAreHeardBesideNotifications() async throws {
    try await withSimulatedWorld { world in
      var heard: [String] = []
      let tokens = [
        NotificationCenter.default.addObserver(of: EAAccessoryManager.shared(), for: .accessoryDidConnect) {
          heard.append("connect \($0.accessory.name) \($0.userSelected)")
        },
        NotificationCenter.default.addObserver(of: EAAccessoryManager.shared(), for: .accessoryDidDisconnect) {
          heard.append("disconnect \($0.accessory.isConnected)")
        },
      ]
      manager.registerForLocalNotifications()
      let echo = try await world.plugIn("echo")
      await world.unplug(echo)
      #expect(heard == ["connect \(echo.profile.identity.name) false", "disconnect false"])
      for token in tokens { NotificationCenter.default.removeObserver(token) }
    }
  }
}
