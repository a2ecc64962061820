import AccessoryCore
import AccessoryFaults
import TestSupport
import Testing

@Suite struct FaultPresetTests {
  @Test func everyPresetIsAChainThatCanBeWrittenAndRead() throws {
    #expect(
      FaultPreset.all.map(\.name) == [
        "bluetooth", "bluetooth-scanning", "bluetooth-hfp", "big-writes", "usb-high-speed",
      ])
    for preset in FaultPreset.all {
      #expect(try FaultPreset.faults(preset.name) == preset.faults)
      #expect(try preset.faults.map { try Fault($0.description) } == preset.faults)
      #expect(!Fault.format.names.contains(preset.name))
      #expect(!preset.summary.isEmpty)
    }
  }

  @Test func anyFaultMayStandWhereAPresetMay() throws {
    #expect(try FaultPreset.faults("loss,chance=5%") == [try Fault("loss,chance=5%")])
  }

  @Test func aWrongNameGetsTheNearestOfBoth() {
    for (text, near) in [("bluetoth", "'bluetooth'"), ("los,chance=5%", "'loss'")] {
      #expect {
        try FaultPreset.faults(text)
      } throws: {
        "\($0)".contains("did you mean \(near)?")
      }
    }
  }

  /// Bytes that pass within so many seconds at the rate that the field reports.
  @Test(arguments: [("bluetooth", 10, 75_000), ("bluetooth-scanning", 10, 48_750), ("bluetooth-scanning", 40, 247_500)])
  func aBluetoothLinkPassesWhatWasMeasured(name: String, seconds: Int, bytes: Int) throws {
    let faults = try FaultPreset.faults(name).map(\.description)
    let rig = try FaultRig(faults)
    rig.start()
    let writer = Writer(rig.left, count: 1_000_000)
    rig.atLeft.onWritable = { writer.write() }
    writer.write()
    try rig.loop.advance(by: .seconds(seconds))
    #expect(abs(rig.atRight.bytes.count - bytes) <= bytes / 50)
  }

  @Test func onlyBigWritesCollapse() throws {
    let faults = try FaultPreset.faults("big-writes").map(\.description)
    func time(_ size: Int) throws -> Double {
      let rig = try FaultRig(faults)
      rig.start()
      rig.left.send([UInt8](repeating: 1, count: size))
      try rig.loop.runUntilQuiet()
      return try #require(rig.arrivals.last)
    }
    #expect(try time(2_048) == 0)
    #expect(try time(2_050) > 1)
  }
}
