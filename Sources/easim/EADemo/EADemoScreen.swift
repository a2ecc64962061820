import AccessoryCore
import AccessoryHost
import IAP2

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
    case accessory(Int)
    case session
  }

  struct Prompt: Equatable {
    enum Kind: Equatable {
      case string
      case hex
      /// How many times, and at what interval, to resend the last bytes, such as `10 every 100ms`.
      case again
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

extension EADemoScreen {
  struct Row: Equatable {
    /// The escape sequences that begin a style on a terminal.
    enum Style: String {
      case plain = ""
      case title = "\u{1B}[1m"
      case chosen = "\u{1B}[7m"
      case quiet = "\u{1B}[2m"
      case wrong = "\u{1B}[31m"
    }

    var text: String
    var style = Style.plain
  }

  func rows(_ app: EADemoApp, width: Int, height: Int) -> [Row] {
    let bottom = footer(app).flatMap { row in
      let lines = row.style == .quiet ? Self.flowed(row.text, width) : Self.wrapped(row.text, width)
      return lines.map { Row(text: $0, style: row.style) }
    }
    let top = heading(app) + body(app, width, dump: max(4, (height - bottom.count - 8) / 2))
    let room = height - top.count - bottom.count - 1
    let lines = news.suffix(max(0, room)).flatMap { told in
      let time = told.time.map { "\($0.shortSeconds)  " } ?? ""
      return Self.wrapped(time + told.text, width).map { Row(text: $0, style: told.isError ? .wrong : .quiet) }
    }
    let told = lines.suffix(max(0, room))
    let gap = [Row](repeating: Row(text: ""), count: max(0, height - top.count - told.count - bottom.count))
    let rows = top + gap.prefix(1) + told + gap.dropFirst() + bottom
    return rows.prefix(height).map { Row(text: Self.fit($0.text, width), style: $0.style) }
  }

  private func heading(_ app: EADemoApp) -> [Row] {
    let title =
      switch page {
      case .accessories: "Accessories"
      case .accessory(let id): app.accessories.first { $0.connectionID == id }.map { $0.name.spelledOut } ?? ""
      case .session: app.session?.protocolName ?? ""
      }
    let away = app.state == .foreground ? "" : "   (in the background)"
    return [Row(text: title + away, style: .title), Row(text: "")]
  }

  private func body(_ app: EADemoApp, _ width: Int, dump: Int) -> [Row] {
    switch page {
    case .accessories:
      if app.accessories.isEmpty {
        return [Row(text: "  No Accessories Connected"), Row(text: "  looked at \(app.place)", style: .quiet)]
      }
      return app.accessories.enumerated().map { choosable($0.offset, EADemoList.line($0.element)) }
    case .accessory(let id):
      guard let accessory = app.accessories.first(where: { $0.connectionID == id }) else { return [] }
      let details = EADemoList.properties(accessory).map { Row(text: "  \($0)") }
      let protocols =
        accessory.protocols.isEmpty
        ? [Row(text: "  none yet", style: .quiet)]
        : accessory.protocols.enumerated().map { choosable($0.offset, $0.element.spelledOut) }
      return details + [Row(text: ""), Row(text: "  Protocols", style: .title)] + protocols
    case .session: return sessionRows(app, width, dump)
    }
  }

  private func sessionRows(_ app: EADemoApp, _ width: Int, _ dump: Int) -> [Row] {
    guard let session = app.session else { return [] }
    let waiting = session.asked > session.sent ? " of \(session.asked)" : ""
    var rows = [
      Row(text: "  Received  \(session.received.count) bytes"),
      Row(text: "  Sent      \(session.sent)\(waiting) bytes"),
    ]
    if app.sessions.count > 1 {
      let others = app.sessions.map { $0.number == session.number ? "[\($0.number)]" : "\($0.number)" }
      rows.append(Row(text: "  Session   \(others.joined(separator: " "))"))
    }
    return rows + [Row(text: "")] + dumpRows(session.received, width, dump)
  }

  /// Shows received bytes as hex and ASCII side by side. The rows are the most recent ones, or those that the user has
  /// scrolled to.
  private func dumpRows(_ received: ReceivedBytes, _ width: Int, _ count: Int) -> [Row] {
    // A row starts with an indent of two columns. After the indent, each byte takes three columns in hex and one in
    // ASCII, with a separator between hex and ASCII.
    let wide = width >= 67 ? 16 : width >= 35 ? 8 : 4
    let lastRow = max(0, received.count - 1) / wide
    let firstRow = (received.first + wide - 1) / wide
    let bottom = max(min(lastRow, firstRow + count - 1), lastRow - scroll)
    let top = max(firstRow, bottom - count + 1)
    guard received.count > 0, top <= bottom else { return [] }
    let rows = (top...bottom).map { row -> Row in
      let bytes = received.from(row * wide).prefix(wide)
      let hex = Hex.spaced(bytes)
      let letters = String(decoding: bytes.map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
      return Row(text: "  \(hex.padded(to: 3 * wide + 1))\(letters)", style: .quiet)
    }
    let below = received.count - (bottom + 1) * wide
    return below > 0 ? rows + [Row(text: "  … \(below.counted("more byte"))", style: .quiet)] : rows
  }

  private func choosable(_ index: Int, _ text: String) -> Row {
    index == choice ? Row(text: "> \(text)", style: .chosen) : Row(text: "  \(text)")
  }

  private func footer(_ app: EADemoApp) -> [Row] {
    if let prompt {
      let (title, keys) =
        switch prompt.kind {
        case .string: ("Send String", "enter send   up earlier   esc cancel   \\r \\n \\t \\xHH are bytes")
        case .hex: ("Send Hex Data", "enter send   up earlier   esc cancel")
        case .again: ("Send Again, such as 10 every 100ms", "enter send   up earlier   esc cancel")
        case .save: ("Save to File", "enter save   up earlier   esc cancel")
        }
      return [Row(text: "\(title): \(prompt.text)_"), Row(text: keys, style: .quiet)]
    }
    let home = app.state == .foreground ? "b background" : "b foreground"
    let keys =
      switch page {
      case .accessories: "up/down choose   enter details   \(home)   q quit"
      case .accessory: "up/down choose   enter open session   esc back   \(home)   q quit"
      case .session:
        "s Send String   h Send Hex Data   k Send 10K   r again   \(app.isBusy ? "x stop   " : "")up/down scroll   w save   "
          + "a accessories   \(app.sessions.count > 1 ? "tab next session   " : "")esc close   \(home)   q quit"
      }
    return [Row(text: keys, style: .quiet)]
  }

  /// Joins items with three spaces between them, on as many lines as needed.
  static func flowed(_ text: String, _ width: Int) -> [String] {
    var lines: [String] = []
    for item in text.split(separator: "   ", omittingEmptySubsequences: false).map(String.init) {
      if let last = lines.last, TextTable.width(of: "\(last)   \(item)") <= width {
        lines[lines.count - 1] = "\(last)   \(item)"
      } else {
        lines += item.isEmpty ? [""] : wrapped(item, width)
      }
    }
    return lines
  }

  /// Wraps text to `width` columns and indents every line but the first.
  static func wrapped(_ text: String, _ width: Int) -> [String] {
    var lines: [String] = []
    var rest = text[...]
    while !rest.isEmpty {
      let indent = lines.isEmpty ? "" : "  "
      let line = fit(indent + rest, max(width, 4))
      lines.append(line)
      rest = rest.dropFirst(line.count - indent.count)
    }
    return lines
  }

  static func fit(_ text: String, _ width: Int) -> String {
    var used = 0
    var out = ""
    for character in text {
      used += TextTable.width(of: String(character))
      if used > width { break }
      out.append(character)
    }
    return out
  }
}

extension Terminal {
  func draw(_ rows: [EADemoScreen.Row]) {
    let lines = rows.map { row in
      let style = row.style == .wrong && !colors ? .title : row.style
      return "\(style.rawValue)\(row.text.printable)\u{1B}[0m\u{1B}[K"
    }
    console.draw("\u{1B}[H\(lines.joined(separator: "\r\n"))\u{1B}[J", onStdout: true)
  }
}
