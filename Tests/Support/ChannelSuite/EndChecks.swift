import AccessoryCore

extension ChannelSuite {
  /// Every way a channel can be over.
  static let endChecks: [ChannelCheck] = [
    ChannelCheck("whatTheLeftSentBeforeItClosedArrives", needs: .leftCloseDelivers) { bench in
      try closeDelivers(bench, closer: bench.left, other: bench.right)
    },

    ChannelCheck("whatTheRightSentBeforeItClosedArrives", needs: .rightCloseDelivers) { bench in
      try closeDelivers(bench, closer: bench.right, other: bench.left)
    },

    ChannelCheck("aPausedReaderStillGetsWhatWasSentBeforeTheClose", needs: .leftCloseDelivers) { bench in
      bench.right.pause()
      bench.start()
      bench.left.stream(3_000, chunk: 1_000)
      bench.left.close()
      bench.right.resume()
      try bench.rig.run("the end was heard") { bench.right.end != nil }
      try require(bench.right.received == 3_000, "only \(bench.right.received) of 3000 bytes came before the end")
    },

    ChannelCheck("aCloseOfTheLeftIsHeardAsOne") { bench in
      try closeIsHeard(bench, closer: bench.left, other: bench.right)
    },

    ChannelCheck("aCloseOfTheRightIsHeardAsOne") { bench in
      try closeIsHeard(bench, closer: bench.right, other: bench.left)
    },

    ChannelCheck("aCloseWithBytesUnreadIsStillHeardAsAClose", needs: .closesInOrderUnread) { bench in
      bench.right.pause()
      bench.start()
      bench.left.stream(5_000, chunk: 5_000)
      bench.right.close()
      try bench.rig.run("the close was heard") { bench.left.end != nil }
      try bench.requireClose(heardBy: bench.left)
    },

    ChannelCheck("aCutIsHeardByBothEnds", needs: .canBeCut) { bench in
      bench.start()
      bench.left.stream(100, chunk: 100)
      try bench.rig.run("the channel works") { bench.right.received == 100 }
      bench.rig.cut?()
      try bench.rig.run("both ends heard of the cut") { bench.left.end != nil && bench.right.end != nil }
      for end in [bench.left.end, bench.right.end] {
        guard case .lost = end else { throw CheckFailure("a cut was heard as '\(String(describing: end))'") }
      }
    },

    ChannelCheck("aSendAfterTheEndTakesNothing") { bench in
      bench.start()
      bench.left.close()
      try require(bench.left.send(10) == 0, "a closed channel took bytes")
      try bench.rig.run("the close was heard") { bench.right.end != nil }
      try require(bench.right.send(10) == 0, "an ended channel took bytes")
    },

    ChannelCheck("noCallComesAfterAClose") { bench in
      bench.start()
      bench.right.onReceived = { _ in bench.right.close() }
      bench.left.stream(1_000_000, chunk: 50_000)
      // The probe itself reports calls after its close.
      try bench.rig.run("the other end heard of the close") { bench.left.end != nil }
    },

    ChannelCheck("callsFromInsideCallbacksAreHarmless") { bench in
      bench.start()
      bench.right.onReceived = { _ in
        bench.right.pause()
        bench.right.resume()
        bench.right.send(7)
      }
      bench.left.onReceived = { _ in bench.left.close() }
      bench.right.onEnd = {
        bench.right.send(1)
        bench.right.resume()
        bench.right.channel.close()
      }
      bench.left.stream(10, chunk: 10)
      try bench.rig.run("the end was heard") { bench.right.end != nil }
    },

    ChannelCheck("closingTwiceDoesNothing") { bench in
      bench.start()
      bench.left.close()
      bench.left.close()
      try bench.rig.run("the close was heard") { bench.right.end != nil }
      bench.right.channel.close()
      bench.right.channel.close()
    },

    ChannelCheck("bothEndsMayCloseAtOnce") { bench in
      bench.start()
      bench.left.stream(1_000, chunk: 1_000)
      bench.right.stream(1_000, chunk: 1_000)
      bench.left.close()
      bench.right.close()
      try require(bench.left.send(1) == 0 && bench.right.send(1) == 0, "a closed channel took bytes")
    },

    ChannelCheck("aHandlerIsLetGoAtTheEnd") { bench in
      let guardian = CallGuardian()
      weak var left: Probe?
      weak var right: Probe?
      do {
        let probes = (Probe("left", bench.rig.left, guardian), Probe("right", bench.rig.right, guardian))
        (left, right) = probes
        probes.0.start()
        probes.1.start()
      }
      try require(left != nil && right != nil, "a started channel does not hold its handler")
      left?.close()
      try require(left == nil, "a closed channel holds its handler")
      try bench.rig.run("the ended channel let its handler go") { right == nil }
    },
  ]

  private static func closeDelivers(_ bench: Bench, closer: Probe, other: Probe) throws {
    bench.start()
    closer.stream(300_000, chunk: 30_000)
    try bench.rig.run("all was taken") { closer.hasStreamed }
    closer.close()
    try bench.rig.run("the close was heard") { other.end != nil }
    try require(other.received == 300_000, "only \(other.received) of 300000 bytes came before the end")
    try bench.requireClose(heardBy: other)
  }

  private static func closeIsHeard(_ bench: Bench, closer: Probe, other: Probe) throws {
    bench.start()
    closer.stream(100, chunk: 100)
    other.stream(100, chunk: 100)
    try bench.rig.run("the channel works") { closer.received == 100 && other.received == 100 }
    closer.close()
    try bench.rig.run("the close was heard") { other.end != nil }
    try bench.requireClose(heardBy: other)
  }
}
