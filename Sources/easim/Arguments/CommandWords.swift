/// The words of the command line as the system gave them.
enum CommandWords {
  /// What is wrong with a word before anybody looks at what it says: in place of bytes that are not UTF-8 Swift puts
  /// others, which would name another file, or go to an accessory.
  static var complaint: String? {
    let words = UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
    for (index, word) in words.enumerated() {
      guard let word, String(validatingCString: word) == nil else { continue }
      return "argument \(index) is not UTF-8: bytes for an accessory can be given with --hex or --file"
    }
    return nil
  }
}
