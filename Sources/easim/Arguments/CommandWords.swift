enum CommandWords {
  /// The reason why a word is rejected before it is parsed. Swift replaces bytes that are not UTF-8, so the word would
  /// name another file or send other bytes to an accessory.
  static var complaint: String? {
    let words = UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
    for (index, word) in words.enumerated() {
      guard let word, String(validatingCString: word) == nil else { continue }
      return "argument \(index) is not UTF-8: pass bytes for an accessory with --hex or --file"
    }
    return nil
  }
}
