import AccessoryCore
import IAP2
import Testing

@testable import AccessoryHost

/// Drives an app's state machine with a transcript. Performs each line that begins with `>`, and writes the
/// consequences below that line. A test passes if the transcript does not change.
///
/// ```
/// > publish 7 com.a
/// connect 7 com.a
/// > background
/// explained
/// sessions close
/// disconnect 7 com.a
/// delegate 7
/// ```
struct AppTranscript {
  private var machine: AppMachine
  private var now = Instant.origin
  private var known: [Int: PublishedAccessory] = [:]
  private(set) var explanations: [String] = []

  /// Creates an app whose Info.plist declares these protocols and background modes.
  init(
    declares: [String]? = ["com.a", "com.b"], modes: [String] = [AppManifest.mode],
    registered: Bool = true, _ change: (inout AppSettings) -> Void = { _ in }
  ) {
    var settings = AppSettings()
    settings.manifest = AppManifest(
      origin: declares == nil ? .none : .file("/app/Info.plist"), declaredProtocols: declares, backgroundModes: modes)
    settings.startsRegistered = registered
    settings.filterSwitch = "--all-protocols"
    change(&settings)
    machine = AppMachine(settings)
  }

  mutating func play(_ transcript: String) -> String {
    var lines: [String] = []
    for line in transcript.split(separator: "\n") where line.hasPrefix(">") {
      lines.append(String(line))
      lines += perform(line.dropFirst().split(separator: " ").map(String.init))
    }
    return lines.joined(separator: "\n")
  }

  private mutating func perform(_ words: [String]) -> [String] {
    let id = words.count > 1 ? Int(words[1]) ?? 0 : 0
    switch words[0] {
    case "launch":
      return told(machine.launch(words.dropFirst().map { accessory(Int($0) ?? 0, ["com.a"]) }, now: now))
    case "publish": return told(machine.published(accessory(id, Array(words.dropFirst(2))), now: now))
    case "withdraw": return told(known[id].map { machine.withdrawn($0) } ?? [])
    case "foreground": return told(machine.move(to: .foreground))
    case "background", "resume": return told(machine.move(to: .background))
    case "suspend": return told(machine.move(to: .suspended))
    case "bytes": return told(machine.bytesCame(now: now))
    case "wait":
      now = now + .seconds(id)
      return told(machine.handleTimeout(now: now))
    case "list": return ["list " + machine.accessories.map { "\($0.connectionID)" }.joined(separator: " ")]
    case "state": return ["state \(machine.state)"]
    case "open": return open(id, words[2])
    default: return ["unknown \(words[0])"]
    }
  }

  private mutating func open(_ id: Int, _ name: String) -> [String] {
    let lines = machine.alert(about: name).map { told([$0]) } ?? []
    if case .refuse(let error) = machine.decide(id, name, isOpenElsewhere: false, now: now) {
      explanations.append(error.description)
      return lines + ["nil"]
    }
    return lines + ["session \(machine.opened(id, name))"]
  }

  private mutating func told(_ actions: [AppMachine.Action]) -> [String] {
    actions.map { action in
      switch action {
      case .post(.connect(let it)): return (["connect \(it.connectionID)"] + it.protocols).joined(separator: " ")
      case .post(.disconnect(let it)): return (["disconnect \(it.connectionID)"] + it.protocols).joined(separator: " ")
      case .notifyDelegate(let it): return "delegate \(it.connectionID)"
      case .closeSessions: return "sessions close"
      case .hold(let isHeld): return isHeld ? "sessions wait" : "sessions go on"
      case .alert(let text):
        explanations.append(text)
        return "alert"
      case .explain(let text):
        explanations.append(text)
        return "explained"
      case .misuse(let text):
        explanations.append(text)
        return "misuse"
      }
    }
  }

  /// Returns an accessory. The serial number is S1 if the ID is below 100, and S2 otherwise.
  private mutating func accessory(_ id: Int, _ protocols: [String]) -> PublishedAccessory {
    var identification = Identification()
    identification.name = "Glasses"
    identification.serialNumber = id < 100 ? "S1" : "S2"
    identification.protocols = protocols.enumerated().map {
      ExternalAccessoryProtocol(id: UInt8($0.offset + 1), name: $0.element)
    }
    let accessory = PublishedAccessory(
      JudgedIdentification(identification), connectionID: id, offersProtocols: true, certificate: CertificateSizes())
    known[id] = accessory
    return accessory
  }
}

func expect(_ transcript: String, from app: AppTranscript, _ place: SourceLocation = #_sourceLocation) {
  var app = app
  #expect(app.play(transcript) == transcript, sourceLocation: place)
}
