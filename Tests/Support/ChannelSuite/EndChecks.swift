import AccessoryCore

extension ChannelSuite {
  static let endChecks: [ChannelCheck] = [
    ChannelCheck("whatTheLeftSentBeforeItClosedArrives", needs: .leftCloseDelivers) { pair in
      try closeDelivers(pair, closer: pair.left, other: pair.right)
    },

    ChannelCheck("whatTheRightSentBeforeItClosedArrives", needs: .rightCloseDelivers) { pair in
      try closeDelivers(pair, closer: pair.right, other: pair.left)
    },

    ChannelCheck("aPausedReaderStillGetsWhatWasSentBeforeTheClose", needs: .leftCloseDelivers) { pair in
      pair.right.pause()
      pair.start()
      pair.left.stream(3_000, chunk: 1_000)
      pair.left.close()
      pair.right.resume()
      try pair.rig.run("the end was heard") { pair.right.end != nil }
      try require(pair.right.received == 3_000, "only \(pair.right.received) of 3000 bytes came before the end")
    },

    ChannelCheck("aCloseOfTheLeftIsHeardAsOne") { pair in
      try closeIsHeard(pair, closer: pair.left, other: pair.right)
    },

    ChannelCheck("aCloseOfTheRightIsHeardAsOne") { pair in
      try closeIsHeard(pair, closer: pair.right, other: pair.left)
    },

    ChannelCheck("aCloseWithBytesUnreadIsStillHeardAsAClose", needs: .closesInOrderUnread) { pair in
      pair.right.pause()
      pair.start()
      pair.left.stream(5_000, chunk: 5_000)
      pair.right.close()
      try pair.rig.run("the close was heard") { pair.left.end != nil }
      try pair.requireClose(heardBy: pair.left)
    },

    ChannelCheck("aCutIsHeardByBothEnds", needs: .canBeCut) { pair in
      pair.start()
      pair.left.stream(100, chunk: 100)
      try pair.rig.run("the channel works") { pair.right.received == 100 }
      pair.rig.cut?()
      try pair.rig.run("both ends heard of the cut") { pair.left.end != nil && pair.right.end != nil }
      for end in [pair.left.end, pair.right.end] {
        guard case .lost = end else { throw CheckFailure("a cut was heard as '\(String(describing: end))'") }
      }
    },

    ChannelCheck("aSendAfterTheEndTakesNothing") { pair in
      pair.start()
      pair.left.close()
      try require(pair.left.send(10) == 0, "a closed channel took bytes")
      try pair.rig.run("the close was heard") { pair.right.end != nil }
      try require(pair.right.send(10) == 0, "an ended channel took bytes")
    },

    ChannelCheck("noCallComesAfterAClose") { pair in
      pair.start()
      pair.right.onReceived = { _ in pair.right.close() }
      pair.left.stream(1_000_000, chunk: 50_000)
      // If a handler is called after the probe has been closed, the probe reports it.
      try pair.rig.run("the other end heard of the close") { pair.left.end != nil }
    },

    ChannelCheck("callsFromInsideCallbacksAreHarmless") { pair in
      pair.start()
      pair.right.onReceived = { _ in
        pair.right.pause()
        pair.right.resume()
        pair.right.send(7)
      }
      pair.left.onReceived = { _ in pair.left.close() }
      pair.right.onEnd = {
        pair.right.send(1)
        pair.right.resume()
        pair.right.channel.close()
      }
      pair.left.stream(10, chunk: 10)
      try pair.rig.run("the end was heard") { pair.right.end != nil }
    },

    ChannelCheck("closingTwiceDoesNothing") { pair in
      pair.start()
      pair.left.close()
      pair.left.close()
      try pair.rig.run("the close was heard") { pair.right.end != nil }
      pair.right.channel.close()
      pair.right.channel.close()
    },

    ChannelCheck("bothEndsMayCloseAtOnce") { pair in
      pair.start()
      pair.left.stream(1_000, chunk: 1_000)
      pair.right.stream(1_000, chunk: 1_000)
      pair.left.close()
      pair.right.close()
      try require(pair.left.send(1) == 0 && pair.right.send(1) == 0, "a closed channel took bytes")
    },

    ChannelCheck("aHandlerIsLetGoAtTheEnd") { pair in
      let guardian = CallGuardian()
      weak var left: Probe?
      weak var right: Probe?
      do {
        let probes = (Probe("left", pair.rig.left, guardian), Probe("right", pair.rig.right, guardian))
        (left, right) = probes
        probes.0.start()
        probes.1.start()
      }
      try require(left != nil && right != nil, "a started channel does not hold its handler")
      left?.close()
      try require(left == nil, "a closed channel holds its handler")
      try pair.rig.run("the ended channel let its handler go") { right == nil }
    },
  ]

  private static func closeDelivers(_ pair: ConnectedPair, closer: Probe, other: Probe) throws {
    pair.start()
    closer.stream(300_000, chunk: 30_000)
    try pair.rig.run("all was taken") { closer.hasStreamed }
    closer.close()
    try pair.rig.run("the close was heard") { other.end != nil }
    try require(other.received == 300_000, "only \(other.received) of 300000 bytes came before the end")
    try pair.requireClose(heardBy: other)
  }

  private static func closeIsHeard(_ pair: ConnectedPair, closer: Probe, other: Probe) throws {
    pair.start()
    closer.stream(100, chunk: 100)
    other.stream(100, chunk: 100)
    try pair.rig.run("the channel works") { closer.received == 100 && other.received == 100 }
    closer.close()
    try pair.rig.run("the close was heard") { other.end != nil }
    try pair.requireClose(heardBy: other)
  }
}
