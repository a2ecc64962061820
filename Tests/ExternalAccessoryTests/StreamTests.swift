import ExternalAccessory
import ExternalAccessorySimulation
import Testing

/// Tests which events streams deliver, when they do so, and to which delegate: some of the behaviors T1, T2, … in
/// docs/external-accessory.md.
@Suite struct StreamTests {
  @Test(arguments: ["dos", "dso", "ods", "osd", "sdo", "sod"])
  func t1DelegateOpenAndScheduleMayComeInAnyOrder(order: String) async throws {
    try await withOpenSession { world, parts in
      let recorder = StreamRecorder(parts.session)
      for letter in order {
        for stream in [parts.session.inputStream, parts.session.outputStream] as [Stream?] {
          switch letter {
          case "d": stream?.delegate = recorder
          case "o": stream?.open()
          default: stream?.schedule(in: .main, forMode: .default)
          }
        }
      }
      parts.far.send([7])
      await world.settle()
      #expect(recorder.events(of: parts.session.inputStream) == [.openCompleted, .hasBytesAvailable])
      #expect(recorder.events(of: parts.session.outputStream) == [.openCompleted, .hasSpaceAvailable])
      #expect(recorder.received == [7])
    }
  }

  @Test(arguments: [RunLoop.Mode.default, .common, RunLoop.Mode("of our own")])
  func t2EventsArriveOnTheScheduledThreadAndInTheScheduledMode(mode: RunLoop.Mode) async throws {
    try await withOpenSession { world, parts in
      let (recorder, session) = (StreamRecorder(parts.session), parts.session)
      let thread = LoopThread(mode: mode == .common ? .default : mode) {
        session.start(recorder, on: .current, forMode: mode)
      }
      parts.far.send([1, 2, 3])
      await world.run { recorder.received == [1, 2, 3] }
      #expect(recorder.received == [1, 2, 3])
      #expect(recorder.threads.allSatisfy { $0 === thread.thread })
      session.stop()
      thread.stop()
    }
  }

  @Test func t2NoEventsArriveInOtherModes() async throws {
    try await withOpenSession { world, parts in
      let (recorder, session) = (StreamRecorder(parts.session), parts.session)
      let thread = LoopThread(slice: 0.001, mode: RunLoop.Mode("another")) {
        session.start(recorder, on: .current, forMode: RunLoop.Mode("ours"))
      }
      parts.far.send([1])
      await world.settle()
      await world.run { thread.sliceCount > 20 }
      #expect(recorder.all == [])
      session.stop()
      thread.stop()
    }
  }

  @Test func t2AStreamCanBeScheduledOnAnotherThreadsRunLoop() async throws {
    try await withOpenSession { world, parts in
      let (recorder, thread) = (StreamRecorder(parts.session), LoopThread())
      parts.session.start(recorder, on: thread.loop)
      parts.far.send([5])
      await world.run { recorder.received == [5] }
      #expect(recorder.received == [5], "\(recorder.all) \(world.report)")
      #expect(recorder.threads.allSatisfy { $0 === thread.thread })
      parts.session.stop()
      thread.stop()
    }
  }

  @Test func t2UnschedulingBeforeTheThreadNoticesDeliversNoEvents() async throws {
    try await withOpenSession { world, parts in
      let (recorder, isHeld) = (StreamRecorder(parts.session), DispatchSemaphore(value: 0))
      let thread = LoopThread(slice: 0.01)
      // The thread is kept busy, so that no event is delivered before all steps have been carried out.
      thread.loop.add(Timer(timeInterval: 0, repeats: false) { _ in isHeld.wait() }, forMode: .default)
      parts.session.start(recorder, on: thread.loop)
      parts.session.inputStream?.remove(from: thread.loop, forMode: .default)
      isHeld.signal()
      parts.far.send([5])
      await world.run { recorder.all.count == 2 }
      let slices = thread.sliceCount
      await world.run { thread.sliceCount > slices + 2 }
      #expect(recorder.all == ["out open", "out space"])
      parts.session.stop()
      thread.stop()
    }
  }

  @Test func t2SchedulingTwiceCountsOnceAndIsUndoneAtOnce() async throws {
    try await withOpenSession { world, parts in
      let recorder = StreamRecorder(parts.session)
      parts.session.start(recorder)
      parts.session.inputStream?.schedule(in: .main, forMode: .default)
      await world.settle()
      parts.session.inputStream?.remove(from: .main, forMode: .default)
      parts.far.send([1])
      await world.settle()
      #expect(recorder.events(of: parts.session.inputStream) == [.openCompleted])
    }
  }

  @Test func t2AStreamCanBeUnscheduledAndRescheduledInItsOwnEvent() async throws {
    try await withOpenSession { world, parts in
      let recorder = StreamRecorder(parts.session, readSize: 2) { stream, event in
        if event == .hasBytesAvailable { stream.remove(from: .main, forMode: .default) }
      }
      parts.session.start(recorder)
      parts.far.send(counting(10))
      await world.settle()
      #expect(recorder.received == counting(2))
      parts.session.inputStream?.schedule(in: .main, forMode: .default)
      await world.settle()
      #expect(recorder.received == counting(4))
      // The remaining events arrive in the mode in which the stream is still scheduled.
      parts.session.inputStream?.schedule(in: .main, forMode: .common)
      await world.settle()
      #expect(recorder.received == counting(10))
    }
  }

  @Test func aClientWithAShortLimitBlocksAndDoesNotSpin() async throws {
    try await withOpenSession { world, parts in
      let (recorder, session) = (StreamRecorder(parts.session), parts.session)
      let thread = LoopThread(slice: 0.1) { session.start(recorder, on: .current) }
      await world.run { recorder.all.count == 3 }
      let (slices, begun) = (thread.sliceCount, Date())
      await world.run { thread.sliceCount >= slices + 3 }
      #expect(Date().timeIntervalSince(begun) > 0.15)
      #expect(thread.sliceCount < slices + 10)
      session.stop()
      thread.stop()
    }
  }

  @Test func t4BytesAreToldAgainWhileSomeAreLeftAfterARead() async throws {
    try await withOpenSession { world, parts in
      let recorder = parts.session.listen(readSize: 4)
      parts.far.send(counting(10))
      await world.settle()
      #expect(recorder.all.filter { $0 == "in bytes" }.count == 3)
      #expect(recorder.received == counting(10))
    }
  }

  @Test func t4BytesThatNobodyReadsAreToldOnce() async throws {
    try await withOpenSession { world, parts in
      let recorder = parts.session.listen(readSize: 0)
      parts.far.send([1])
      await world.settle()
      parts.far.send([2])
      await world.settle()
      #expect(recorder.all.filter { $0 == "in bytes" }.count == 1)
    }
  }

  @Test func t5BytesCanBePolledFromAnyThreadWithoutDelegateOrSchedule() async throws {
    final class Poll: @unchecked Sendable {
      let lock = NSLock()
      var bytes: [UInt8] = []
      var all: [UInt8] { lock.withLock { bytes } }
    }
    try await withOpenSession { world, parts in
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
    try await withOpenSession { world, parts in
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

  @Test func t3AndT6OpenOncePerStreamAndSpaceOnlyAfterAWrite() async throws {
    try await withOpenSession { world, parts in
      let recorder = parts.session.listen()
      parts.session.inputStream?.open()
      await world.advance(by: .seconds(5))
      #expect(recorder.all.sorted() == ["in open", "out open", "out space"])
      #expect(parts.session.inputStream?.streamStatus == .open)
      parts.session.write([1])
      await world.settle()
      #expect(recorder.all.filter { $0 == "out space" }.count == 2)
    }
  }

  @Test func t22TheStreamsAreTheSameObjectsEveryTimeAndDoNotHoldTheirDelegate() async throws {
    try await withOpenSession { world, parts in
      #expect(parts.session.inputStream === parts.session.inputStream)
      #expect(parts.session.outputStream === parts.session.outputStream)
      weak var delegate: StreamRecorder?
      do {
        let recorder = StreamRecorder(parts.session)
        delegate = recorder
        parts.session.start(recorder)
        await world.settle()
        #expect(recorder.all.contains("in open"))
      }
      #expect(delegate == nil)
      parts.far.send([1])
      await world.settle()
      #expect(parts.session.inputStream?.delegate == nil)
      #expect(parts.session.inputStream?.hasBytesAvailable == true)
    }
  }
}
