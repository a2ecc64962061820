import AccessoryCore

enum TextTable {
  /// Returns one line per row. Each column is as wide as its widest word.
  static func lines(_ rows: [[String]]) -> [String] {
    let rows = rows.map { $0.map(\.printable) }
    var widths: [Int] = []
    for row in rows {
      for (column, word) in row.enumerated() {
        if column == widths.count { widths.append(0) }
        widths[column] = max(widths[column], width(of: word))
      }
    }
    return rows.map { row in
      var line = ""
      for (column, word) in row.enumerated() {
        line += "  " + word
        if column < row.count - 1 { line += String(repeating: " ", count: widths[column] - width(of: word)) }
      }
      return line
    }
  }

  /// Returns the width of a word in terminal columns. Most Chinese and Japanese characters take up two columns.
  static func width(of word: String) -> Int {
    word.unicodeScalars.reduce(0) { width, scalar in
      switch scalar.value {
      case 0x300...0x36F, 0x200B...0x200F, 0xFE00...0xFE0F: width
      case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
        0x1F300...0x1FAFF, 0x20000...0x3FFFD:
        width + 2
      default: width + 1
      }
    }
  }
}
