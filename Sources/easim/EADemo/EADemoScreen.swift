import AccessoryHost

/// EADemo's three screens, which the user controls with keys: the list of accessories, one accessory with its
/// protocols, and the session.
///
/// ```
///   accessories ──enter──▶ accessory ──enter on a protocol──▶ session
///       ▲ ◀──escape, left──── ▲ ◀──────escape, left, close──────┘
///       └──────────────── the accessory disconnects ───────────────────┘
/// ```
///
/// A key is a command for ``EADemoApp``, or it changes the view. The accessories, sessions and bytes on the screens
/// come from ``EADemoApp``. Sessions stay open while another screen is shown, and tab switches between sessions.
struct EADemoScreen: Equatable {
  enum Page: Equatable {
    case accessories
    /// The screen for the accessory with this connection ID.
    case accessory(Int)
    case session
  }

  struct Prompt: Equatable {
    enum Kind: Equatable {
      case string
      case hex
      /// How many times, and at what interval, to resend the last bytes, such as `10 every 100ms`.
      case again
      /// The file in which to save all received bytes.
      case save
    }

    var kind: Kind
    var text = ""
    /// The index of the recalled text, counting back from the latest text, or nil if no text has been recalled.
    var past: Int?
  }

  static let historyLimit = 100
  static let newsLimit = 100

  private(set) var page = Page.accessories
  private(set) var prompt: Prompt?
  private(set) var choice = 0
  private(set) var news: [EADemoApp.Line] = []
  /// How many rows of received bytes are below the visible rows.
  private(set) var scroll = 0
  private var history: [Prompt] = []
  private var lastSent: [UInt8]?
  private var shownSession: Int?

  mutating func press(_ key: Key, _ app: EADemoApp) -> EADemoCommand? {
    if key == .control("c") { return .quit }
    if prompt != nil { return type(key, app) }
    switch (key, page) {
    case (.control("i"), .session):
      let later = app.sessions.first { $0.number > app.session?.number ?? 0 } ?? app.sessions.first
      return later.map { .use($0.number) }
    case (.control("i"), _): if app.session != nil { show(.session) }
    case (.up, .session): scroll(by: 1, app)
    case (.down, .session): scroll(by: -1, app)
    case (.pageUp, .session): scroll(by: 8, app)
    case (.pageDown, .session): scroll(by: -8, app)
    case (.character("a"), .session): show(.accessories)
    case (.up, _), (.character("k"), .accessories), (.character("k"), .accessory): choice = max(0, choice - 1)
    case (.down, _), (.character("j"), _): choice = max(0, min(choice + 1, count(app) - 1))
    case (.enter, .accessories), (.right, .accessories): enter(app)
    case (.enter, .accessory(let id)), (.right, .accessory(let id)): return open(id, app)
    case (.escape, .session), (.left, .session), (.character("c"), .session): return app.session == nil ? nil : .close
    case (.escape, .accessory), (.left, .accessory): show(.accessories)
    case (.character("s"), .session): prompt = Prompt(kind: .string)
    case (.character("h"), .session): prompt = Prompt(kind: .hex)
    case (.character("r"), .session): if lastSent != nil { prompt = Prompt(kind: .again) }
    case (.character("w"), .session): prompt = Prompt(kind: .save)
    case (.character("x"), .session): return app.isBusy ? .stop : nil
    case (.character("k"), .session): return sending(.send(CountingPattern.bytes(CountingPattern.usual)))
    case (.character("b"), _): return app.state == .foreground ? .background : .foreground
    case (.character("q"), _): return .quit
    default: break
    }
    return nil
  }

  private mutating func type(_ key: Key, _ app: EADemoApp) -> EADemoCommand? {
    switch key {
    case .character(let character): prompt?.text.append(character)
    case .backspace: if prompt?.text.isEmpty == false { prompt?.text.removeLast() }
    case .control("u"): prompt?.text = ""
    case .up: recall(1)
    case .down: recall(-1)
    case .escape: prompt = nil
    case .enter: return finish()
    default: break
    }
    return nil
  }

  /// Recalls the previous or next text that the user entered at a prompt of the same kind.
  private mutating func recall(_ step: Int) {
    guard var typing = prompt else { return }
    let past = Array(history.filter { $0.kind == typing.kind }.reversed())
    let next = (typing.past ?? -1) + step
    guard next < past.count else { return }
    typing.past = next < 0 ? nil : next
    typing.text = next < 0 ? "" : past[next].text
    prompt = typing
  }

  private mutating func finish() -> EADemoCommand? {
    guard let typed = prompt else { return nil }
    prompt = nil
    guard !typed.text.isEmpty else { return nil }
    history.removeAll { $0.kind == typed.kind && $0.text == typed.text }
    history.append(Prompt(kind: typed.kind, text: typed.text))
    if history.count > Self.historyLimit { history.removeFirst() }
    do throws(UsageError) {
      switch typed.kind {
      case .string: return sending(try EADemoCommand.escaped(typed.text))
      case .hex: return sending(try EADemoCommand(line: "hex \(typed.text)"))
      case .again: return try lastSent.map { bytes throws(UsageError) in try .again(typed.text, bytes) }
      case .save: return .save(typed.text)
      }
    } catch {
      append(EADemoApp.Line(text: error.message, isError: true))
      return nil
    }
  }

  private mutating func sending(_ command: EADemoCommand?) -> EADemoCommand? {
    if case .send(let bytes)? = command { lastSent = bytes }
    return command
  }

  private mutating func scroll(by rows: Int, _ app: EADemoApp) {
    let most = max(0, (app.session?.received.bytes.count ?? 0) / 4)
    scroll = min(max(0, scroll + rows), most)
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
    scroll = 0
    prompt = nil
  }

  mutating func append(_ line: EADemoApp.Line) {
    news.append(line)
    if news.count > Self.newsLimit { news.removeFirst() }
  }

  /// Updates the view after a change in the app. EADemo returns to the first screen when the accessory disconnects, and
  /// to the accessory's screen when only the session ends.
  mutating func follow(_ app: EADemoApp) {
    if let session = app.session {
      if session.number != shownSession { show(.session) }
      shownSession = session.number
      if page == .session, !app.accessories.contains(where: { $0.connectionID == session.connectionID }) {
        show(.accessories)
      }
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
