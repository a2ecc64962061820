import AccessoryFaults
import AccessoryFormats
import Testing

@Suite struct FaultTextTests {
  func error(_ text: String) -> String? {
    do throws(SourceProblems) {
      _ = try Fault(text)
      return nil
    } catch {
      return error.description
    }
  }

  @Test func aFaultIsReadAndWrittenBack() throws {
    let fault = try Fault("loss,chance=5%,in,after=2s,for=500ms")
    var loss = Fault.Loss()
    loss.packets.chance = .percent(5)
    #expect(fault.effect == .loss(loss))
    #expect(fault.name == "loss")
    #expect(fault.directions == [.in])
    #expect(fault.after == .seconds(2))
    #expect(fault.length == .milliseconds(500))
    #expect(fault.description == "loss,chance=5%,direction=in,after=2s,for=500ms")
    #expect(try Fault(fault.description) == fault)
  }

  @Test func withoutParametersItHasItsDefaults() throws {
    let fault = try Fault("latency,delay=50ms")
    #expect(fault.directions == [.in, .out])
    #expect(fault.after == .zero)
    #expect(fault.length == nil)
    #expect(fault == Fault(.latency(Fault.Latency())))
    #expect(try Fault("half-dead").directions == [.out])
    // No delay is chosen in silence.
    #expect(throws: SourceProblems.self) { try Fault("latency") }
  }

  @Test func aMistakeIsNamedWithTheFaultItsPlaceAndTheNearestRightForm() {
    #expect(error("los,chance=5%") == "fault 'los,chance=5%': unknown fault 'los', did you mean 'loss'?")
    #expect(
      error("loss,chanse=5%")
        == "fault 'loss,chanse=5%', column 6: unknown key 'chanse' in fault loss, did you mean 'chance'?")
    #expect(
      error("latency,delay=50ms,jitter=2")?.hasPrefix("fault 'latency,delay=50ms,jitter=2', column 20: jitter: ")
        == true)
    #expect(error("")?.hasPrefix("fault '': unknown fault '': expected 'latency', 'rate'") == true)
  }

  @Test(arguments: Fault.format.shape.kinds.map(\.name))
  func everyFaultExplainsItselfAndItsParameters(name: String) throws {
    let kind = try #require(Fault.format.shape.kinds.first { $0.name == name })
    #expect(!kind.summary.isEmpty && !kind.summary.contains("\n"))
    #expect(Set(kind.fields.map(\.key)).count == kind.fields.count)
    #expect(kind.fields.suffix(3).map(\.key) == ["direction", "after", "for"])
    let required = kind.fields.filter(\.isRequired)
    #expect(required.allSatisfy { $0.key == "delay" })
    let least = required.isEmpty ? name : "\(name),delay=50ms"
    for field in kind.fields {
      #expect(!field.summary.isEmpty && !field.shape.range.isEmpty)
      if field.isRequired { continue }
      // A default that is written out is read as itself.
      let standard = try #require(field.standard)
      #expect(try Fault("\(least),\(field.key)=\(standard.word)") == Fault(least))
    }
    // A bare word must mean one thing.
    let words = kind.fields.flatMap { field in if case .words(let words) = field.shape { words } else { [String]() } }
    #expect(Set(words).count == words.count)
  }

  @Test func namesAreUnique() {
    #expect(Set(Fault.format.names).count == Fault.format.names.count)
  }
}
