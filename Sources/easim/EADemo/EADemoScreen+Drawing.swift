import AccessoryCore
import AccessoryHost
import IAP2

extension EADemoScreen {
  struct Row: Equatable {
    enum Style: Equatable {
      case plain
      case title
      case chosen
      case quiet
      case wrong
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
    let lines = rows.map { row in "\(style(row.style))\(row.text.printable)\u{1B}[0m\u{1B}[K" }
    console.draw("\u{1B}[H\(lines.joined(separator: "\r\n"))\u{1B}[J", onStdout: true)
  }

  private func style(_ style: EADemoScreen.Row.Style) -> String {
    switch style {
    case .plain: ""
    case .title: "\u{1B}[1m"
    case .chosen: "\u{1B}[7m"
    case .quiet: "\u{1B}[2m"
    case .wrong: colors ? "\u{1B}[31m" : "\u{1B}[1m"
    }
  }
}
