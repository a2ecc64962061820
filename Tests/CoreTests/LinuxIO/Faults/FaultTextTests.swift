import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import TestSupport
import Testing

@Suite struct FaultTextTests {
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
    // A `latency` fault without a delay is refused, because there is no default.
    #expect(throws: SourceProblems.self) { try Fault("latency") }
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
      // Specifying the default explicitly yields the same value.
      let standard = try #require(field.standard)
      #expect(try Fault("\(least),\(field.key)=\(standard.word)") == Fault(least))
    }
    // A word that is given without a key must belong to only one parameter.
    let words = kind.fields.flatMap { field in if case .words(let words) = field.shape { words } else { [String]() } }
    #expect(Set(words).count == words.count)
  }
}

@Suite struct LinkPresetTests {
  @Test func everyPresetIsAChainThatCanBeWrittenAndRead() throws {
    #expect(
      LinkPreset.all.map(\.name) == [
        "bluetooth", "bluetooth-scanning", "bluetooth-hfp", "big-writes", "usb-high-speed",
      ])
    for preset in LinkPreset.all {
      #expect(try LinkPreset.faults(preset.name) == preset.faults)
      #expect(try preset.faults.map { try Fault($0.description) } == preset.faults)
      #expect(!Fault.format.names.contains(preset.name))
      #expect(!preset.summary.isEmpty)
    }
  }

  /// Each case has a preset, a number of seconds, and the number of bytes that pass in that time at the rate that users
  /// reported.
  @Test(arguments: [("bluetooth", 10, 75_000), ("bluetooth-scanning", 10, 48_750), ("bluetooth-scanning", 40, 247_500)])
  func aBluetoothLinkPassesWhatWasMeasured(name: String, seconds: Int, bytes: Int) throws {
    let rig = try FaultRig(chain: try LinkPreset.faults(name))
    let writer = Writer(rig.left, count: 1_000_000)
    rig.atLeft.onWritable = { writer.write() }
    writer.write()
    try rig.loop.advance(by: .seconds(seconds))
    #expect(abs(rig.atRight.bytes.count - bytes) <= bytes / 50)
  }
}
