import AccessoryCaptures

/// The capture fuzzer's target: files in all formats.
public enum FuzzedCapture {
  /// Decodes `bytes` in the format that the first byte selects, as a whole and in parts. Traps if the results differ.
  public static func play(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let forms = CaptureForm.allCases
    let form = first < 0x80 ? forms[Int(first) % forms.count] : nil
    let file = Array(bytes.dropFirst())
    let whole = lines(file, as: form, size: max(1, file.count))
    let parts = lines(file, as: form, size: Int(first & 0x0F) + 1)
    // The error is reported for the first wrong line that the decoder sees. If the input arrives in parts, this may be
    // a different line. If the format is detected automatically, the result depends on how much of the file has
    // arrived.
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
      // A reader that rejected an entry must not be used again.
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
