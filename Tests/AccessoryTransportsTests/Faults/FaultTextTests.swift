import AccessoryCore
import AccessoryTransports
import Testing

@Suite struct FaultTextTests {
  func error(_ text: String) -> String? {
    do throws(FaultTextError) {
      _ = try Fault(text)
      return nil
    } catch {
      return error.description
    }
  }

  @Test func aFaultIsReadAndWrittenBack() throws {
    let fault = try Fault("loss,chance=5%,in,after=2s,for=500ms")
    #expect(fault.name == "loss")
    #expect(fault.arguments.chance("chance") == .percent(5))
    #expect(fault.directions == [.in])
    #expect(fault.after == .seconds(2))
    #expect(fault.length == .milliseconds(500))
    #expect(fault.description == "loss,chance=5%,direction=in,after=2s,for=500ms")
    #expect(try Fault(fault.description) == fault)
  }

  @Test func withoutParametersItHasItsDefaults() throws {
    let fault = try Fault("latency")
    #expect(fault.directions == [.in, .out])
    #expect(fault.after == .zero)
    #expect(fault.length == nil)
    #expect(fault == Fault(.latency))
    #expect(try Fault("half-dead").directions == [.out])
  }

  @Test func aMistakeIsNamedWithTheFaultItsPlaceAndTheNearestRightForm() {
    #expect(error("los,chance=5%") == "fault 'los,chance=5%': unknown fault 'los', did you mean 'loss'?")
    #expect(
      error("loss,chanse=5%")
        == "fault 'loss,chanse=5%': column 6: the fault 'loss' has no parameter 'chanse', did you mean 'chance'?")
    #expect(
      error("latency,delay=50ms,jitter=2")?.hasPrefix("fault 'latency,delay=50ms,jitter=2': column 20: jitter: ")
        == true)
    #expect(error("")?.hasPrefix("fault '': unknown fault '': expected 'latency', 'rate'") == true)
  }

  @Test(arguments: FaultDefinition.all)
  func everyFaultExplainsItselfAndItsParameters(definition: FaultDefinition) throws {
    #expect(FaultDefinition.named(definition.name) == definition)
    #expect(!definition.summary.isEmpty && !definition.summary.contains("\n"))
    #expect(Set(definition.parameters.map(\.name)).count == definition.parameters.count)
    #expect(definition.parameters.suffix(3).map(\.name) == ["direction", "after", "for"])
    for parameter in definition.parameters {
      #expect(!parameter.summary.isEmpty && !parameter.range.isEmpty)
      // A default that is written out is read as itself.
      #expect(parameter.admits(parameter.standard))
      let text = "\(definition.name),\(parameter.name)=\(parameter.standard)"
      #expect(try Fault(text).arguments.value(parameter.name) == parameter.standard)
    }
    // A bare word must mean one thing.
    let words = definition.parameters.flatMap(\.words)
    #expect(Set(words).count == words.count)
  }

  @Test func namesAreUnique() {
    #expect(Set(FaultDefinition.all.map(\.name)).count == FaultDefinition.all.count)
  }
}
