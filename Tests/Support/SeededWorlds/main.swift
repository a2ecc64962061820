// Plays seeded worlds from a terminal: many of them and the table of what they reached, or one with all that happens.
//
//   swift run -c release SeededWorlds 20000          the worlds of the seeds 0 to 19,999, on one thread
//   swift run -c release SeededWorlds 20000 --from 7 --workers 2
//   swift run SeededWorlds --seed 123                the transcript, the events and the verdict of one

import AccessoryWorlds
import Dispatch
import Glibc

let usage = "usage: SeededWorlds COUNT [--from SEED] [--workers N], or SeededWorlds --seed SEED\n"

/// What stands on the command line: words without a name, and numbers by name.
func read(_ arguments: [String]) -> (words: [String], numbers: [String: UInt64])? {
  var words: [String] = []
  var numbers: [String: UInt64] = [:]
  var rest = arguments[...]
  while let word = rest.popFirst() {
    if word.hasPrefix("--") {
      guard ["--seed", "--from", "--workers"].contains(word), let number = rest.popFirst().flatMap({ UInt64($0) })
      else { return nil }
      numbers[word] = number
    } else {
      words.append(word)
    }
  }
  return (words, numbers)
}

func playOne(_ seed: UInt64) -> Bool {
  print(SoakPlan(seed: seed).summary)
  let outcome = Soak.run(seed: seed) { print($0) }
  print("\(outcome)\nhash \(outcome.hash)")
  return outcome.violations.isEmpty
}

func playMany(_ seeds: Range<UInt64>, workers: Int) async -> Bool {
  let begin = DispatchTime.now().uptimeNanoseconds
  let report = await Soak.run(seeds: seeds, workers: workers)
  let seconds = Double(DispatchTime.now().uptimeNanoseconds - begin) / 1e9
  print(report.coverage)
  for failure in report.failures.prefix(20) { print(failure) }
  print("\(report.count) worlds, \(report.failures.count) of which broke a rule; hash \(report.hash)")
  // Apart from what is the same every time.
  let speed = Array("\(Int(Double(seeds.count) / seconds)) a second on \(workers) threads\n".utf8)
  _ = write(STDERR_FILENO, speed, speed.count)
  return report.failures.isEmpty
}

guard let (words, numbers) = read(Array(CommandLine.arguments.dropFirst())) else {
  print(usage)
  exit(2)
}
let isGood: Bool
if let seed = numbers["--seed"], words.isEmpty {
  isGood = playOne(seed)
} else if words.count == 1, let count = UInt64(words[0]) {
  let first = numbers["--from"] ?? 0
  isGood = await playMany(first..<first + count, workers: Int(numbers["--workers"] ?? 1))
} else {
  print(usage)
  exit(2)
}
exit(isGood ? 0 : 1)
