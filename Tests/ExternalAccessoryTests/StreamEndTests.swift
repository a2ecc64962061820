import ExternalAccessory
import ExternalAccessorySimulation
import Testing

/// Tests how streams end: some of the behaviors T1, T2, … in docs/external-accessory.md.
@Suite struct StreamEndTests {
  @Test(arguments: ["unplug", "pull", "close"]) func f11AndT10BothStreamsEnd(how: String) async throws {
    try await withOpenSession { world, parts in
      let recorder = parts.session.listen()
      parts.far.send([1, 2])
      await world.settle()
      switch how {
      case "unplug": parts.simulated.unplug()
      case "pull": parts.simulated.pull()
      default: parts.simulated.closeSessions()
      }
      await world.settle()
      #expect(recorder.all.suffix(2) == ["in end", "out end"])
      #expect(recorder.received == [1, 2])
      #expect(parts.session.inputStream?.streamStatus == .atEnd)
      #expect(manager.connectedAccessories.isEmpty == (how != "close"))
    }
  }

  /// The bytes are delivered before the end-of-stream event, and bytes-available events continue until all have been
  /// read. The output stream does not announce that it has space.
  @Test func t10ArrivedBytesAreReadBeforeTheEndIsReported() async throws {
    try await withOpenSession { world, parts in
      parts.far.send(counting(10))
      await world.settle()
      parts.simulated.pull()
      await world.settle()
      let recorder = StreamRecorder(parts.session, readSize: 4)
      parts.session.start(recorder)
      await world.settle()
      #expect(
        recorder.events(of: parts.session.inputStream)
          == [.openCompleted, .hasBytesAvailable, .hasBytesAvailable, .hasBytesAvailable, .endEncountered])
      #expect(recorder.events(of: parts.session.outputStream) == [.openCompleted, .endEncountered])
      #expect(recorder.received == counting(10))
    }
  }

  /// More bytes have arrived than a stream can hold, and the app has not read any of them.
  @Test func t10ArrivedBytesCanBeReadAfterTheAccessoryHasGone() async throws {
    try await withOpenSession(.with { $0.bufferSizes = 1000 }) { world, parts in
      parts.far.send(counting(50_000))
      await world.settle()
      #expect(parts.far.unsent == 0)
      parts.simulated.pull()
      await world.settle()
      let recorder = parts.session.listen()
      await world.settle()
      let isWhole = recorder.received == counting(50_000)
      #expect(isWhole, "\(recorder.received.count) bytes")
      #expect(recorder.events(of: parts.session.inputStream).last == .endEncountered)
    }
  }

  /// The app writes after it has received the end event of one stream but not of the other. Both end events are still
  /// delivered.
  @Test(arguments: [SimulatedWorld.Settings.LossEvent.endEncountered, .errorOccurred])
  func t10AndT11AWriteThatFailsBeforeTheEndEventDoesNotSuppressIt(event: SimulatedWorld.Settings.LossEvent) async throws
  {
    final class Written: @unchecked Sendable { var counts: [Int] = [] }
    try await withOpenSession(.with { $0.lossEvent = event }) { world, parts in
      let written = Written()
      let recorder = StreamRecorder(parts.session) { stream, event in
        guard stream === parts.session.inputStream, event == .endEncountered || event == .errorOccurred else { return }
        written.counts.append(parts.session.write([1]))
      }
      parts.session.start(recorder)
      await world.settle()
      parts.simulated.unplug()
      await world.settle()
      #expect(written.counts == [-1])
      #expect(
        recorder.all.suffix(2) == (event == .endEncountered ? ["in end", "out end"] : ["in error", "out error"]))
      #expect(parts.session.outputStream?.streamStatus == .error)
      #expect(parts.session.inputStream?.streamStatus == (event == .endEncountered ? .atEnd : .error))
      #expect((parts.session.inputStream?.streamError == nil) == (event == .endEncountered))
    }
  }

  @Test func t11AnErrorInsteadOfOpening() async throws {
    try await withOpenSession(.with { $0.lossEvent = .errorOccurred }) { world, parts in
      let recorder = StreamRecorder(parts.session)
      parts.simulated.unplug()
      await world.settle()
      parts.session.start(recorder)
      await world.settle()
      #expect(recorder.all.sorted() == ["in error", "out error"])
      #expect(parts.session.inputStream?.streamStatus == .error)
    }
  }

  @Test func t11SilenceUntilTheNextWriteFails() async throws {
    try await withOpenSession(.with { $0.lossEvent = .silence }) { world, parts in
      let recorder = parts.session.listen()
      await world.settle()
      let before = recorder.all
      parts.simulated.unplug()
      await world.settle()
      #expect(recorder.all == before)
      #expect(parts.session.outputStream?.hasSpaceAvailable == true)
      #expect(parts.session.write([1]) == -1)
      await world.settle()
      #expect(recorder.all == before)
    }
  }

  @Test(arguments: SimulatedWorld.Settings.EndOrder.allCases)
  func t12StreamsEndBeforeOrAfterTheNotification(order: SimulatedWorld.Settings.EndOrder) async throws {
    final class Order: @unchecked Sendable { var words: [String] = [] }
    try await withSimulatedWorld(.with { $0.endOrder = order }) { world in
      manager.registerForLocalNotifications()
      let parts = try await open(world)
      let seen = Order()
      let notifications = EventRecorder { seen.words.append($0.name) }
      let streams = StreamRecorder(parts.session) { _, event in if event == .endEncountered { seen.words.append("end") }
      }
      parts.session.start(streams)
      await world.settle()
      parts.simulated.unplug()
      await world.settle()
      #expect(
        seen.words == (order == .streamsFirst ? ["end", "end", "disconnect"] : ["disconnect", "end", "end"]))
      #expect(notifications.words.count == 1)
    }
  }

  /// Streams that are scheduled on another thread end on that thread, no matter when the disconnect notification
  /// reaches the main thread.
  @Test func t12StreamsOfAnotherThreadEndOnThatThread() async throws {
    try await withSimulatedWorld { world in
      manager.registerForLocalNotifications()
      let parts = try await open(world)
      let (recorder, session) = (StreamRecorder(parts.session), parts.session)
      let thread = LoopThread(slice: 0.01) { session.start(recorder, on: .current) }
      await world.settle()
      parts.simulated.unplug()
      await world.run { recorder.all.filter { $0.hasSuffix("end") }.count == 2 }
      #expect(recorder.all.suffix(2) == ["in end", "out end"])
      #expect(recorder.threads.allSatisfy { $0 === thread.thread })
      session.stop()
      thread.stop()
    }
  }

  @Test(arguments: [SimulatedWorld.Settings.LossEvent.endEncountered, .errorOccurred])
  func t13ReadReturnsZeroAtTheEndAndMinusOneForAnError(event: SimulatedWorld.Settings.LossEvent) async throws {
    try await withOpenSession(.with { $0.lossEvent = event }) { world, parts in
      var buffer = [UInt8](repeating: 0, count: 16)
      #expect(parts.session.inputStream?.read(&buffer, maxLength: 16) == -1, "it is not open")
      parts.session.inputStream?.open()
      parts.far.send([1, 2, 3])
      await world.settle()
      parts.simulated.unplug()
      await world.settle()
      #expect(parts.session.inputStream?.read(&buffer, maxLength: 16) == 3)
      #expect(parts.session.inputStream?.read(&buffer, maxLength: 16) == (event == .endEncountered ? 0 : -1))
    }
  }

  @Test func t14ClosingInTheCallbackEndsAllEventsAndClosingTwiceIsHarmless() async throws {
    try await withOpenSession { world, parts in
      let recorder = StreamRecorder(parts.session) { stream, event in
        if event == .hasBytesAvailable {
          stream.close()
          stream.close()
        }
      }
      parts.session.start(recorder)
      parts.far.send([1])
      await world.settle()
      parts.far.send([2])
      await world.settle()
      #expect(recorder.all.filter { $0 == "in bytes" }.count == 1)
      #expect(parts.session.inputStream?.streamStatus == .closed)
      parts.session.inputStream?.close()
      #expect(parts.session.inputStream?.hasBytesAvailable == false)
    }
  }

  @Test func t15ClosingOnAnotherThreadThanTheSchedulesDoesNotCrash() async throws {
    try await withOpenSession { world, parts in
      let (recorder, session) = (StreamRecorder(parts.session), parts.session)
      let thread = LoopThread(slice: 0.01) { session.start(recorder, on: .current) }
      parts.far.send(counting(1000))
      await world.run { recorder.received.count == 1000 }
      session.inputStream?.remove(from: .main, forMode: .default)
      session.stop()
      let told = recorder.all
      parts.far.send([1])
      await world.settle()
      thread.stop()
      #expect(recorder.all == told)
      #expect(parts.far.isOpen)
    }
  }

  /// The app opens a session, writes to it and releases it in one step, before the accessory notices any of this.
  @Test(arguments: [1, 24_907, 200_000]) func t7WhatWasWrittenBeforeAnOrderlyEndArrives(
    size: Int
  ) async throws {
    try await withSimulatedWorld(.with { $0.bufferSizes = 200_000 }) { world in
      let simulated = try world.add("multi")
      simulated.takeSessions()
      await world.plugIn(simulated)
      let accessory = try #require(manager.connectedAccessories.first)
      var session = EASession(accessory: accessory, forProtocol: "com.example.mirror")
      session?.outputStream?.open()
      #expect(session?.write(counting(size)) == size)
      session?.outputStream?.close()
      session = nil
      await world.advance(by: .seconds(10))
      #expect(simulated.sessions.first?.received == counting(size), "\(world.report)")
      #expect(simulated.sessions.first?.isOpen == false)
    }
  }
}
