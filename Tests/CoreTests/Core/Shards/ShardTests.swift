import AccessoryFormats
import AccessoryRuns
import Testing

@Suite struct ShardTests {
  @Test(arguments: [(0, 1), (1, 3), (7, 7), (8, 3), (10_000, 8), (1_000_000_000_000, 9_973)])
  func allSharesTogetherAreEverythingOnce(total: Int, count: Int) throws {
    var next = 0
    for index in 1...count {
      let share = try #require(Shard(index, of: count)).share(of: total)
      guard share.lowerBound == next, share.count <= total / count + 1 else {
        Issue.record("shard \(index) of \(count) of \(total) is \(share)")
        return
      }
      next = share.upperBound
    }
    #expect(next == total)
  }

  @Test func aShardIsReadAsItIsWritten() throws {
    #expect(try Shard("3/8").description == "3/8")
    #expect(try Shard("1/1") == .whole)
  }

  @Test(arguments: [
    "", "3", "0/8", "9/8", "3/0", "-1/8", "+1/8", "3/8/1", "a/b", "1/1000001", " 1/2", "/", "1/99999999999999999999",
  ])
  func whatIsNoShardIsRefused(text: String) {
    #expect(throws: OptionError.self) { try Shard(text) }
  }

  // MARK: Sets

  private static func sum(_ indexes: [Int], of count: Int) throws -> ShardSet {
    var sets = try indexes.map { ShardSet(try #require(Shard($0, of: count))) }
    var sum = sets.removeFirst()
    for set in sets { try sum.add(set) }
    return sum
  }

  @Test func allShardsInAnyOrderAreTheWholeRun() throws {
    let sum = try Self.sum([4, 1, 3, 2], of: 4)
    #expect(sum == .whole && sum.isComplete && sum.missingText == nil && sum.text.isEmpty)
  }

  @Test func sumsOfSumsAreWhole() throws {
    var one = try Self.sum([1, 5, 3], of: 6)
    try one.add(try Self.sum([6, 2, 4], of: 6))
    #expect(one == .whole)
  }

  @Test func whatIsMissingIsNamed() throws {
    let sum = try Self.sum([2, 3, 6], of: 8)
    #expect(sum.text == "shards 2-3 and 6 of 8")
    #expect(sum.missing(atMost: 10).map(\.description) == ["1/8", "4/8", "5/8", "7/8", "8/8"])
    #expect(sum.missing(atMost: 2).map(\.description) == ["1/8", "4/8"])
    #expect(
      sum.missingText?.hasPrefix("5 shards of 8 missing: 1/8, 4/8, 5/8, 7/8, 8/8; run each of them again") == true)
    #expect(sum.share(of: 80) == 30)
    let few = try Self.sum([500], of: 1_000)
    #expect(few.missingText?.contains("20/1000, 979 more; ") == true)
    #expect(few.text == "shard 500/1000" && few.only == Shard(500, of: 1_000))
  }

  @Test func aShardIsAddedOnce() throws {
    #expect(throws: ReportSumError.twice(try #require(Shard(3, of: 8)))) { _ = try Self.sum([1, 3, 2, 3], of: 8) }
    var one = try Self.sum([1], of: 8)
    #expect(throws: ReportSumError.otherDivision(8, 4)) { try one.add(try Self.sum([2], of: 4)) }
    #expect(throws: ReportSumError.wholeRun) { try one.add(.whole) }
    #expect(one == (try Self.sum([1], of: 8)))
  }

  private struct Holder: Equatable {
    var shards = ShardSet.whole
    static let format = Record("holder", "", Holder()) { Field("shards", \.shards, .shards, "") }
  }

  @Test func aSetIsReadAsItIsWritten() throws {
    let set = try Self.sum([2, 3, 6], of: 8)
    let text = JSONObject(Holder.format.tree(Holder(shards: set))).text
    #expect(text == #"{"shards":{"of":8,"done":[[2,3],[6,6]]}}"#)
    #expect(try Holder.format.read(text, file: "f").shards == set)
    #expect(JSONObject(Holder.format.tree(Holder())).text == "{}")
  }

  @Test(arguments: [
    "{ of: 8, done: [] }", "{ of: 8, done: [[0, 1]] }", "{ of: 8, done: [[3, 2]] }", "{ of: 8, done: [[1, 9]] }",
    "{ of: 8, done: [[1, 2], [2, 3]] }", "{ of: 1, done: [[1, 1]] }", "{ of: 8, done: [[1]] }", "{ of: 8 }",
  ]) func aSetThatCannotBeIsRefused(text: String) {
    #expect(throws: SourceProblems.self) { try Holder.format.read("{ shards: \(text) }", file: "f") }
  }

  // MARK: The environment

  private static func found(_ variables: [String: String]) throws -> ShardVariables {
    try ShardVariables { variables[$0] }
  }

  @Test(arguments: [
    (["JOB_COMPLETION_INDEX": "2", "EASIM_SHARDS": "8"], "3/8"),
    (["CI_NODE_INDEX": "3", "CI_NODE_TOTAL": "8"], "3/8"),
    (["SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "8"], "4/8"),
    (["SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "8", "SLURM_ARRAY_TASK_MIN": "1"], "3/8"),
    (
      [
        "SLURM_ARRAY_TASK_ID": "14", "SLURM_ARRAY_TASK_COUNT": "8", "SLURM_ARRAY_TASK_MIN": "0",
        "SLURM_ARRAY_TASK_STEP": "2",
      ], "8/8"
    ),
  ]) func enginesNumberTheirJobs(variables: [String: String], shard: String) throws {
    let found = try Self.found(variables)
    #expect(found.shard == (try Shard(shard)))
    #expect(
      found.note?.hasPrefix("shard \(shard), because of ") == true
        && found.note?.hasSuffix("--shard 1/1 runs everything") == true)
  }

  @Test func whatDividesNothingIsNotMentioned() throws {
    #expect(try Self.found([:]) == (try Self.found(["CI_NODE_TOTAL": "1"])))
    #expect(try Self.found(["CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "1"]).note == nil)
    #expect(try Self.found(["CI_NODE_INDEX": "", "CI_NODE_TOTAL": ""]).note == nil)
  }

  @Test(arguments: [
    (
      ["JOB_COMPLETION_INDEX": "2"],
      "JOB_COMPLETION_INDEX=2 gives the shard, but EASIM_SHARDS is not set: everything is run"
    ),
    (
      ["CI_NODE_TOTAL": "4"],
      "CI_NODE_TOTAL=4 gives the number of shards, but CI_NODE_INDEX is not set: everything is "
        + "run"
    ),
  ]) func halfOfAPairIsToldAndDividesNothing(variables: [String: String], note: String) throws {
    let found = try Self.found(variables)
    #expect(found.shard == nil && found.note == note)
  }

  @Test(arguments: [
    (["CI_NODE_INDEX": "0", "CI_NODE_TOTAL": "4"], "CI_NODE_INDEX=0: "),
    (["CI_NODE_INDEX": "5", "CI_NODE_TOTAL": "4"], "CI_NODE_INDEX=5: "),
    (["CI_NODE_INDEX": "x", "CI_NODE_TOTAL": "4"], "CI_NODE_INDEX=x: "),
    (["CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "0"], "CI_NODE_TOTAL=0: "),
    (["CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "9999999"], "CI_NODE_TOTAL=9999999: "),
    (["CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "-4"], "CI_NODE_TOTAL=-4: "),
    (["JOB_COMPLETION_INDEX": "8", "EASIM_SHARDS": "8"], "JOB_COMPLETION_INDEX=8: "),
    (
      ["SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "1"],
      "SLURM_ARRAY_TASK_ID=7: "
    ),
    (
      [
        "SLURM_ARRAY_TASK_ID": "9223372036854775807", "SLURM_ARRAY_TASK_COUNT": "3",
        "SLURM_ARRAY_TASK_STEP": "9223372036854775807",
      ], "SLURM_ARRAY_TASK_STEP=9223372036854775807: "
    ),
  ]) func aWrongValueIsAnErrorThatNamesItsVariable(variables: [String: String], beginning: String) throws {
    let error = #expect(throws: OptionError.self) { try Self.found(variables) }
    #expect(error?.description.hasPrefix(beginning) == true, "\(String(describing: error))")
  }

  @Test func twoEnginesAtOnceAreAmbiguous() throws {
    let both = ["CI_NODE_INDEX": "3", "CI_NODE_TOTAL": "8", "JOB_COMPLETION_INDEX": "2", "EASIM_SHARDS": "8"]
    let error = #expect(throws: OptionError.self) { try Self.found(both) }
    #expect(error?.description.hasSuffix("both number this job: choose the shard with --shard I/N") == true)
  }
}
