import AccessoryCore
import TestSupport
import Testing

@Suite struct RateTests {
  @Test(arguments: [7_500, 100_000])
  func bytesPassAtTheRateToAPercent(rate: Int) throws {
    let rig = try FaultRig("rate,bytes=\(rate),out")
    rig.start()
    let writer = Writer(rig.left, count: rate * 10)
    rig.atLeft.onWritable = { writer.write() }
    writer.write()
    try rig.loop.runUntilQuiet()
    #expect(rig.atRight.bytes.count == rate * 10)
    let seconds = try #require(rig.arrivals.last)
    #expect((9.9...10.1).contains(seconds))
    // And not all at the end: half of the bytes after half of the time.
    let half = zip(rig.arrivals, rig.atRight.receptions).filter { $0.0 <= seconds / 2 }.map(\.1).reduce(0, +)
    #expect(abs(half - rate * 5) < rate / 10)
  }

  @Test func aByteTakesItsTimeWhenTheRateIsTiny() throws {
    let rig = try FaultRig("rate,bytes=1,out")
    rig.start()
    rig.left.send("abc")
    try rig.loop.runUntilQuiet()
    #expect(rig.arrivals == [1, 2, 3])
    #expect(rig.atRight.text == "abc")
  }

  @Test func aRateIsOverWithItsTimeThoughTheLineIsNeverEmpty() throws {
    let rig = try FaultRig("rate,bytes=1000,for=2s,out")
    rig.start()
    let writer = Writer(rig.left, count: 50_000)
    rig.atLeft.onWritable = { writer.write() }
    writer.write()
    try rig.loop.advance(by: .milliseconds(1_990))
    #expect((1_900...2_000).contains(rig.atRight.bytes.count))
    // The bytes on the line still take their time, and then nothing slows down the rest.
    try rig.loop.advance(by: .seconds(5))
    #expect(rig.atRight.bytes.count == 50_000)
  }

  @Test func anIdleLineSavesNoTimeUp() throws {
    let rig = try FaultRig("rate,bytes=1000,out")
    rig.start()
    try rig.loop.advance(by: .seconds(5))
    rig.left.send([UInt8](repeating: 1, count: 10))
    try rig.loop.runUntilQuiet()
    #expect(rig.arrivals == [5.01])
  }
}

/// Writes so many bytes as room appears.
final class Writer {
  private let channel: any Channel
  private var left: Int

  init(_ channel: any Channel, count: Int) {
    self.channel = channel
    left = count
  }

  func write() {
    while left > 0 {
      let taken = channel.send([UInt8](repeating: 0x55, count: min(left, 10_000)))
      left -= taken
      if taken == 0 { return }
    }
  }
}
