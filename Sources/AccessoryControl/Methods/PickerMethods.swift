import AccessoryFormats
import AccessoryHost
import AccessoryWorlds

extension ControlMethods {
  /// The methods for the Bluetooth picker, where a test, a script or a user chooses an accessory for an app.
  static let picker = [
    ControlMethod(
      later: "app.showPicker",
      "Show an app's Bluetooth picker, as `showBluetoothAccessoryPicker` does. The answer is sent once `app.choose` "
        + "has been called and the chosen accessory, if any, has connected. Call `accessory.list` to see which "
        + "accessories can be offered.",
      .init(
        "showing", .id(of: "app"),
        Argument(
          optional: "accessories", .list(of: .text),
          "the ids of the accessories that match the app's filter (default: all)")),
      .only("picker result", "outcome", .choice, "`chosen` means that the accessory has connected"),
      errors: [.unknown, .gone, .state], example: "{\"app\":\"p1\"}",
      exampleResult: "{\"outcome\":\"chosen\"}"
    ) { call, answer, app, offered in try show(app, offered, call, answer) },
    ControlMethod(
      "app.choose",
      "Choose an accessory in an app's Bluetooth picker, or close the picker without choosing one. If no picker is "
        + "shown, the choice applies to the next one.",
      .init(
        "choosing", .id(of: "app"),
        Argument(optional: "accessory", .text, "the id of the accessory that the user chooses"),
        Argument(
          "outcome", .choice, "how the picker ends if no `accessory` is given", from: PickerOutcome.cancelled)),
      .nothing, errors: [.unknown, .gone],
      example: "{\"app\":\"p1\",\"accessory\":\"a1\"}"
    ) { call, app, accessory, outcome in
      let app = try call.server.apps.find(app)
      if let accessory { _ = try call.server.accessories.find(accessory) }
      app.picker.answer = (accessory, outcome)
      app.world.recheck()
    },
  ]

  /// The time limit for choosing an accessory, and the time limit for connecting to it.
  private static let (userLimit, connectLimit) = (Duration.seconds(3_600), Duration.seconds(30))

  private static func show(
    _ app: String, _ offered: [String]?, _ call: ControlCall,
    _ answer: @escaping (Result<PickerOutcome, RPCError>) -> Void
  ) throws(RPCError) {
    let app = try call.server.apps.find(app)
    _ = try app.running()
    guard !app.picker.isShown else {
      throw RPCError(.state, "the app '\(app.id)' is already showing its picker", advice: "call app.choose")
    }
    app.picker.isShown = true
    let world = app.world
    world.wait(
      call, until: world.loop.now + userLimit, isDone: { app.picker.answer != nil || app.view == nil }
    ) { _, _ in
      let choice = app.picker.answer
      (app.picker.isShown, app.picker.answer) = (false, nil)
      func finish(_ outcome: PickerOutcome) { answer(.success(outcome)) }
      guard let choice, app.view != nil else { return finish(.cancelled) }
      guard let id = choice.accessory else { return finish(choice.outcome) }
      guard let chosen = try? call.server.accessories.find(id), chosen.world === world, offered?.contains(id) ?? true
      else { return finish(.notFound) }
      if chosen.isPlugged { return finish(.alreadyConnected) }
      let serial = chosen.profile.identity.serialNumber
      app.picker.chosenSerial = serial
      do { try chosen.perform(.accessory(.plugIn, of: id)) } catch { return finish(.failed) }
      world.wait(
        call, until: world.loop.now + connectLimit,
        accepts: { _ in
          app.view?.accessories.contains { $0.serialNumber == serial && !$0.protocols.isEmpty } ?? true
        }
      ) { end, _ in
        let isThere = end == .notice && app.view != nil
        // Finishes on a later turn of the loop, so that the app is notified before it receives the picker's result.
        call.server.later { finish(isThere ? .chosen : .failed) }
      }
    }
  }
}

struct AppPicker {
  var isShown = false
  /// What the user does in the current picker, or in the next picker if none is shown.
  var answer: (accessory: String?, outcome: PickerOutcome)?
  /// The serial number of the chosen accessory, or nil once the app has been notified.
  var chosenSerial: String?

  /// Returns true for the chosen accessory, but only on the first call.
  mutating func takesSelection(_ accessory: PublishedAccessory) -> Bool {
    guard accessory.serialNumber == chosenSerial, !accessory.protocols.isEmpty else { return false }
    chosenSerial = nil
    return true
  }
}

enum PickerOutcome: String, CaseIterable, Sendable {
  case chosen, alreadyConnected, notFound, cancelled, failed
}
