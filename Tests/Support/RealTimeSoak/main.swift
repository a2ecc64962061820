// Soaks easim in real time. The program runs pairs of processes as users do, and repeatedly kills one process of each
// pair. Scripts/soak builds and runs it.

import AccessoryFormats
import Glibc

private let usage = """
  usage: Scripts/soak MINUTES [--seed N] [--media unix,tcp,pty,local] [--json] [--keep] [--easim PATH]
  """

func options(_ words: [String]) throws -> Soaker.Options {
  var options = Soaker.Options()
  var rest = words[...]
  func value(_ name: String) throws -> String {
    guard let value = rest.popFirst() else { throw OptionError("\(name) needs a value") }
    return value
  }
  while let word = rest.popFirst() {
    switch word {
    case "--json": options.isJSON = true
    case "--keep": options.keeps = true
    case "--easim": options.easim = try value(word)
    case "--seed":
      guard let seed = UInt64(try value(word)) else { throw OptionError("--seed takes a number") }
      options.seed = seed
    case "--media":
      options.media = try value(word).split(separator: ",").map { name in
        guard let medium = Medium(rawValue: String(name)) else { throw OptionError("--media \(name): there is none") }
        return medium
      }
    default:
      guard options.minutes == 0, let minutes = Double(word), minutes > 0, minutes <= 100_000 else {
        throw OptionError("'\(word)' is not a number of minutes")
      }
      options.minutes = minutes
    }
  }
  if options.minutes == 0 { throw OptionError("how many MINUTES?") }
  return options
}

func complain(_ text: String) {
  let bytes = Array(text.utf8)
  _ = write(STDERR_FILENO, bytes, bytes.count)
}

nonisolated(unsafe) var wasStopped: sig_atomic_t = 0
// The parent process may have blocked these signals, and a child process inherits the signal mask.
var heard = sigset_t()
sigemptyset(&heard)
for number in [SIGINT, SIGTERM, SIGHUP] {
  sigaddset(&heard, number)
  signal(number) { _ in wasStopped = 1 }
}
pthread_sigmask(SIG_UNBLOCK, &heard, nil)

func soak(_ options: Soaker.Options) throws -> Report {
  let isTerminal = isatty(STDERR_FILENO) == 1
  var said = 0
  let soaker = try Soaker(options)
  let report = try soaker.run(isStopped: { wasStopped != 0 }) { text in
    said += 1
    if isTerminal { complain("\r\u{1B}[2K\(text)") } else if said % 60 == 1 { complain("soak: \(text)\n") }
  }
  if isTerminal { complain("\r\u{1B}[2K") }
  if let folder = soaker.keptFolder { complain("soak: what every process said is in \(folder)\n") }
  return report
}

do {
  let options = try options(Array(CommandLine.arguments.dropFirst()))
  let report = try soak(options)
  print(options.isJSON ? report.json.text : report.text)
  exit(report.passed ? 0 : 1)
} catch {
  complain("soak: \(error)\n\(usage)\n")
  exit(2)
}
