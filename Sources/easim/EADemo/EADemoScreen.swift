import AccessoryHost

/// EADemo's three screens, by keys: the accessories, one accessory with its protocols, and the session.
///
/// ```
///   accessories ──enter──▶ accessory ──enter on a protocol──▶ session
///       ▲ ◀──escape, left──── ▲ ◀──────escape, left, close──────┘
///       └──────────────── the accessory goes ───────────────────┘
/// ```
///
/// A key becomes a command of ``EADemoApp`` or changes what is shown; the rest follows the state of ``EADemoApp``.
struct EADemoScreen: Equatable {
  enum Page: Equatable {
    case accessories
    /// One, by its connection ID.
    case accessory(Int)
    case session
  }

  /// A text that is being typed.
  enum Prompt: Equatable {
    case string(String)
    case hex(String)

    var text: String {
      get {
        switch self {
        case .string(let text), .hex(let text): text
        }
      }
      set { self = if case .string = self { .string(newValue) } else { .hex(newValue) } }
    }
  }

  /// So many things that happened are kept for showing.
  static let newsLimit = 100

  private(set) var page = Page.accessories
  private(set) var prompt: Prompt?
  /// Which line of the page is chosen.
  private(set) var choice = 0
  /// What happened, the latest last.
  private(set) var news: [EADemoApp.Line] = []

  /// A key came; what it means for the app.
  mutating func press(_ key: Key, _ app: EADemoApp) -> EADemoCommand? {
    if key == .control("c") { return .quit }
    if prompt != nil { return type(key) }
    switch (key, page) {
    case (.up, _), (.character("k"), .accessories), (.character("k"), .accessory): choice = max(0, choice - 1)
    case (.down, _), (.character("j"), _): choice = max(0, min(choice + 1, count(app) - 1))
    case (.enter, .accessories), (.right, .accessories): enter(app)
    case (.enter, .accessory(let id)), (.right, .accessory(let id)): return open(id, app)
    case (.escape, .session), (.left, .session), (.character("c"), .session): return app.session == nil ? nil : .close
    case (.escape, .accessory), (.left, .accessory): show(.accessories)
    case (.character("s"), .session): prompt = .string("")
    case (.character("h"), .session): prompt = .hex("")
    case (.character("k"), .session): return .send(CountingPattern.bytes(10_000))
    case (.character("b"), _): return app.state == .foreground ? .background : .foreground
    case (.character("q"), _): return .quit
    default: break
    }
    return nil
  }

  private mutating func type(_ key: Key) -> EADemoCommand? {
    switch key {
    case .character(let character): prompt?.text.append(character)
    case .backspace: if prompt?.text.isEmpty == false { prompt?.text.removeLast() }
    case .control("u"): prompt?.text = ""
    case .escape: prompt = nil
    case .enter: return send()
    default: break
    }
    return nil
  }

  private mutating func send() -> EADemoCommand? {
    defer { prompt = nil }
    switch prompt {
    case .string(let text) where !text.isEmpty: return .send(Array(text.utf8))
    case .hex(let text):
      do throws(EADemoCommandError) { return try EADemoCommand(line: "hex \(text)") } catch {
        tell(EADemoApp.Line(text: error.description, isError: true))
        return nil
      }
    default: return nil
    }
  }

  private mutating func enter(_ app: EADemoApp) {
    guard app.accessories.indices.contains(choice) else { return }
    show(.accessory(app.accessories[choice].connectionID))
  }

  private func open(_ id: Int, _ app: EADemoApp) -> EADemoCommand? {
    guard let index = app.accessories.firstIndex(where: { $0.connectionID == id }),
      app.accessories[index].protocols.indices.contains(choice)
    else { return nil }
    return .open(protocolName: app.accessories[index].protocols[choice], number: index + 1)
  }

  /// How many lines can be chosen.
  private func count(_ app: EADemoApp) -> Int {
    switch page {
    case .accessories: app.accessories.count
    case .accessory(let id): app.accessories.first { $0.connectionID == id }?.protocols.count ?? 0
    case .session: 0
    }
  }

  private mutating func show(_ next: Page) {
    page = next
    choice = 0
    prompt = nil
  }

  /// Takes a line to show.
  mutating func tell(_ line: EADemoApp.Line) {
    news.append(line)
    if news.count > Self.newsLimit { news.removeFirst() }
  }

  /// The app changed: EADemo goes back to its first screen when the accessory goes, and to the accessory when only the
  /// session does.
  mutating func follow(_ app: EADemoApp) {
    if let session = app.session {
      if page != .session { show(.session) }
      if !app.accessories.contains(where: { $0.connectionID == session.connectionID }) { show(.accessories) }
    } else if page == .session {
      let last = lastAccessory.flatMap { id in app.accessories.first { $0.connectionID == id } }
      show(last.map { .accessory($0.connectionID) } ?? .accessories)
    }
    if case .accessory(let id) = page, !app.accessories.contains(where: { $0.connectionID == id }) {
      show(.accessories)
    }
    lastAccessory = app.session?.connectionID ?? lastAccessory
    choice = max(0, min(choice, count(app) - 1))
  }

  private var lastAccessory: Int?
}
