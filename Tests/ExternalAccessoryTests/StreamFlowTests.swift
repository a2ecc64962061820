import ExternalAccessory
import ExternalAccessorySimulation
import Testing

/// Tests the bytes of streams (T). All bytes arrive, in order, and no faster than the slower end reads.
@Suite struct StreamFlowTests {
  @Test(arguments: SimulatedWorld.Settings.FullWrite.allCases)
  func t8AWriteWithoutSpaceTakesNothingAndIsRecorded(returns: SimulatedWorld.Settings.FullWrite) async throws {
    var settings = SimulatedWorld.Settings()
    settings.sendBufferSize = 100
    settings.fullWrite = returns
    try await withOpenSession(settings) { world, parts in
      parts.session.outputStream?.open()
      #expect(parts.session.write(counting(100)) == 100)
      #expect(parts.session.outputStream?.hasSpaceAvailable == false)
      #expect(parts.session.write([1]) == (returns == .zero ? 0 : -1))
      #expect(parts.session.outputStream?.streamStatus == .open)
      #expect(world.misuses.count == 1)
      await world.settle()
      #expect(parts.far.received == counting(100))
    }
  }

  @Test func t18AnAccessoryThatReadsNothingBringsWritesToAHalt() async throws {
    try await withOpenSession { world, parts in
      parts.far.isStalled = true
      parts.session.outputStream?.open()
      var written = 0
      while parts.session.outputStream?.hasSpaceAvailable == true, written < 10_000_000 {
        written += max(0, parts.session.write(counting(10_000)))
        await world.settle()
      }
      #expect(written < 10_000_000)
      #expect(parts.far.received == [])
      parts.far.isStalled = false
      await world.run { parts.far.received.count == written }
      #expect(parts.far.received.count == written)
    }
  }

  @Test(arguments: [128, 4096, 65536]) func t19TheReadSizesOfTheFieldAllGetEveryByte(
    size: Int
  ) async throws {
    try await withOpenSession { world, parts in
      let recorder = parts.session.listen(readSize: size)
      parts.far.send(counting(100_000))
      await world.run { recorder.received.count == 100_000 }
      #expect(recorder.received == counting(100_000))
    }
  }

  @Test func t20ASlowCableTakesItsTime() async throws {
    try await withOpenSession(.with { ($0.bytesPerSecond, $0.sendBufferSize) = (7500, 65536) }) { world, parts in
      parts.session.outputStream?.open()
      parts.session.write(counting(10_000))
      // Without the packets' headers, the transfer would take 1.33 s. With them, it takes a little longer.
      await world.advance(by: .milliseconds(1330))
      #expect(parts.far.received.count < 10_000)
      await world.advance(by: .milliseconds(120))
      #expect(parts.far.received == counting(10_000))
    }
  }

  @Test func t21WhatWasSentInOneGoCanBeReadUntilNothingIsAvailable() async throws {
    try await withOpenSession { world, parts in
      var messages: [[UInt8]] = []
      let recorder = StreamRecorder(parts.session, readSize: 0) { stream, event in
        guard event == .hasBytesAvailable, let input = stream as? InputStream else { return }
        var message: [UInt8] = []
        while input.hasBytesAvailable {
          var buffer = [UInt8](repeating: 0, count: 16)
          message += buffer[..<input.read(&buffer, maxLength: 16)]
        }
        messages.append(message)
      }
      parts.session.start(recorder)
      for message in [counting(40), counting(3)] {
        parts.far.send(message)
        await world.settle()
      }
      #expect(messages == [counting(40), counting(3)])
    }
  }

  @Test func aReadWithoutBytesReturnsZeroAndIsRecorded() async throws {
    try await withOpenSession { world, parts in
      parts.session.inputStream?.open()
      await world.settle()
      var buffer = [UInt8](repeating: 0, count: 16)
      #expect(parts.session.inputStream?.read(&buffer, maxLength: 16) == 0)
      #expect(parts.session.inputStream?.streamStatus == .open)
      #expect(world.misuses == [Misuse.readWithoutBytes("com.example.echo").description])
    }
  }
}
