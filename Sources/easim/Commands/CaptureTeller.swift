import AccessoryCore
import AccessoryTransports

/// Prints a capture packet by packet while it is read.
struct CaptureTeller {
  /// Lines are printed together up to this many bytes, and always before more is read.
  private static let mostText = 1 << 16

  private let console: Console
  private let isVerbose: Bool
  private let decoder: CaptureDecoder

  init(_ console: Console, isVerbose: Bool, as form: CaptureForm?) {
    self.console = console
    self.isVerbose = isVerbose
    decoder = CaptureDecoder(as: form)
  }

  /// Decodes a file, or stdin with `-`.
  func tell(_ path: String) throws -> ExitCode {
    let name = path == "-" ? "stdin" : path
    var text = ""
    func add(_ entry: CaptureEntry) {
      let lines = console.isJSON ? [entry.json(isVerbose: isVerbose)] : [entry.line] + (isVerbose ? entry.details : [])
      for line in lines {
        text += line
        text += "\n"
      }
      if text.utf8.count >= Self.mostText { print() }
    }
    func print() {
      if !text.isEmpty { console.out(text, ending: "") }
      text.removeAll(keepingCapacity: true)
    }
    do {
      try InputFile.read(path) { bytes in
        try decoder.append(bytes, add)
        print()
        return !console.hasNoReader
      }
      if !console.hasNoReader { try decoder.finish(add) }
      print()
    } catch let error as CaptureError {
      print()
      console.err("easim decode: \(name):\(error)")
      return .usage
    }
    if let foreign = decoder.foreignLines {
      console.err(
        "easim: \(foreign.count.counted("line is", "lines are")) not part of a transcript and skipped; the first is "
          + "\(name):\(foreign.first)")
    }
    return conclude()
  }

  private func conclude() -> ExitCode {
    let summary = decoder.summary
    if console.isJSON {
      var object = JSONObject()
      object.add("v", 1)
      object.add("event", "result")
      object.add("passed", summary.isSound)
      object.add("text", summary.text)
      console.out(object.text)
    } else {
      let form = decoder.form ?? .hex
      console.err("easim: read as \(form.rawValue): \(summary.entries == 0 ? "nothing to decode" : summary.text)")
    }
    return summary.isSound ? .done : .checkFailed
  }
}
