import TestSupport

/// What a process has reported about its state so far, in JSON lines.
struct Facts {
  private(set) var address: String?
  private(set) var opened = 0
  private(set) var closed = 0
  private(set) var bytesRead = 0
  private(set) var unexplained = 0
  private(set) var bursts = 0
  private(set) var bytes = 0
  private(set) var reconnections = 0
  private(set) var lost = 0
  private(set) var wrongs: [String] = []
  private(set) var passed: Bool?
  private(set) var last = "nothing"
  private(set) var unreadable = 0

  mutating func take(_ text: String) {
    guard let line = try? StrictJSON(reading: text), let event = line["event"]?.text else {
      unreadable += 1
      return
    }
    last = ([event] + [line["reason"]?.text ?? line["text"]?.text].compactMap(\.self)).joined(separator: ": ")
    switch event {
    case "attach": address = line["on"]?.text ?? address
    case "session.open": opened += 1
    case "session.close":
      closed += 1
      bytesRead += line.count("bytesRead")
      if line["reason"]?.text?.isEmpty != false { unexplained += 1 }
    // On a busy machine, acknowledgements are late and packets are retransmitted. Retransmissions are errors only if
    // bytes are missing.
    case "warning" where last.wholeMatch(of: #/warning: the line so far: \d+ packets? sent again/#) != nil: break
    case "warning": wrongs.append(last)
    case "progress":
      bursts = line.count("bursts")
      bytes = line.count("bytes")
    case "result":
      passed = line["passed"] == .truth(true)
      if let report = line["report"] { take(report) }
    default: break
    }
  }

  mutating func takeWrongs() -> [String] {
    defer { wrongs.removeAll() }
    return wrongs
  }

  private mutating func take(_ report: StrictJSON) {
    bursts = report.count("completed")
    bytes = report.count("bytes")
    reconnections = report.count("reconnections")
    lost = report.count("lost")
    guard case .list(let errors)? = report["errors"] else { return }
    for error in errors {
      guard let kind = error["kind"]?.text, kind != "lost" else { continue }
      wrongs.append("\(error.count("count")) × \(kind): \(error["first"]?.text ?? "")")
    }
  }
}

extension StrictJSON {
  fileprivate func count(_ key: String) -> Int { self[key]?.number.map { Int($0) } ?? 0 }
}
