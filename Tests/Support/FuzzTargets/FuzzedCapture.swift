import AccessoryCaptures

/// What the capture fuzzer does with its bytes: a file of each format.
public enum FuzzedCapture {
  /// Decodes `bytes` in the format that the first byte chooses, whole and in parts; traps if the results differ.
  public static func play(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let forms = CaptureForm.allCases
    let form = first < 0x80 ? forms[Int(first) % forms.count] : nil
    let file = Array(bytes.dropFirst())
    let whole = lines(file, as: form, size: max(1, file.count))
    let parts = lines(file, as: form, size: Int(first & 0x0F) + 1)
    // The first wrong line decides that a string is not a capture, and in parts that may be another line. Without a
    // given format, it is detected from what the pipe contains so far.
    let isComparable = form != nil && whole != nil && parts != nil
    precondition(!isComparable || whole == parts, "how a file is split makes a difference")
  }

  private static func lines(_ file: [UInt8], as form: CaptureForm?, size: Int) -> [String]? {
    var lines: [String] = []
    var analysis = CaptureAnalysis()
    var recording: RecordingReader? = RecordingReader()
    let decoder = CaptureDecoder(as: form)
    func handle(_ entry: CaptureEntry) {
      lines.append(entry.line)
      _ = entry.json(isVerbose: true)
      _ = analysis.add(entry)
      // A reader that refused an entry is not used again.
      do { try recording?.add(entry) } catch { recording = nil }
    }
    do throws(CaptureError) {
      for start in stride(from: 0, to: file.count, by: size) {
        try decoder.append(Array(file[start..<min(start + size, file.count)]), handle)
      }
      try decoder.finish(handle)
    } catch { return nil }
    _ = analysis.finish()
    _ = try? recording?.finish()
    return lines
  }
}
