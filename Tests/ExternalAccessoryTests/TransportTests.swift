import ExternalAccessory
import ExternalAccessorySimulation
import Testing

/// Tests what apps can see of the pipe between the app and the system (T16 and T17).
@Suite struct TransportTests {
  /// Reports show that on Apple's systems the streams are a socket pair (`useSocketInterface`, error 32). easim's
  /// streams are not sockets, but at each step they behave like a socket that never blocks. Where a write to a socket
  /// would raise SIGPIPE, the process must survive.
  @Test func t9AndT16StreamsTakeKeepAndBreakOffBytesAsASocketPairDoes() async throws {
    try await withOpenSession(.with { $0.bufferSizes = 10_000 }) { world, parts in
      let (input, output) = (try #require(parts.session.inputStream), try #require(parts.session.outputStream))
      func read(_ limit: Int) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: limit)
        return Array(buffer[..<input.read(&buffer, maxLength: limit)])
      }
      input.open()
      output.open()
      parts.far.send(counting(10))
      await world.settle()
      #expect(read(4) == [0, 1, 2, 3])
      // Even though the peer is not reading, a limited number of bytes is still accepted.
      #expect(parts.session.write(counting(1_000_000)) == 10_000)
      #expect(parts.session.write([1]) == 0)
      await world.settle()
      #expect(parts.far.received == counting(10_000))
      #expect(parts.session.write([7, 8]) == 2)
      parts.far.send([42])
      await world.settle()
      parts.far.close()
      await world.settle()
      // The bytes that had already arrived can still be read. After those bytes, every read reports the end of the
      // stream.
      #expect([read(4), read(100), read(100), read(100)] == [[4, 5, 6, 7], [8, 9, 42], [], []])
      #expect(parts.session.write([1]) == -1)
      #expect((output.streamError as? POSIXError)?.code == .EPIPE)
      #expect(output.streamStatus == .error)
    }
  }

  /// Only the first bytes cause an event. According to the report from the field, `hasBytesAvailable` also never
  /// returned. easim does not reproduce that, and docs/external-accessory.md describes what was tried.
  @Test func t17BytesAreToldOfOnceAndNeverAgain() async throws {
    try await withOpenSession(.with { $0.rules.announcesBytesOnce = true }) { world, parts in
      let recorder = parts.session.listen()
      for byte in 1...3 as ClosedRange<UInt8> {
        parts.far.send([byte])
        await world.advance(by: .seconds(10))
      }
      #expect(recorder.all.filter { $0 == "in bytes" }.count == 1)
      #expect(recorder.received == [1])
      #expect(parts.session.inputStream?.hasBytesAvailable == false)
      // The output stream still works, and the end of the session is reported.
      #expect(parts.session.write([9]) == 1)
      await world.settle()
      parts.far.close()
      await world.settle()
      #expect(parts.far.received == [9])
      #expect(recorder.all.suffix(2).contains("out end"))
    }
  }
}
