import AccessoryFormats
import AccessoryHost
import AccessorySessions
import AccessoryWorlds

/// An app that a client controls over the protocol. The app's ``AppView`` implements all the rules for notifications,
/// suspension and sessions.
final class ControlledApp: AppHandler {
  let id: String
  let world: ControlWorld
  let name: String
  /// The client that launched the app, if the app ends when the client does. Otherwise nil.
  weak var client: ControlClient?
  private(set) var view: AppView?
  var picker = AppPicker()
  /// The view of an app that was killed while it had open sessions, or nil otherwise.
  private var killed: AppView?

  init(_ id: String, _ choices: AppChoices, in world: ControlWorld, client: ControlClient?) {
    (self.id, self.world, self.client) = (id, world, client)
    name = choices.name ?? id
    var settings = choices.settings
    settings.manifest = AppManifest(
      declaredProtocols: choices.protocols, backgroundModes: choices.backgroundModes)
    settings.filterSwitch = "the rules visibility and undeclaredSessions"
    view = world.world.device.makeApp(self, settings: settings)
  }

  func running() throws(RPCError) -> AppView {
    let view = try living()
    guard view.state != .suspended else {
      throw RPCError(
        .state, "the app '\(id)' is suspended, so it can make no calls",
        advice: "call app.foreground or app.background first")
    }
    return view
  }

  func living() throws(RPCError) -> AppView {
    guard let view else { throw RPCError(.gone, "the app '\(id)' is gone") }
    return view
  }

  /// Performs an action on this app. Other methods launch the app and open its sessions.
  func perform(_ action: AppAction) throws(RPCError) {
    switch action {
    case .registers: try running().register()
    case .unregisters: try running().unregister()
    case .moves(let state): try living().move(to: state)
    case .ends(let ending, let leavesSessions):
      end("the app \(ending.past)", leavingSessions: leavesSessions)
    case .quits: end("the app quit")
    case .launches, .opensSession, .closesSession, .looks: break
    }
  }

  func open(_ connectionID: Int, _ protocolName: String) throws(RPCError) -> ControlledSession {
    let view = try running()
    guard let accessory = view.accessories.first(where: { $0.connectionID == connectionID }) else {
      throw RPCError(
        .refused, "the app '\(id)' sees no accessory with the connection ID \(connectionID)",
        advice:
          "call app.accessories to list the accessories it sees; an accessory gets a new ID each time it connects")
    }
    let sessionID = try world.server.sessions.issue()
    let session: Session
    do { session = try view.openSession(with: accessory, protocolName: protocolName) } catch {
      throw RPCError(.refused, error.description)
    }
    let made = ControlledSession(sessionID, session, in: world, accessory: nil, app: self, client: client)
    made.connectionID = connectionID
    world.server.sessions.put(made, named: sessionID)
    session.handler = made
    return made
  }

  /// Ends the app. The app's sessions are closed or, as on some systems, stay open. If the sessions stay open, the
  /// accessory notices no change, but the bytes that it sends are no longer read.
  func end(_ reason: String, leavingSessions: Bool = false) {
    guard let ended = view else { return }
    view = nil
    if leavingSessions, !openSessions.isEmpty {
      killed = ended
      // Separate connections for sessions are closed, just as a process's sockets are closed when the process exits.
      for session in world.server.sessions.all where session.app === self { session.port = nil }
      world.keep(killed: self)
    } else {
      ended.close(reason)
    }
    emit("ended", nil, reason)
    world.server.apps.remove(id)
    if picker.isShown { world.recheck() }
  }

  /// Returns true if the app has been killed and has no open sessions left, so that it can be dropped.
  func forgetIfDone() -> Bool {
    guard openSessions.isEmpty else { return false }
    closeSessions("the app was killed")
    return true
  }

  func closeSessions(_ reason: String) {
    let ended = killed
    killed = nil
    ended?.close(reason)
  }

  // MARK: AppHandler

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) { emit("connect", accessory) }
  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) { emit("disconnect", accessory) }
  func delegateDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) { emit("delegateDisconnect", accessory) }
  func appRuns(_ isRunning: Bool, _ app: AppView) { emit(isRunning ? "resumed" : "suspended", nil) }

  private func emit(_ name: String, _ accessory: PublishedAccessory?, _ reason: String? = nil) {
    // A killed app receives no notifications.
    if killed != nil, name != "ended" { return }
    let isSelected = name == "connect" && accessory.map { picker.takesSelection($0) } ?? false
    world.add(
      .app(id, accessory), name,
      [
        "app": id, "event": name, "accessory": accessory.map { PublishedAccessory.answer.tree($0) },
        "selected": isSelected ? true : nil, "reason": reason,
      ], for: client)
  }

  private var openSessions: [ControlledSession] {
    world.server.sessions.all.filter { $0.app === self && $0.session.isOpen }
  }

  static let answer = Answer<ControlledApp>("app state", "an app and its state") {
    Key("app", .text, "the app's id") { $0.id }
    Key("world", .text, "the id of the app's world") { $0.world.id }
    Key("name", .text, "the app's name") { $0.name }
    Key("state", .choice, "whether the app is in the foreground, in the background or suspended") {
      $0.view?.state ?? .foreground
    }
    Key("registrations", .natural, "number of registrations still in effect") { $0.view?.registrationCount ?? 0 }
    Key("sessions", .list(of: .text), "the ids of the app's open sessions") { $0.openSessions.map(\.id) }
    Key("misuses", .list(of: .text), "the app's misuses of the API, each as a sentence") { $0.view?.misuses ?? [] }
  }
}

struct AppChoices: Equatable, Sendable {
  var world = "main"
  var name: String?
  var protocols: [String]?
  var backgroundModes: [String] = []
  var settings = AppSettings()

  static let format = Record("launch", "", AppChoices()) {
    Field("world", \.world, .text, "the world on whose device the app runs")
    Field("name", \.name, .optional(.text), "a readable name (default: the app's id)")
    Field(
      "protocols", \.protocols, .optional(.list(of: .text)),
      "UISupportedExternalAccessoryProtocols (default: all protocols are treated as declared)")
    Field(
      "backgroundModes", \.backgroundModes, .list(of: .text),
      "UIBackgroundModes; with external-accessory, the app keeps its accessories in the background")
    Field(
      "registered", \.settings.startsRegistered, .boolean, "whether the app registers for notifications at launch")
    Field("rules", \.settings.rules, AppRules.format)
  }
}
