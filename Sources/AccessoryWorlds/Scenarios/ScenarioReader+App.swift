import AccessoryCore
import AccessoryHost
import AccessoryProfiles

// The app of a scenario: what its Info.plist says, and how the system treats it.
extension ScenarioReader {
  static let appShape = ObjectShape("app", ["protocols", "backgroundModes", "registered", "payload", "rules"])
  static let rulesShape = ObjectShape(
    "rules",
    [
      "visibility", "undeclaredSessions", "honorsBackgroundMode", "secondSession", "reattachment", "settlingTime",
      "wakesForBytes", "wakeTime", "lostConnects", "announcesBytesOnce",
    ])

  // The words of each rule, beside what they mean.
  static let visibilities: [(String, AppRules.Visibility)] = [("declared", .declared), ("all", .all)]
  static let undeclaredSessions: [(String, AppRules.UndeclaredSessions)] = [
    ("refused", .refused), ("allowed", .allowed),
  ]
  static let secondSessions: [(String, AppRules.SecondSession)] = [
    ("closesFirst", .closesFirst), ("refused", .refused), ("sideBySide", .sideBySide),
  ]
  static let reattachments: [(String, AppRules.Reattachment)] = [
    ("both", .both), ("nothing", .nothing), ("connectOnly", .connectOnly),
  ]
  static let lostConnects: [(String, AppRules.LostConnects)] = [
    ("none", .none), ("all", .all), ("outsideForeground", .outsideForeground),
  ]
  static let payloadRange = 1...1_000_000

  static func read(_ reader: ObjectReader, into scenario: inout Scenario) {
    scenario.app.manifest = AppManifest(
      declaredProtocols: reader.value("protocols") == nil ? nil : texts(reader, "protocols"),
      backgroundModes: texts(reader, "backgroundModes"))
    scenario.app.startsRegistered = reader.boolean("registered") ?? true
    scenario.payload = reader.integer("payload", in: payloadRange) ?? scenario.payload
    guard let rules = reader.object("rules", rulesShape) else { return }
    func word<Rule>(_ key: String, _ words: [(String, Rule)], _ path: WritableKeyPath<AppRules, Rule>) {
      guard let text = rules.choice(key, of: words.map(\.0)), let found = words.first(where: { $0.0 == text }) else {
        return
      }
      scenario.app.rules[keyPath: path] = found.1
    }
    func set<Rule>(_ value: Rule?, _ path: WritableKeyPath<AppRules, Rule>) {
      if let value { scenario.app.rules[keyPath: path] = value }
    }
    word("visibility", visibilities, \.visibility)
    word("undeclaredSessions", undeclaredSessions, \.undeclaredSessions)
    word("secondSession", secondSessions, \.secondSession)
    word("reattachment", reattachments, \.reattachment)
    word("lostConnects", lostConnects, \.lostConnects)
    set(rules.boolean("honorsBackgroundMode"), \.honorsBackgroundMode)
    set(rules.boolean("wakesForBytes"), \.wakesForBytes)
    set(rules.boolean("announcesBytesOnce"), \.announcesBytesOnce)
    set(rules.duration("settlingTime", in: .zero...longest), \.settlingTime)
    set(rules.duration("wakeTime", in: .zero...longest), \.wakeTime)
  }
}
