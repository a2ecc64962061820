import AccessoryCables
import AccessoryHost
import LinuxIO
import Testing

@Suite struct LocalCardTests {
  let entry: LocalEntry

  init() throws { entry = try #require(LocalEntry("k3x9qa-2", in: LocalDirectory("/local"))) }

  let card = LocalCard(
    PortAppearance(
      name: "李未可 \"View\"", serial: "S1", manufacturer: "李未可", model: "L\\1", protocols: ["com.example.a", "b"]),
    process: ProcessIdentity(pid: 4_711, startTime: 218_374), attachedAt: 1_763_691_954_123_456)

  func read(_ text: String) throws(LocalCardError) -> LocalCard { try LocalCard(reading: Array(text.utf8), of: entry) }

  static let card =
    #"{"v":1,"name":"Echo","serial":"S1","manufacturer":"m","model":"L","protocols":["a","b"],"pid":4711,"#
    + #""processStart":218374,"attachedAt":1763691954.123456,"socket":"k3x9qa-2.sock"}"#

  @Test func aCardIsOneObjectOnOneLine() throws {
    let card = LocalCard(
      PortAppearance(name: "Echo", serial: "S1", manufacturer: "m", model: "L", protocols: ["a", "b"]),
      process: ProcessIdentity(pid: 4_711, startTime: 218_374), attachedAt: 1_763_691_954_123_456)
    #expect(card.json(socket: entry.socketFile) == Self.card)
    #expect(try read(Self.card) == card)
  }

  @Test func aCardOfALaterKindWithMoreInItReadsAsWell() throws {
    let text = card.json(socket: entry.socketFile).dropLast() + ",\"color\":{\"red\":1}}"
    #expect(try read(String(text)) == card)
  }

  @Test(arguments: [
    ("", "1:1: the file is empty"), ("[]", ":1:1: expected an object, found a list"),
    ("{}", ":1:1: the key 'v' is missing"), (#"{"v":2}"#, "written by another version of easim (v 2)"),
    (Self.card.replacing("k3x9qa-2.sock", with: "../../etc/passwd"), "its socket must be k3x9qa-2.sock"),
    (
      Self.card.replacing(":4711", with: ":0"),
      ":1:95: pid: expected a whole number from 1 to 2147483647, found number 0"
    ),
    (Self.card.replacing(#""S1""#, with: #"["x"]"#), "serial: expected text, found a list"),
    (Self.card.replacing(#""b"]"#, with: "5]"), "protocols[1]: expected text, found number 5"),
    (Self.card.replacing(#""model""#, with: #""modl""#), "the key 'model' is missing"),
  ])
  func whatIsWrongWithACardIsSaid(text: String, complaint: String) {
    let error = #expect(throws: LocalCardError.self) { try read(text) }
    #expect(error?.description.contains(complaint) == true, "\(error?.description ?? "none")")
    #expect(error?.description.contains("/local/k3x9qa-2.json") == true)
  }

  @Test func aCardCutAnywhereIsAnErrorAndNeverATrap() {
    let bytes = Array(card.json(socket: entry.socketFile).utf8)
    for count in bytes.indices {
      #expect(throws: LocalCardError.self) { try LocalCard(reading: Array(bytes[..<count]), of: entry) }
    }
  }
}
