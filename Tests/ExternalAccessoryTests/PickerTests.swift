import ExternalAccessory
import ExternalAccessorySimulation
import Testing

@Suite struct PickerTests {
  private final class Outcome: @unchecked Sendable {
    var words: [String] = []
  }

  @Test(arguments: SimulatedWorld.Settings.PickerOrder.allCases)
  func p2AndN6AChoiceConnectsWithTheSelectionAndCompletes(order: SimulatedWorld.Settings.PickerOrder) async throws {
    try await withSimulatedWorld(.with { $0.pickerOrder = order }) { world in
      let seen = Outcome()
      let recorder = EventRecorder { seen.words.append("\($0.name) selected: \($0.isSelected)") }
      manager.registerForLocalNotifications()
      let echo = try world.add("echo")
      world.answerPicker { .choose($0[0]) }
      manager.showBluetoothAccessoryPicker(withNameFilter: nil) {
        seen.words.append("done \($0 == nil)")
        #expect(OperationQueue.current === OperationQueue.main)
      }
      await world.run { seen.words.count == 2 }
      let connect = "connect selected: true"
      #expect(seen.words == (order == .connectFirst ? [connect, "done true"] : ["done true", connect]))
      #expect(recorder.words == ["connect 1"])
      // Only the first connect notification, not the second, states that the user chose the accessory.
      await world.unplug(echo)
      await world.plugIn(echo)
      #expect(recorder.heard.map(\.isSelected) == [true, false, false])
    }
  }

  @Test func p1ThePickerOffersWhatTheFilterAcceptsAndNothingThatIsConnected() async throws {
    try await withSimulatedWorld { world in
      let (echo, glasses, plugged) = (try world.add("echo"), try world.add("lawk-view"), try world.add("sensor"))
      await world.plugIn(plugged)
      let offered = Outcome()
      world.answerPicker {
        offered.words = $0
        return .cancel
      }
      manager.showBluetoothAccessoryPicker(withNameFilter: nil, completion: nil)
      #expect(offered.words == [echo, glasses].map(\.profile.identity.name))
      let isEcho = NSPredicate { name, _ in (name as? String) == "Echo" }
      manager.showBluetoothAccessoryPicker(withNameFilter: isEcho, completion: nil)
      #expect(offered.words == ["Echo"])
    }
  }

  @Test func p2TwoPickersAtOnceBothComplete() async throws {
    try await withSimulatedWorld { world in
      _ = try world.add("echo", quirks: ["identification,slow,delay=2s"])
      _ = try world.add("lawk-view", quirks: ["identification,slow,delay=1s"])
      world.answerPicker { .choose($0[0]) }
      let outcome = Outcome()
      for name in ["first", "second"] {
        manager.showBluetoothAccessoryPicker(withNameFilter: nil) { outcome.words.append("\(name) \($0 == nil)") }
      }
      await world.run { outcome.words.count == 2 }
      #expect(outcome.words == ["second true", "first true"])
    }
  }

  @Test func n6AChoiceThatDidNotConnectIsNotSelectedByALaterConnect() async throws {
    try await withSimulatedWorld { world in
      let recorder = EventRecorder.registered()
      let mute = try world.add("echo", quirks: ["authentication,never"])
      world.answerPicker { .choose($0[0]) }
      let outcome = Outcome()
      manager.showBluetoothAccessoryPicker(withNameFilter: nil) {
        outcome.words.append("\(($0 as? EABluetoothAccessoryPickerError)?.code == .resultFailed)")
      }
      await world.run { !outcome.words.isEmpty }
      #expect(outcome.words == ["true"])
      await world.unplug(mute)
      try await world.plugIn("echo")
      #expect(recorder.heard.map(\.isSelected) == [false])
    }
  }

  /// If no failure were reported, the caller would wait forever.
  @Test func p3APickerThatIsUnansweredAtTheEndOfTheWorldFails() async throws {
    let outcome = Outcome()
    try await withSimulatedWorld { world in
      _ = try world.add("echo", quirks: ["authentication,never"])
      world.answerPicker { .choose($0[0]) }
      manager.showBluetoothAccessoryPicker(withNameFilter: nil) {
        outcome.words.append("\(($0 as? EABluetoothAccessoryPickerError)?.code == .resultFailed)")
      }
      await world.advance(by: .seconds(2))
      #expect(outcome.words == [])
    }
    #expect(outcome.words == ["true"])
  }

  @Test(arguments: [
    EABluetoothAccessoryPickerError.Code.alreadyConnected, .resultNotFound, .resultCancelled, .resultFailed,
  ])
  func p3EachWayOfFailingHasItsError(code: EABluetoothAccessoryPickerError.Code) async throws {
    try await withSimulatedWorld { world in
      let echo = try world.add("echo")
      if code == .alreadyConnected { echo.plugIn() }
      await world.settle()
      world.answerPicker { _ in
        switch code {
        case .alreadyConnected: .choose("Echo")
        case .resultNotFound: .choose("nobody")
        case .resultCancelled: .cancel
        case .resultFailed: .fail(.resultFailed)
        }
      }
      do {
        try await manager.showBluetoothAccessoryPicker(withNameFilter: nil)
        Issue.record("it succeeded")
      } catch EABluetoothAccessoryPickerError.resultCancelled {
        #expect(code == .resultCancelled)
      } catch let error as EABluetoothAccessoryPickerError {
        #expect(error.code == code)
        #expect((error as NSError).domain == "EABluetoothAccessoryPickerErrorDomain")
        #expect((error as NSError).code == code.rawValue)
      }
    }
  }
}
