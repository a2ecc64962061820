enum CommandWords {
  /// Why the command line is rejected before it is parsed; nil if every word is valid UTF-8. Swift replaces bytes that
  /// are not UTF-8, so a word with such bytes would name a different file or send different bytes to an accessory.
  static var complaint: String? {
    let words = UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
    for (index, word) in words.enumerated() {
      guard let word, String(validatingCString: word) == nil else { continue }
      return "argument \(index) is not UTF-8: pass bytes for an accessory with --hex or --file"
    }
    return nil
  }
}
