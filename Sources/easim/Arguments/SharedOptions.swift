import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessoryRuns
import AccessorySessions
import IAP2
import LinuxIO

struct SharedOptions: Sendable {
  var isJSON = false
  var hidesMessages = false
  var timeout = Duration.seconds(10)
  var transcript: String?
  var transcriptBytes: Int?
  var capture: String?
  var trace: String?
  var traceLimit: Int?
  var faults: [Fault] = []
  var allowsRemote = false
  var takesAnyUser = false
  var allowsExec = false
  var seed: UInt64?
  var settleAfter = Duration.milliseconds(200)
  var shard: Shard?
  var allowsEmpty = false
  var reports: [String] = []
  var baseline: String?
  /// The value of `--tolerance` as a fraction: 0.1 for 10%.
  var tolerated = 0.1
  var protocolName: String?
  var infoPlist: String?
  var ignoresInfoPlist = false
  var authentication = AuthenticationMode.verify
  var identification = IdentificationRules.lenient
  /// The order given by the option, or nil to use the order from the device profile.
  var order: HostOrder?
  var firstWriteDelay = Duration.zero
  var deviceProfile: String?
  var savedFiles: String?

  var transport: TransportOptions {
    var options = TransportOptions()
    (options.allowsRemote, options.allowsOtherUsers) = (allowsRemote, takesAnyUser)
    return options
  }
}

enum IdentificationRules: String, CaseIterable {
  case strict
  case lenient
}

extension Option {
  /// Creates an option whose value is an address.
  init(address name: String, _ path: Property<Root, Address?>, _ summary: String) {
    self.init(name, path, as: "ADDR", summary) { $0 = try Address(typed: $1) }
  }

  static var json: Option { Option("--json", \.shared.isJSON, "print one JSON object per line on stdout") }

  static var quietMessages: Option {
    Option("--quiet-messages", \.shared.hidesMessages, "omit the lines about control messages")
  }

  static var timeout: Option {
    Option("--timeout", \.shared.timeout, .duration, "time limit for the whole command")
  }

  static var transcript: Option {
    Option(
      "--transcript", \.shared.transcript, as: "FILE|-", "write one line for each packet to FILE, or with - to stderr")
  }

  static var transcriptBytes: Option {
    Option("--bytes", \.shared.transcriptBytes, as: "N|all", "with --transcript: write the first N bytes of payloads") {
      if $1 == "all" {
        $0 = .max
      } else if let count = Int($1), 0...(1 << 30) ~= count {
        $0 = count
      } else {
        throw OptionError("expected a number of bytes, or all")
      }
    }
  }

  static var capture: Option {
    Option(
      "--capture", \.shared.capture, as: "FILE|-",
      "record every byte to FILE as pcapng for Wireshark, or with - to stdout")
  }

  static var trace: Option {
    Option(
      "--trace", \.shared.trace, as: "FILE",
      "write one HTML page to FILE that shows the run: lanes, packets, log and verdict")
  }

  static var traceLimit: Option {
    Option(
      "--trace-limit", \.shared.traceLimit, as: "SIZE", "maximum size of the trace; the rest is omitted (default: 20MB)"
    ) { limit, text in
      let units = ["kB": 1_000, "MB": 1_000_000]
      guard let unit = units.first(where: { text.hasSuffix($0.key) }), let count = Int(text.dropLast(2)),
        1...1_000 ~= count
      else { throw OptionError("expected a size, such as 20MB") }
      limit = count * unit.value
    }
  }

  static var fault: Option {
    Option(
      "--fault", \.shared.faults, as: "F",
      "add a fault to each cable: latency,delay=50ms or loss,chance=2% or bluetooth", isRepeatable: true
    ) { faults, text in
      do throws(SourceProblems) { faults += try LinkPreset.faults(text) } catch { throw OptionError(valueOf: error) }
    }
  }

  static var allowRemote: Option {
    Option("--allow-remote", \.shared.allowsRemote, "allow TCP connections to and from other machines")
  }

  static var anyUser: Option {
    Option("--any-user", \.shared.takesAnyUser, "also trust other users' sockets on this machine")
  }

  static var allowExec: Option {
    Option("--allow-exec", \.shared.allowsExec, "run programs from profiles that other users can modify")
  }

  static var seed: Option {
    Option(
      "--seed", \.shared.seed, .optional(.integer(0...UInt64(Int.max))),
      "random seed; the same seed gives the same run")
  }

  /// Without `--shard`, ``RunOutput`` chooses the shard.
  static var shard: Option {
    Option("--shard", \.shared.shard, as: "I/N", "run part I of N, and write its report (docs/scale.md)") {
      $0 = try Shard($1)
    }
    .standard("from the job's environment")
  }

  static var allowEmpty: Option {
    Option("--allow-empty", \.shared.allowsEmpty, "exit with 0 even if there was nothing to compare")
  }

  static var report: Option {
    Option(each: "--report", \.shared.reports, .text, as: "FILE", "write the report: .json, .html or .xml (JUnit)")
  }

  static var baseline: Option {
    Option("--baseline", \.shared.baseline, as: "FILE", "fail if the result is worse than in this JSON report")
  }

  static var tolerance: Option {
    let percentage = Format<Double>.parsed(TextShape("percentage"), expected: "a percentage, such as 10%") { text in
      let digits = text.hasSuffix("%") ? text.dropLast() : text[...]
      let isNumber = !digits.isEmpty && digits.allSatisfy { $0.isASCII && ($0.isNumber || $0 == ".") }
      return isNumber ? Double(digits).flatMap { $0 <= 100_000 ? $0 / 100 : nil } : nil
    } text: {
      "\(Int(($0 * 100).rounded()))%"
    }
    return Option(
      "--tolerance", \.shared.tolerated, percentage, as: "PERCENT", "how much worse than the baseline is acceptable")
  }

  static var protocolName: Option {
    Option(
      "--protocol", \.shared.protocolName, as: "P", "protocol of the session; required if the accessory offers several")
  }

  static var infoPlist: Option {
    Option(
      "--info-plist", \.shared.infoPlist, as: "FILE",
      "use the protocols and background modes declared in this Info.plist (XML or binary)")
  }

  static var auth: Option {
    Option(
      "--auth", \.shared.authentication, .choice,
      "verify authentication, accept failures with a warning, or skip it")
  }

  static var identification: Option {
    Option(
      "--identification", \.shared.identification, .choice,
      "if an Apple device would refuse the identification: refuse, or warn")
  }

  static var order: Option {
    Option(
      "--order", \.shared.order, .optional(.choice), as: "ORDER",
      "request authentication or identification first; auto tries both"
    ).standard("auto")
  }

  static var firstWriteDelay: Option {
    Option(
      "--first-write-delay", \.shared.firstWriteDelay, .duration,
      "wait TIME before the first data of a session, or until the accessory sends 0xEA03"
    ).standard(nil)
  }

  static var settleAfter: Option {
    Option(
      "--settle-after", \.shared.settleAfter, .duration,
      "fail if bytes arrive within TIME after the last expected byte")
  }

  static var deviceProfile: Option {
    Option(
      "--device-profile", \.shared.deviceProfile, as: "FILE",
      "read what the Apple device sends and answers from FILE (docs/messages.md)")
  }

  static var saveFiles: Option {
    Option("--save-files", \.shared.savedFiles, as: "DIR", "save files received by file transfer in DIR")
  }

  static var allProtocols: Option {
    Option("--all-protocols", \.shared.ignoresInfoPlist, "ignore the Info.plist's declarations")
  }
}

extension Format<Duration> {
  static let someTime = duration(.milliseconds(1)...DurationText.longest)
}

extension Operand {
  /// An address, which users may omit if the placeholder is in brackets.
  static func address(_ path: Property<Root, Address>, as placeholder: String = "[ADDR]") -> Operand {
    Operand(placeholder: placeholder, (placeholder.hasPrefix("[") ? 0 : 1)...1, path) { $0 = try Address(typed: $1) }
  }

  static func addresses(_ path: Property<Root, [Address]>) -> Operand {
    Operand(placeholder: "[ADDR…]", 0...1_000, path) { $0.append(try Address(typed: $1)) }
  }
}

extension Address {
  static let standardLocal = Address.local(directory: nil, serial: nil)

  init(typed text: String) throws(UsageError) {
    do { try self.init(parsing: text) } catch { throw UsageError("\(error)") }
  }
}

extension [Address] {
  var orStandardLocal: [Address] { isEmpty ? [.standardLocal] : self }
}

extension OneOf {
  func read(option text: String) throws(OptionError) -> Root {
    do { return try read(text) } catch { throw OptionError(valueOf: error) }
  }
}

extension OptionError {
  fileprivate init(valueOf problems: SourceProblems) {
    self.init(
      problems.problems.map { problem in
        let column = problem.position.flatMap { $0.column > 0 ? "column \($0.column)" : nil }
        return [column, problem.path.isEmpty ? nil : problem.path, problem.message].compactMap(\.self)
          .joined(separator: ": ")
      }.joined(separator: "; "))
  }
}
