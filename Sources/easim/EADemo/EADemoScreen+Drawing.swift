import AccessoryCore
import AccessoryHost
import IAP2

/// The rows of the screen; the terminal only prints them.
extension EADemoScreen {
  /// One line of the screen.
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

  /// The screen, no wider and no higher than the terminal.
  func rows(_ app: EADemoApp, width: Int, height: Int) -> [Row] {
    let top = heading(app) + body(app)
    let bottom = footer(app)
    let room = height - top.count - bottom.count - 1
    let lines = news.suffix(max(0, room)).flatMap { told in
      Self.wrapped(told.text, width).map { Row(text: $0, style: told.isError ? .wrong : .quiet) }
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

  private func body(_ app: EADemoApp) -> [Row] {
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
    case .session: return sessionRows(app)
    }
  }

  private func sessionRows(_ app: EADemoApp) -> [Row] {
    guard let session = app.session else { return [] }
    let waiting = session.asked > session.sent ? " of \(session.asked)" : ""
    var rows = [
      Row(text: "  Received  \(session.received) bytes"), Row(text: "  Sent      \(session.sent)\(waiting) bytes"),
      Row(text: ""),
    ]
    for start in stride(from: 0, to: session.tail.count, by: 16) {
      let bytes = session.tail[start..<min(start + 16, session.tail.count)]
      let hex = Hex.spaced(bytes)
      let letters = String(decoding: bytes.map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
      rows.append(Row(text: "  \(hex)\(String(repeating: " ", count: 49 - hex.count))\(letters)", style: .quiet))
    }
    return rows
  }

  private func choosable(_ index: Int, _ text: String) -> Row {
    index == choice ? Row(text: "> \(text)", style: .chosen) : Row(text: "  \(text)")
  }

  private func footer(_ app: EADemoApp) -> [Row] {
    switch prompt {
    case .string(let text)?:
      return [Row(text: "Send String: \(text)_"), Row(text: "enter send   esc cancel", style: .quiet)]
    case .hex(let text)?:
      return [Row(text: "Send Hex Data: \(text)_"), Row(text: "enter send   esc cancel", style: .quiet)]
    case nil: break
    }
    let home = app.state == .foreground ? "b background" : "b foreground"
    let keys =
      switch page {
      case .accessories: "up/down choose   enter details   \(home)   q quit"
      case .accessory: "up/down choose   enter open session   esc back   \(home)   q quit"
      case .session: "s Send String   h Send Hex Data   k Send 10K   esc close   \(home)   q quit"
      }
    return [Row(text: keys, style: .quiet)]
  }

  /// A text in lines of so many columns, the second and every further one indented.
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

  /// As much of a text as fits into so many columns.
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
