import ExternalAccessory
import ExternalAccessorySimulation
import Testing

/// T: streams, their events and their bytes.
@Suite struct StreamTests {
  @Test(arguments: ["dos", "dso", "ods", "osd", "sdo", "sod"])
  func t1DelegateOpenAndScheduleMayComeInAnyOrder(order: String) async throws {
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      let ear = StreamEar(parts.session)
      for letter in order {
        for stream in [parts.session.inputStream, parts.session.outputStream] as [Stream?] {
          switch letter {
          case "d": stream?.delegate = ear
          case "o": stream?.open()
          default: stream?.schedule(in: .main, forMode: .default)
          }
        }
      }
      parts.far.send([7])
      await world.settle()
      #expect(ear.events(of: parts.session.inputStream) == [.openCompleted, .hasBytesAvailable])
      #expect(ear.events(of: parts.session.outputStream) == [.openCompleted, .hasSpaceAvailable])
      #expect(ear.received == [7])
    }
  }

  @Test(arguments: [RunLoop.Mode.default, .common, RunLoop.Mode("of our own")])
  func t2EventsComeOnTheThreadAndInTheModeOfTheSchedule(mode: RunLoop.Mode) async throws {
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      let (ear, session) = (StreamEar(parts.session), parts.session)
      let thread = LoopThread(mode: mode == .common ? .default : mode) {
        session.start(ear, on: .current, forMode: mode)
      }
      parts.far.send([1, 2, 3])
      await world.run { ear.received == [1, 2, 3] }
      #expect(ear.received == [1, 2, 3])
      #expect(ear.threads.allSatisfy { $0 === thread.thread })
      session.stop()
      thread.stop()
    }
  }

  @Test func t2NothingComesInAnotherMode() async throws {
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      let (ear, session) = (StreamEar(parts.session), parts.session)
      let thread = LoopThread(slice: 0.001, mode: RunLoop.Mode("another")) {
        session.start(ear, on: .current, forMode: RunLoop.Mode("ours"))
        // Something for the mode that runs, so that it waits.
        RunLoop.current.add(Timer(timeInterval: 0.001, repeats: true) { _ in }, forMode: RunLoop.Mode("another"))
      }
      parts.far.send([1])
      await world.settle()
      await world.run { thread.sliceCount > 20 }
      #expect(ear.all == [])
      session.stop()
      thread.stop()
    }
  }

  @Test func t2AnotherThreadsLoopCanBeScheduledOn() async throws {
    final class Slot: @unchecked Sendable { var loop: RunLoop? }
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      let (ear, slot) = (StreamEar(parts.session), Slot())
      let thread = LoopThread {
        slot.loop = .current
        RunLoop.current.add(Timer(timeInterval: 3600, repeats: true) { _ in }, forMode: .default)
      }
      parts.session.start(ear, on: try #require(slot.loop))
      parts.far.send([5])
      await world.run { ear.received == [5] }
      #expect(ear.received == [5], "\(ear.all) \(world.report)")
      #expect(ear.threads.allSatisfy { $0 === thread.thread })
      parts.session.stop()
      thread.stop()
    }
  }

  @Test func aClientWithAShortLimitBlocksAndDoesNotSpin() async throws {
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      let (ear, session) = (StreamEar(parts.session), parts.session)
      let thread = LoopThread(slice: 0.25) { session.start(ear, on: .current) }
      await world.run { ear.all.count == 3 }
      let (slices, begun) = (thread.sliceCount, Date())
      await world.run { thread.sliceCount >= slices + 3 }
      #expect(Date().timeIntervalSince(begun) > 0.4)
      #expect(thread.sliceCount < slices + 10)
      session.stop()
      thread.stop()
    }
  }

  @Test func t3OpenCompletedOncePerStream() async throws {
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      let ear = parts.session.listen()
      parts.session.inputStream?.open()
      await world.settle()
      #expect(ear.all.filter { $0.hasSuffix("open") } == ["in open", "out open"])
      #expect(parts.session.inputStream?.streamStatus == .open)
    }
  }

  @Test func t4BytesAreToldAgainWhileSomeAreLeftAfterARead() async throws {
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      let ear = parts.session.listen(readSize: 4)
      parts.far.send(counting(10))
      await world.settle()
      #expect(ear.all.filter { $0 == "in bytes" }.count == 3)
      #expect(ear.received == counting(10))
    }
  }

  @Test func t4BytesThatNobodyReadsAreToldOnce() async throws {
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      let ear = parts.session.listen(readSize: 0)
      parts.far.send([1])
      await world.settle()
      parts.far.send([2])
      await world.settle()
      #expect(ear.all.filter { $0 == "in bytes" }.count == 1)
    }
  }

  @Test func t5BytesCanBePolledFromAnyThreadWithoutDelegateOrSchedule() async throws {
    final class Poll: @unchecked Sendable {
      let lock = NSLock()
      var bytes: [UInt8] = []
      var all: [UInt8] { lock.withLock { bytes } }
    }
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      let (poll, session) = (Poll(), parts.session)
      session.inputStream?.open()
      parts.far.send(counting(3000))
      let ended = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        var buffer = [UInt8](repeating: 0, count: 512)
        while poll.all.count < 3000 {
          guard let input = session.inputStream, input.hasBytesAvailable else { continue }
          let count = input.read(&buffer, maxLength: 512)
          poll.lock.withLock { poll.bytes += buffer[..<max(0, count)] }
        }
        ended.signal()
      }
      await world.run { poll.all.count == 3000 }
      #expect(poll.all == counting(3000))
      #expect(session.inputStream?.hasBytesAvailable == false)
    }
  }

  @Test func t5APolledStreamSaysByItsStatusThatItIsAtItsEnd() async throws {
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      let (input, output) = (try #require(parts.session.inputStream), parts.session.outputStream)
      input.open()
      output?.open()
      parts.far.send([1, 2])
      await world.settle()
      parts.simulated.pull()
      await world.settle()
      #expect(input.streamStatus == .open)
      var buffer = [UInt8](repeating: 0, count: 16)
      #expect(input.read(&buffer, maxLength: 16) == 2)
      #expect(input.streamStatus == .atEnd)
      #expect(output?.streamStatus == .atEnd)
      #expect(output?.hasSpaceAvailable == false)
    }
  }

  @Test func t6SpaceIsToldAfterOpenAndAgainOnlyAfterAWrite() async throws {
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      let ear = parts.session.listen()
      await world.settle()
      await world.advance(by: .seconds(5))
      #expect(ear.all.filter { $0 == "out space" }.count == 1)
      parts.session.write([1])
      await world.settle()
      #expect(ear.all.filter { $0 == "out space" }.count == 2)
    }
  }

  @Test func t7AWriteTakesWhatThereIsRoomForAndTheTailGoesLater() async throws {
    var settings = SimulatedWorld.Settings()
    settings.bufferSize = 1000
    try await withSimulatedWorld(settings) { world in
      let parts = try await open(world)
      var rest = counting(2500)[...]
      let ear = StreamEar(parts.session) { stream, event in
        guard event == .hasSpaceAvailable, let output = stream as? OutputStream, !rest.isEmpty else { return }
        let count = output.write(Array(rest), maxLength: rest.count)
        rest = rest.dropFirst(max(0, count))
      }
      parts.session.outputStream?.open()
      let first = parts.session.write(Array(rest))
      #expect(first == 1000)
      rest = rest.dropFirst(first)
      parts.session.start(ear)
      await world.run { parts.far.received.count == 2500 }
      #expect(parts.far.received == counting(2500))
      #expect(world.misuses == [])
    }
  }

  @Test(arguments: SimulatedWorld.Settings.FullWrite.allCases)
  func t8AWriteWithoutSpaceTakesNothingAndIsRecorded(returns: SimulatedWorld.Settings.FullWrite) async throws {
    var settings = SimulatedWorld.Settings()
    settings.bufferSize = 100
    settings.fullWrite = returns
    try await withSimulatedWorld(settings) { world in
      let parts = try await open(world)
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
    try await withSimulatedWorld { world in
      let parts = try await open(world)
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

  @Test(arguments: [128, 512, 1024, 4096, 8192, 65536]) func t19TheReadSizesOfTheFieldAllGetEveryByte(
    size: Int
  ) async throws {
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      let ear = parts.session.listen(readSize: size)
      parts.far.send(counting(100_000))
      await world.run { ear.received.count == 100_000 }
      #expect(ear.received == counting(100_000))
    }
  }

  @Test(arguments: [10_000, 10_240, 32_768]) func t19TheBatchesOfTheFieldAllArriveWhole(size: Int) async throws {
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      var rest = counting(4 * size)[...]
      let ear = StreamEar(parts.session) { stream, event in
        guard event == .hasSpaceAvailable, let output = stream as? OutputStream, !rest.isEmpty else { return }
        rest = rest.dropFirst(max(0, output.write(Array(rest), maxLength: min(size, rest.count))))
      }
      parts.session.start(ear)
      await world.run { parts.far.received.count == 4 * size }
      #expect(parts.far.received == counting(4 * size))
    }
  }

  @Test func t20ASlowCableTakesItsTime() async throws {
    var settings = SimulatedWorld.Settings()
    settings.bytesPerSecond = 7500
    try await withSimulatedWorld(settings) { world in
      let parts = try await open(world)
      parts.session.outputStream?.open()
      parts.session.write(counting(10_000))
      // 1.33 s for the bytes, and a little for the packets around them.
      await world.advance(by: .milliseconds(1330))
      #expect(parts.far.received.count < 10_000)
      await world.advance(by: .milliseconds(120))
      #expect(parts.far.received == counting(10_000))
    }
  }

  @Test func t21WhatWasSentInOneGoCanBeReadUntilNothingIsAvailable() async throws {
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      var messages: [[UInt8]] = []
      let ear = StreamEar(parts.session, readSize: 0) { stream, event in
        guard event == .hasBytesAvailable, let input = stream as? InputStream else { return }
        var message: [UInt8] = []
        while input.hasBytesAvailable {
          var buffer = [UInt8](repeating: 0, count: 16)
          message += buffer[..<input.read(&buffer, maxLength: 16)]
        }
        messages.append(message)
      }
      parts.session.start(ear)
      for message in [counting(40), counting(3)] {
        parts.far.send(message)
        await world.settle()
      }
      #expect(messages == [counting(40), counting(3)])
    }
  }

  @Test func t22TheStreamsAreTheSameObjectsEveryTimeAndDoNotHoldTheirDelegate() async throws {
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      #expect(parts.session.inputStream === parts.session.inputStream)
      #expect(parts.session.outputStream === parts.session.outputStream)
      weak var delegate: StreamEar?
      do {
        let ear = StreamEar(parts.session)
        delegate = ear
        parts.session.start(ear)
        await world.settle()
        #expect(ear.all.contains("in open"))
      }
      #expect(delegate == nil)
      parts.far.send([1])
      await world.settle()
      #expect(parts.session.inputStream?.delegate == nil)
      #expect(parts.session.inputStream?.hasBytesAvailable == true)
    }
  }

  @Test func aReadWithoutBytesReturnsZeroAndIsRecorded() async throws {
    try await withSimulatedWorld { world in
      let open = try await open(world)
      open.session.inputStream?.open()
      await world.settle()
      var buffer = [UInt8](repeating: 0, count: 16)
      #expect(open.session.inputStream?.read(&buffer, maxLength: 16) == 0)
      #expect(open.session.inputStream?.streamStatus == .open)
      #expect(world.misuses == ["read without bytes available on com.example.echo: Apple's stream would wait"])
    }
  }

  @Test func inRealTimeTheSameBytesComeBack() async throws {
    var settings = SimulatedWorld.Settings()
    settings.clock = .real
    try await withSimulatedWorld(settings) { world in
      let ear = Ear()
      manager.registerForLocalNotifications()
      try world.add("echo").plugIn()
      await world.run { !ear.words.isEmpty }
      let session = try #require(EASession(accessory: ear.heard[0].accessory, forProtocol: "com.example.echo"))
      let streams = session.listen()
      session.write(counting(10_000))
      await world.run { streams.received.count == 10_000 }
      #expect(streams.received == counting(10_000))
    }
  }

  @Test func aReaderThatSleepsHoldsTheAccessoryBackAndLosesNothing() async throws {
    try await withSimulatedWorld { world in
      let parts = try await open(world)
      parts.session.inputStream?.open()
      parts.far.send(counting(300_000))
      await world.settle()
      #expect(parts.far.unsent > 0)
      var (received, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 8192))
      await world.run {
        while let input = parts.session.inputStream, input.hasBytesAvailable {
          received += buffer[..<input.read(&buffer, maxLength: 8192)]
        }
        return received.count == 300_000
      }
      #expect(received == counting(300_000))
    }
  }
}
