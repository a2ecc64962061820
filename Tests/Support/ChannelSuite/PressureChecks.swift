import AccessoryCore

extension ChannelSuite {
  /// Sends that fall short, and readers that do not want to read now.
  static let pressureChecks: [ChannelCheck] = [
    ChannelCheck("aFullChannelTakesLessAndTellsWhenThereIsRoom") { bench in
      bench.right.pause()
      bench.start()
      try fill(bench)
      let held = bench.left.sent
      bench.right.resume()
      try bench.rig.run("the sender was told of room") { bench.left.writableCalls > 0 }
      bench.left.stream(100_000, chunk: 10_000)
      try bench.rig.run("all that was taken arrived") { bench.right.received == held + 100_000 }
    },

    ChannelCheck("aPausedReaderHearsNothingUntilItResumes") { bench in
      bench.start()
      bench.left.stream(100, chunk: 100)
      try bench.rig.run("the first bytes arrived") { bench.right.received == 100 }
      bench.right.pause()
      try fill(bench)
      try require(bench.right.received == 100, "a paused end received \(bench.right.received - 100) bytes")
      bench.right.resume()
      try bench.rig.run("the rest arrived") { bench.right.received == bench.left.sent }
    },

    ChannelCheck("aReaderMayPauseInTheMiddleOfAReception") { bench in
      bench.start()
      var pauses = 0
      bench.right.onReceived = { _ in
        bench.right.pause()
        pauses += 1
      }
      bench.left.stream(500_000, chunk: 50_000)
      while bench.right.received < 500_000 {
        let seen = pauses
        try bench.rig.run("bytes came after a resumption") { pauses > seen }
        bench.right.resume()
      }
      try require(pauses == bench.right.receptions, "a paused end received something")
    },

    ChannelCheck("oneDirectionFlowsWhileTheOtherIsFull") { bench in
      bench.right.pause()
      bench.start()
      try fill(bench)
      let before = bench.left.received
      bench.right.stream(200_000, chunk: 20_000)
      try bench.rig.run("the free direction delivered") { bench.left.received == before + 200_000 }
      try require(bench.right.received == 0, "a paused end received something")
    },
  ]

  /// Sends from the left until a send falls short, and lets the loop turn a few times.
  private static func fill(_ bench: Bench) throws(CheckFailure) {
    let most = 64 << 20
    while bench.left.send(65_536) == 65_536 {
      try require(bench.left.sent < most, "a channel whose reader is paused took \(most) bytes")
    }
    // Bytes the other way are the clock here: when they have arrived, the loop has looked at everything else, too.
    for _ in 0..<3 {
      let seen = bench.left.received
      bench.right.stream(1, chunk: 1)
      try bench.rig.run("a byte came the other way") { bench.left.received == seen + 1 }
    }
  }
}
