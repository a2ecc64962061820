// Printed commands are pasted into shells, and some have untrusted paths or names in them. Each must stay one literal
// word.

extension StringProtocol {
  /// The text as one word of a shell: as it is where the shell sees nothing special in it, quoted where it does.
  ///
  /// Control characters, and those that change the direction of a line, become escapes in `$'…'`, which bash, zsh and
  /// ksh know, so that the word stays on one line and reads as it will be run. Everything else is in plain quotes,
  /// which any shell knows.
  ///
  /// ```swift
  /// "/tmp/bench".shellWord         // /tmp/bench
  /// "/tmp/$(reboot)".shellWord     // '/tmp/$(reboot)'
  /// "it's".shellWord               // 'it'\''s'
  /// "two\nlines".shellWord         // $'two\nlines'
  /// ```
  package var shellWord: String {
    if unicodeScalars.contains(where: \.isUnprintable) { return escapedShellWord }
    // zsh takes a word that begins with '=' for the path of a command.
    if !isEmpty, !hasPrefix("="), unicodeScalars.allSatisfy(\.isPlainInShells) { return String(self) }
    return "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
  }

  private var escapedShellWord: String {
    var word = "$'"
    for scalar in unicodeScalars {
      switch scalar {
      case "\n": word += #"\n"#
      case "\t": word += #"\t"#
      case "'", "\\": word += "\\\(scalar)"
      // Three octal digits for each byte: no digit that follows belongs to them, in any locale.
      case _ where scalar.isUnprintable:
        for byte in String(scalar).utf8 {
          word += "\\" + String(byte, radix: 8).zeroPadded(to: 3)
        }
      default: word.unicodeScalars.append(scalar)
      }
    }
    return word + "'"
  }
}

extension Unicode.Scalar {
  fileprivate var isPlainInShells: Bool {
    switch self {
    case "a"..."z", "A"..."Z", "0"..."9", "_", "-", ".", "/", ":", ",", "=", "@", "%", "+": true
    default: !isASCII && properties.isAlphabetic
    }
  }
}
