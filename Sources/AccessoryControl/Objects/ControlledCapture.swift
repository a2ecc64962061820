import AccessoryCables
import AccessoryFaults
import AccessoryFormats
import AccessorySessions

/// A recording of cables, as pcapng or as a transcript. Clients can start and stop a recording while the cables are in
/// use.
///
/// The bytes are kept in memory, so that clients can read them. If the server keeps files, the bytes are also written
/// to a file. When the limit is reached, the recording stops, but the file remains valid.
final class ControlledCapture {
  static let mostCaptures = 1_000
  static let mostBytes = 256 << 20

  enum Form: String, CaseIterable, Sendable {
    case pcapng
    case transcript

    var ending: String { self == .pcapng ? "pcapng" : "txt" }
  }

  enum Subject {
    case world
    case accessory(ControlledAccessory)
    case host(ControlledHost)
  }

  let id: String
  let world: ControlWorld
  let form: Form
  let subject: Subject
  let limit: Int
  private(set) var bytes: [UInt8] = []
  private(set) var isRecording = true
  /// How many blocks or lines were dropped because there was no room for them.
  private(set) var lostCount = 0
  private(set) var failure: String?
  private let key: Int
  private var recorder: CaptureRecorder?
  private var file: KeptFile?

  init(_ id: String, _ key: Int, _ choices: CaptureChoices, of subject: Subject, in world: ControlWorld) {
    (self.id, self.key, self.world, self.subject) = (id, key, world, subject)
    (form, limit) = (choices.form, choices.limit)
    let settings = world.server.settings
    do { file = try settings.kept?.makeCapture(name) } catch { failure = "\(error)" }
    if form == .pcapng {
      recorder = CaptureRecorder(
        program: "easim \(settings.version)", epoch: world.virtual == nil ? settings.epoch : 0,
        comment: "easim capture \(id)"
      ) { [weak self] in self?.add($0) }
    }
    for taps in self.taps { watch(taps.taps, taps.name) }
  }

  var name: String { "\(id).\(form.ending)" }

  // MARK: Recording

  private var taps: [(taps: CableTaps, name: String)] {
    switch subject {
    case .accessory(let accessory): [(accessory.taps, accessory.profile.identity.name)]
    case .host(let host): [(host.taps, host.address.description)]
    case .world:
      world.accessories.map { ($0.taps, $0.profile.identity.name) }
        + world.hosts.map { ($0.taps, $0.address.description) }
        + world.proxies.map { ($0.taps, $0.accessory.description) }
    }
  }

  /// Adds an object that is new in the world, if the capture records the whole world.
  func include(_ taps: CableTaps, _ name: String) {
    if case .world = subject, isRecording { watch(taps, name) }
  }

  private func watch(_ taps: CableTaps, _ name: String) {
    taps.add(key) { [weak self, id] cable, protocolName in
      guard let self else { return Transcript { _ in } }
      if let recorder {
        return recorder.witness(named: "\(id):\(cable)", description: name, side: protocolName)
      }
      return Transcript(of: protocolName) { [weak self] line in self?.add(Array("\(line)\n".utf8)) }
    }
  }

  func note(_ event: TimelineEvent) {
    guard isRecording, let recorder else { return }
    var serial: String?
    if case .accessory(let accessory) = subject { serial = accessory.profile.identity.serialNumber }
    guard serial == nil || event.subject == nil || event.subject?.serial == serial else { return }
    recorder.note(world.server.settings.eventText(event), at: event.time)
  }

  private func add(_ block: [UInt8]) {
    guard isRecording else { return }
    guard lostCount == 0, bytes.count + block.count <= limit else {
      lostCount += 1
      return
    }
    bytes += block
    guard let file, let error = file.write(block) else { return }
    failure = error
    self.file = nil
  }

  func stop() {
    guard isRecording else { return }
    isRecording = false
    for entry in taps { entry.taps.remove(key) }
    recorder = nil
    file?.close()
    file = nil
  }

  /// How much of the memory shared by all captures is reserved for this one, in bytes.
  var reserved: Int { isRecording ? limit : bytes.count }

  var path: String { "/captures/\(name)" }

  static let answer = Answer<ControlledCapture>("capture state", "a capture and its state") {
    Key("capture", .text, "the capture's id") { $0.id }
    Key("world", .text, "the id of the capture's world") { $0.world.id }
    Key(optional: "accessory", .text, "the accessory, if the capture records a single accessory") {
      if case .accessory(let accessory) = $0.subject { accessory.id } else { nil }
    }
    Key(optional: "host", .text, "the address, if the capture records a single address") {
      if case .host(let host) = $0.subject { host.id } else { nil }
    }
    Key("form", .choice, "the capture's format") { $0.form }
    Key("recording", .boolean, "whether the capture is still recording") { $0.isRecording }
    Key("bytes", .natural, "number of bytes recorded") { $0.bytes.count }
    Key("limit", .natural, "maximum number of bytes") { $0.limit }
    Key("lost", .natural, "number of packets or lines dropped beyond the limit") { $0.lostCount }
    Key("path", .text, "the path from which an HTTP `GET` downloads the capture") { $0.path }
    Key(optional: "failure", .text, "why the capture's file in the --keep folder is incomplete") { $0.failure }
  }
}

extension ControlServer {
  /// The cables of an accessory, which the program can record without using the control protocol.
  package struct Recordable {
    package let id: String
    package let name: String
    /// The accessory's world, or the address where the accessory is plugged in.
    package let place: String
    /// The time at which the clock of the accessory's world showed zero, in nanoseconds since 1970.
    package let epoch: Int64
    /// The observers of the accessory's cables, by key. Positive keys are used by the server itself.
    package let taps: CableTaps

    package init(id: String, name: String, place: String, epoch: Int64, taps: CableTaps) {
      (self.id, self.name, self.place, self.epoch, self.taps) = (id, name, place, epoch, taps)
    }
  }

  package var recordables: [Recordable] {
    accessories.all.map {
      Recordable(
        id: $0.id, name: $0.profile.identity.name, place: $0.port?.place ?? "world \($0.world.id)",
        epoch: $0.world.virtual == nil ? settings.epoch : 0, taps: $0.taps)
    }
  }

  /// Returns the media type and the bytes of the capture at a path such as `/captures/c1.pcapng`.
  package func capture(at path: String) -> (type: String, bytes: [UInt8])? {
    guard let capture = captures.all.first(where: { $0.path == path }) else { return nil }
    let type = capture.form == .pcapng ? "application/vnd.tcpdump.pcap" : "text/plain; charset=utf-8"
    return (type, capture.bytes)
  }
}

struct CaptureChoices: Equatable, Sendable {
  var world = "main"
  var accessory: String?
  var host: String?
  var form = ControlledCapture.Form.pcapng
  var limit = 16 << 20

  static let format = Record("capture choices", "", CaptureChoices()) {
    Field("world", \.world, .text, "record every cable in this world, including cables plugged in later")
    Field("accessory", \.accessory, .optional(.text), "record only the cables of this accessory")
    Field("host", \.host, .optional(.text), "record only the cables to this address (the id from `host.add`)")
    Field("form", \.form, .choice, "pcapng: for Wireshark and `easim decode`; transcript: one line per packet")
    Field(
      "limit", \.limit, .integer(1_024...ControlledCapture.mostBytes),
      "maximum number of bytes to keep; recording ends at this limit")
  }
}
