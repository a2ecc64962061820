import AccessoryFormats
import Testing

@testable import AccessoryLoad

@Suite struct BurstRateTests {
  @Test(arguments: [
    ("50", 50.0), ("0.5/s", 0.5), ("7500B/s", 0.75), ("100kB/s", 10), ("100KB/s", 10), ("2.5MB/s", 250),
  ]) func ratesAreBurstsOrBytes(text: String, bursts: Double) throws {
    #expect(abs(try BurstRate(text).burstsPerSecond(size: 10_000) - bursts) < 1e-9)
  }

  @Test(arguments: ["", "fast", "-5", "1e5", "0", "B/s", "5 B/s", "1.2.3", "5000MB/s", "٥"])
  func whatIsNoRateIsQuoted(text: String) {
    #expect(throws: OptionError.self) { try BurstRate(text) }
  }
}
