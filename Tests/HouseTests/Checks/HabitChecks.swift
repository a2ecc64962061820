/// What holds for every file. Each check returns its findings as sentences with their place; none is what is wanted.
enum HabitChecks {
  /// A file is one type or one idea. Most have 100 to 350 lines; from here on it is two.
  static let longestFile = 450

  static func filesAreShort(_ house: House) -> [String] {
    house.files.filter { $0.lineCount > longestFile }.map {
      "\($0.path) has \($0.lineCount) lines, \(longestFile) is the most"
    }
  }

  /// One test library; the other is served by one target that does nothing else.
  static func nothingUsesXCTest(_ house: House) -> [String] {
    house.files.filter { !$0.path.hasPrefix("Sources/ExternalAccessoryXCTest/") }.flatMap { file in
      file.imports.filter { $0.module == "XCTest" }.map { "\(file.path):\($0.line) imports XCTest" }
    }
  }

  /// Tests let virtual time pass, or wait for the thing itself; they never hope that a moment is long enough.
  static func testsDoNotSleep(_ house: House) -> [String] {
    house.files.filter { $0.path.hasPrefix("Tests/") }.flatMap { file in
      file.lines(with: "sleep").filter { sleeps($0.line) }.map {
        "\(file.path):\($0.number) lets time pass: \($0.line.drop { $0 == " " })"
      }
    }
  }

  private static func sleeps(_ line: Substring) -> Bool {
    for name in ["sleep", "usleep", "nanosleep", "clock_nanosleep"] {
      for range in line.ranges(of: "\(name)(") {
        let before = line[..<range.lowerBound]
        guard let last = before.last else { return true }
        let isMember = last == "." && name == "sleep"
        // A machine may have a `sleep()` of its own; a task, a thread and a clock sleep for real.
        if isMember, ["Task", "Thread", "Clock()", "clock"].contains(where: { before.dropLast().hasSuffix($0) }) {
          return true
        }
        let isCall = !isMember && !last.isLetter && last != "_" && !before.hasSuffix("func ")
        if isCall { return true }
      }
    }
    return false
  }
}
