import AccessoryCore

extension ChannelSuite {
  static let pressureChecks: [ChannelCheck] = [
    ChannelCheck("aFullChannelTakesLessAndTellsWhenThereIsRoom") { pair in
      pair.right.pause()
      pair.start()
      try fill(pair)
      let held = pair.left.sent
      pair.right.resume()
      try pair.rig.run("the sender was told of room") { pair.left.writableCalls > 0 }
      pair.left.stream(100_000, chunk: 10_000)
      try pair.rig.run("all that was taken arrived") { pair.right.received == held + 100_000 }
    },

    ChannelCheck("aPausedReaderHearsNothingUntilItResumes") { pair in
      pair.start()
      pair.left.stream(100, chunk: 100)
      try pair.rig.run("the first bytes arrived") { pair.right.received == 100 }
      pair.right.pause()
      try fill(pair)
      try require(pair.right.received == 100, "a paused end received \(pair.right.received - 100) bytes")
      pair.right.resume()
      try pair.rig.run("the rest arrived") { pair.right.received == pair.left.sent }
    },

    ChannelCheck("aReaderMayPauseInTheMiddleOfAReception") { pair in
      pair.start()
      var pauses = 0
      pair.right.onReceived = { _ in
        pair.right.pause()
        pauses += 1
      }
      pair.left.stream(500_000, chunk: 50_000)
      while pair.right.received < 500_000 {
        let seen = pauses
        try pair.rig.run("bytes came after a resumption") { pauses > seen }
        pair.right.resume()
      }
      try require(pauses == pair.right.receptions, "a paused end received something")
    },

    ChannelCheck("oneDirectionFlowsWhileTheOtherIsFull") { pair in
      pair.right.pause()
      pair.start()
      try fill(pair)
      let before = pair.left.received
      pair.right.stream(200_000, chunk: 20_000)
      try pair.rig.run("the free direction delivered") { pair.left.received == before + 200_000 }
      try require(pair.right.received == 0, "a paused end received something")
    },
  ]

  private static func fill(_ pair: ConnectedPair) throws(CheckFailure) {
    let most = 64 << 20
    while pair.left.send(65_536) == 65_536 {
      try require(pair.left.sent < most, "a channel whose reader is paused took \(most) bytes")
    }
    // Bytes in the other direction act as a marker: when they have arrived, the loop has also processed everything
    // else.
    for _ in 0..<3 {
      let seen = pair.left.received
      pair.right.stream(1, chunk: 1)
      try pair.rig.run("a byte came the other way") { pair.left.received == seen + 1 }
    }
  }
}
