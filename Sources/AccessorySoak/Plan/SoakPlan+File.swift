import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessoryWorlds

/// The contents of a scenario file.
public enum ScenarioFile: Equatable, Sendable {
  /// A scenario with one app, which passes or fails based on what that app sees.
  case scenario(Scenario)
  /// A scenario with `apps`, as `easim soak` writes it, which passes or fails based on the soak's rules.
  case plan(SoakPlan)

  /// The text that `easim scenario show` prints.
  public var page: String {
    switch self {
    case .scenario(let scenario): scenario.page
    case .plan(let plan): plan.about.page(commands: "```sh\neasim scenario run \(plan.about.name.shellWord)\n```")
    }
  }

  package init(_ source: ScenarioSource, profiles: ProfileLibrary) throws(SourceProblems) {
    self = try source.read(profiles) { tree, names throws(SourceProblems) in
      if tree["apps"] == nil { return .scenario(try Scenario(tree, names, name: source.name)) }
      var plan = try SoakPlan(tree, names)
      plan.about.name = source.name
      return .plan(plan)
    }
  }
}

extension ScenarioLibrary {
  /// Reads the file that a reference identifies. The reference is considered a path if it contains a `/` or has an
  /// extension, and a name otherwise.
  public func file(_ reference: String) throws(SourceProblems) -> ScenarioFile {
    try ScenarioFile(source(reference), profiles: profiles)
  }
}

extension SoakPlan {
  private var tail: Duration {
    get { length - (steps.last?.at ?? .zero) }
    set { length = (steps.last?.at ?? .zero) + newValue }
  }

  init(_ tree: JSON5Value, _ names: ScenarioNames) throws(SourceProblems) {
    var names = names
    names.apps = names.apps ?? []
    self = try Self.format(names).read(tree)
  }

  var tree: JSON5Value {
    Self.format(ScenarioNames(accessories: accessories.map(\.name), apps: apps.map(\.name))).tree(self)
  }

  package static func format(_ names: ScenarioNames = ScenarioNames()) -> Record<Self> {
    Record(
      "scenario with apps", "a scenario with several apps, checked by the rules of easim soak (docs/scale.md)", Self()
    ) {
      Scenario.About.format.fields(at: \.about)
      Field("seed", \.seed, .seed, "the random seed", isAlwaysWritten: true)
      Field(
        "accessories", \.accessories, .accessories(names.profiles),
        "the accessories, keyed by the names that the steps use",
        isRequired: true)
      Field.cable(\.speed, \.faults)
      Field(group: "device", named: "device with apps", "the Apple device") {
        Field.device(\.policy, \.deviceFlicker, \.order)
        Field("window", \.deviceWindow, .integer(1...127), "the window that the device announces, in packets")
        Field("packetLength", \.deviceLength, .integer(128...65_535), "the longest packet that the device accepts")
        Field(
          "firstSession", \.firstSession, .integer(1...65_535),
          "the number of the device's first session on each cable")
        Field("link", \.deviceLink, SoakLinkChoices.format)
      }
      Field("apps", \.apps, .apps, "the apps, keyed by the names that the steps use", isRequired: true)
      Field(
        "steps", \.steps, .steps(of: Scenario.Step.format(names, for: .plans)) { $0.at },
        "the steps, in chronological order", isRequired: true)
      Field(
        "tail", \.tail, .duration(.zero...Scenario.longest), "how long the world continues after the last step",
        isAlwaysWritten: true, standard: Standard("`60s`") { _ in .seconds(60) })
      Field(
        "forbid", \.forbidden, .list(of: .words(SoakCoverage.Corner.allCases.map { ($0.word, $0) })),
        "events that must not happen, as for `easim soak --forbid`")
      Field.refused(
        ["app", "naive", "expect"], "only a scenario without 'apps'")
    }
  }

  private init() {
    self.init(
      seed: 1, accessories: [], apps: [], steps: [], faults: [], speed: .init(), deviceLink: SoakLinkChoices(),
      deviceWindow: 127, deviceLength: 65_535, policy: .ready, firstSession: 1, length: .zero)
  }

  /// Returns the text of the plan's file, which begins with a comment. Values that equal their defaults are omitted.
  public func fileText(description: String, comment: String = "") -> String {
    var plan = self
    plan.about.summary = description
    return JSON5Writer.write(plan.tree, under: comment)
  }

  /// A description of the size of the plan, for example "5 steps, 2 faults, 3 sessions".
  public var size: String {
    let sessions = apps.reduce(0) { $0 + $1.sessions.count }
    return [steps.count.counted("step"), faults.count.counted("fault"), sessions.counted("session")].joined(
      separator: ", ")
  }
}

// MARK: - Parts

extension Format<[SoakPlan.App]> {
  fileprivate static let apps: Format = Format<[Named<SoakPlan.App>]>.named(of: .object(SoakPlan.App.format)).map {
    apps in
    apps.map { named in
      var app = named.value
      app.name = named.name
      return app
    }
  } back: { apps in
    apps.map { Named($0.name, $0) }
  }
}

extension Format<[SoakPlan.Accessory]> {
  fileprivate static func accessories(_ profiles: ProfileLibrary) -> Format {
    Format<[Named<SoakPlan.Accessory>]>.named(atLeast: 1) { name in
      .object(SoakPlan.Accessory.format(Scenario.Part.format(named: name, profiles)))
    }.map { accessories in
      accessories.map { named in
        var accessory = named.value
        accessory.profile.name = named.name
        return accessory
      }
    } back: { accessories in
      accessories.map { Named($0.name, $0) }
    }
  }
}

extension SoakPlan.Accessory {
  private var part: Scenario.Part {
    get { Scenario.Part(name: "", profile: profile) }
    set { profile = newValue.profile }
  }

  fileprivate static func format(_ part: Record<Scenario.Part>) -> Record<Self> {
    Record("accessory with apps", part.summary, Self(profile: part.base.profile, link: SoakLinkChoices())) {
      part.fields(at: \.part)
      Field("link", \.link, SoakLinkChoices.format)
      Field(
        "streams", \.streams, .optional(.list(of: SoakStreamPlan.format, count: 1...Int.max)),
        "the streams for the accessory's successive sessions, in rotation; default: echo")
    }
  }
}

private let amounts = 0...1_000_000_000

extension SoakPlan.App {
  fileprivate static let format = Record(
    "app of several", "an app that opens the given sessions, in order, as accessories appear",
    SoakPlan.App(sessions: [], patience: .zero, isRude: false)
  ) {
    Field("sessions", \.sessions, .list(of: SoakStreamPlan.format), "the app's sessions", isAlwaysWritten: true)
    Field(
      "patience", \.patience, .duration(.zero...Scenario.longest),
      "how long the app waits before it opens a session, after an accessory appears or the previous session ends")
    Field(
      "rude", \.isRude, .boolean, "whether the app also tries to open sessions with accessories that offer no protocols"
    )
  }
}

extension SoakLinkChoices {
  fileprivate static let format = Record(
    "link", "with apps: link settings that are not available in profiles", SoakLinkChoices()
  ) {
    Field("initialSequence", \.initialSequence, .integer(0...255), "the sequence number of the first SYN")
    Field(
      "extendedAcknowledgement", \.extendedAcknowledgement,
      .words([("never", 0), ("received", 1), ("missing", 2)]), "the kind of extended acknowledgement to send")
    Field(
      "cumulativeAcknowledgements", \.cumulativeAcknowledgements, .optional(.integer(0...127)),
      "maximum number of packets per acknowledgement; default: the profile's")
    Field("repeatsOldestOnly", \.repeatsOldestOnly, .boolean, "whether a timeout retransmits only the oldest packet")
    Field("timesFromEach", \.timesFromEach, .boolean, "whether the acknowledgement timer restarts with each packet")
    Field("keepsAhead", \.keepsAhead, .boolean, "whether to keep packets that arrive after a missing one")
    Field(
      "offersAgain", \.offersAgain, .boolean,
      "whether an accessory makes another offer if the answer has different recovery values")
    Field(
      "answersOwnRecovery", \.answersOwnRecovery, .boolean, "whether a device answers with its own recovery values")
    Field(
      "receiveBound", \.receiveBound, .integer(1...amounts.upperBound), "maximum number of unread bytes in a session")
    Field(
      "sendBound", \.sendBound, .integer(1...amounts.upperBound), "maximum number of unsent bytes in a session")
  }
}

extension SoakStreamPlan {
  fileprivate static let format = Format.object(
    Record("stream", "what one end of a session writes and reads; easim checks every byte read", Self()) {
      Field(
        "protocol", \.protocolNumber, .integer(0...254),
        "the index of the protocol on which an app opens the session, modulo the accessory's number of protocols")
      Field("bytes", \.bytes, .integer(amounts), "number of bytes to write", isAlwaysWritten: true)
      Field(
        "chunk", \.chunk, .integer(1...amounts.upperBound), "maximum bytes per write",
        standard: Standard("all") { max(1, $0.bytes) })
      Field("think", \.think, .duration(.zero...Scenario.longest), "pause between writes")
      Field(
        "readBytes", \.readBytes, .optional(.integer(1...amounts.upperBound)),
        "for a slow reader: number of bytes per read")
      Field(
        "readEvery", \.readEvery, .optional(.duration(.nanoseconds(1)...Scenario.longest)),
        "for a slow reader: the pause between reads")
      Field("stopsAfter", \.stopsAfter, .optional(.integer(amounts)), "number of bytes after which reading stops")
      Field(
        "resumesAfter", \.resumesAfter, .optional(.duration(.zero...Scenario.longest)),
        "how long reading stops; default: until the end")
      Field(
        "closes", \.closing, .closing,
        "when to close the session: after writing everything (afterWriting), or a given time after the session "
          + "opens; default: never")
    }.checked { _, object in
      let slow = ["readBytes", "readEvery"].filter { object.value($0) != nil }
      if slow.count == 1 { object.error(slow[0], "'readBytes' and 'readEvery' must be given together") }
      if object.value("resumesAfter") != nil, object.value("stopsAfter") == nil {
        object.error("resumesAfter", "'resumesAfter' needs 'stopsAfter'")
      }
      if object.value("stopsAfter") != nil, !slow.isEmpty {
        object.error(
          "stopsAfter", "a reader can be slow or stop, but not both: omit 'stopsAfter', or 'readBytes' and 'readEvery'")
      }
    })

  // The following keys together set ``reading``, in the order listed. Combinations that would need a different order
  // are rejected.

  private var readBytes: Int? {
    get { if case .slow(let bytes, _) = reading { bytes } else { nil } }
    set { if let newValue { reading = .slow(bytes: newValue, every: readEvery ?? .zero) } }
  }

  private var readEvery: Duration? {
    get { if case .slow(_, let every) = reading { every } else { nil } }
    set { if let newValue { reading = .slow(bytes: readBytes ?? 1, every: newValue) } }
  }

  private var stopsAfter: Int? {
    get { if case .stops(let after, _) = reading { after } else { nil } }
    set { if let newValue { reading = .stops(after: newValue, resumes: resumesAfter) } }
  }

  private var resumesAfter: Duration? {
    get { if case .stops(_, let resumes) = reading { resumes } else { nil } }
    set { if let newValue { reading = .stops(after: stopsAfter ?? 0, resumes: newValue) } }
  }
}

extension Format<SoakStreamPlan.Closing> {
  fileprivate static let closing = Format(
    .either([.words(["afterWriting"]), .duration(.zero...Scenario.longest)])
  ) { value, place in
    if value.content == .text("afterWriting") { return .afterWriting }
    return Format<Duration>.duration(.zero...Scenario.longest).read(value, at: place).map { .after($0) }
  } write: { closing in
    switch closing {
    case .never: .null
    case .afterWriting: .text("afterWriting")
    case .after(let time): .duration(time)
    }
  }
}
