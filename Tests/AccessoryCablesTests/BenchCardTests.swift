import AccessoryCables
import AccessoryHost
import AccessoryTransports
import Testing

@Suite struct BenchCardTests {
  let entry: BenchEntry

  init() throws { entry = try #require(BenchEntry("k3x9qa-2", in: BenchDirectory("/bench"))) }

  let card = BenchCard(
    name: "李未可 \"View\"", serial: "S1", manufacturer: "李未可", model: "L\\1", protocols: ["com.example.a", "b"],
    process: ProcessIdentity(pid: 4_711, startTime: 218_374), attachedAt: 1_763_691_954_123_456)

  func read(_ text: String) throws(BenchCardError) -> BenchCard { try BenchCard(reading: Array(text.utf8), of: entry) }

  @Test func aCardReadsAsItWasWritten() throws {
    #expect(try read(card.json(socket: entry.socketFile)) == card)
  }

  @Test func aCardOfALaterKindWithMoreInItReadsAsWell() throws {
    let text = card.json(socket: entry.socketFile).dropLast() + ",\"color\":{\"red\":1}}"
    #expect(try read(String(text)) == card)
  }

  @Test(arguments: [
    ("", "1:1: the file is empty"), ("[]", "expected a whole number under 'v', found nothing"),
    (#"{"v":2}"#, "written by another version of easim (v 2)"),
    (#"{"v":1,"socket":"../../etc/passwd"}"#, "its socket must be k3x9qa-2.sock"),
    (#"{"v":1,"socket":"k3x9qa-2.sock","pid":0}"#, "expected a process id under 'pid', found number 0"),
    (#"{"v":1,"socket":"k3x9qa-2.sock","pid":5,"name":["x"]}"#, "expected text under 'name', found a list"),
    (#"{"v":1,"socket":"k3x9qa-2.sock","pid":-5}"#, "expected a whole number under 'pid', found number -5"),
  ])
  func whatIsWrongWithACardIsSaid(text: String, complaint: String) {
    let error = #expect(throws: BenchCardError.self) { try read(text) }
    #expect(error?.description.contains(complaint) == true, "\(error?.description ?? "none")")
    #expect(error?.description.contains("/bench/k3x9qa-2.json") == true)
  }

  @Test func aCardCutAnywhereIsAnErrorAndNeverATrap() {
    let bytes = Array(card.json(socket: entry.socketFile).utf8)
    for count in bytes.indices {
      #expect(throws: BenchCardError.self) { try BenchCard(reading: Array(bytes[..<count]), of: entry) }
    }
  }
}
