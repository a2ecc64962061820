import ExternalAccessory
import ExternalAccessorySimulation
import Testing

/// Tests a common mistake (T7): a write accepts only some of the bytes, and the client ignores the result.
@Suite struct ShortWriteTests {
  /// A client, modeled on one in the field, that sends each message with a single write and ignores the result.
  private final class CarelessClient: NSObject, StreamDelegate, @unchecked Sendable {
    static let lineOfWrite = #line + 12
    private var messages: [[UInt8]]
    private let usesPointers: Bool

    init(_ messages: [[UInt8]], usesPointers: Bool = false) {
      (self.messages, self.usesPointers) = (messages, usesPointers)
    }

    func stream(_ stream: Stream, handle event: Stream.Event) {
      guard event == .hasSpaceAvailable, let output = stream as? OutputStream, !messages.isEmpty else { return }
      let message = messages.removeFirst()
      guard usesPointers else {
        _ = output.write(message, maxLength: message.count)
        return
      }
      send(message, to: output)
    }

    static let lineOfPointer = #line + 4

    private func send(_ message: [UInt8], to output: OutputStream) {
      message.withUnsafeBufferPointer { bytes in
        if let start = bytes.baseAddress { _ = output.write(start, maxLength: bytes.count) }
      }
    }
  }

  /// A client that keeps the remaining bytes and writes them later, in pieces.
  private final class CarefulClient: NSObject, StreamDelegate, @unchecked Sendable {
    private var rest: [UInt8]
    private let piece: Int

    init(_ messages: [[UInt8]], piece: Int) { (rest, self.piece) = (Array(messages.joined()), piece) }

    func stream(_ stream: Stream, handle event: Stream.Event) {
      guard event == .hasSpaceAvailable, let output = stream as? OutputStream, !rest.isEmpty else { return }
      rest.removeFirst(max(0, output.write(rest, maxLength: min(piece, rest.count))))
    }
  }

  private func start(_ client: any StreamDelegate, _ parts: Open) {
    parts.session.outputStream?.delegate = client
    parts.session.outputStream?.schedule(in: .main, forMode: .default)
    parts.session.outputStream?.open()
  }

  @Test(arguments: [1000, 10_000]) func aCarelessClientLosesBytesByDefaultAndItsLineIsNamed(
    size: Int
  ) async throws {
    try await withOpenSession { world, parts in
      let client = CarelessClient([counting(size)])
      start(client, parts)
      await world.advance(by: .seconds(1))
      #expect(parts.far.received == counting(997))
      try #require(world.misuses.count == 1)
      let named =
        "com.example.echo: write accepted 997 of \(size) bytes at ShortWriteTests.swift:\(CarelessClient.lineOfWrite) in "
      #expect(world.misuses[0].hasPrefix(named), "\(world.misuses[0])")
      #expect(world.misuses[0].contains("the rest was never written"))
    }
  }

  @Test func aCallWithAPointerIsNamedByTheStack() async throws {
    try await withOpenSession { world, parts in
      let client = CarelessClient([counting(3000)], usesPointers: true)
      start(client, parts)
      await world.advance(by: .seconds(1))
      try #require(world.misuses.count == 1)
      #expect(
        world.misuses[0].contains(
          "accepted 997 of 3000 bytes at ShortWriteTests.swift:\(CarelessClient.lineOfPointer) in "),
        "\(world.misuses[0])")
    }
  }

  @Test func aNextMessageInPlaceOfTheRestIsNamedAtOnce() async throws {
    try await withOpenSession { world, parts in
      let client = CarelessClient([counting(3000), [1, 2, 3]])
      start(client, parts)
      await world.advance(by: .seconds(1))
      #expect(parts.far.received == counting(997) + [1, 2, 3])
      #expect(world.misuses.count == 1)
    }
  }

  @Test func closingTheStreamBeforeTheRestWasWrittenIsNamed() async throws {
    try await withOpenSession { world, parts in
      parts.session.outputStream?.open()
      #expect(parts.session.write(counting(3000)) == 997)
      parts.session.outputStream?.close()
      parts.session.inputStream?.close()
      #expect(world.misuses.count == 1)
    }
  }

  @Test(arguments: [100, 997, 10_240, 32_768]) func t7AndT19ACarefulClientWritesTheRestLaterAndIsNotNamed(
    piece: Int
  ) async throws {
    try await withOpenSession { world, parts in
      let client = CarefulClient([counting(3000), [1, 2, 3], counting(10_000)], piece: piece)
      start(client, parts)
      await world.expect { parts.far.received == counting(3000) + [1, 2, 3] + counting(10_000) }
      #expect(world.misuses == [])
    }
  }

  @Test func anAccessoryThatGoesBeforeTheRestIsNoMisuse() async throws {
    try await withOpenSession { world, parts in
      parts.session.outputStream?.open()
      #expect(parts.session.write(counting(3000)) == 997)
      parts.simulated.pull()
      await world.settle()
      parts.session.outputStream?.close()
      parts.session.inputStream?.close()
      #expect(world.misuses == [])
    }
  }

  @Test func worldsVaryTheBufferByTheirSeed() async throws {
    var sizes: [Int] = []
    for seed in [1, 1, 2, 3] as [UInt64] {
      var settings = SimulatedWorld.Settings()
      (settings.seed, settings.variesSendBuffer) = (seed, true)
      try await withOpenSession(settings) { world, parts in
        parts.session.outputStream?.open()
        sizes.append(parts.session.write(counting(10_000)))
      }
    }
    #expect(sizes[0] == sizes[1])
    #expect(Set(sizes).count == 3, "\(sizes)")
    #expect(sizes.allSatisfy { (61...4095).contains($0) && !$0.isMultiple(of: 2) }, "\(sizes)")
  }
}
