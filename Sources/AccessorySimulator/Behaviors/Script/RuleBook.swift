import AccessoryProfiles

/// Finds the rule that answers a request: the first that fits in the present state.
///
/// Whole requests are looked up in a dictionary, however many rules there are.
struct RuleBook {
  /// A rule that fits, and where its groups are in the request, of which the first is the request; none where it is
  /// the whole request that fits.
  struct Found: Equatable {
    var rule: Int
    var groups: [Range<Int>?]
  }

  private let rules: [Script.Rule]
  /// The first rule of each whole request, and the others with the same one.
  private let firstByRequest: [[UInt8]: Int]
  private let othersByRequest: [[UInt8]: [Int]]
  /// Which rules count in every state and any number of times: most of them, and the ones that need no more than this.
  private let isPlain: [Bool]
  /// The rules with a prefix or a pattern, in order.
  private let patterns: [Int]

  init(_ rules: [Script.Rule]) {
    self.rules = rules
    var others: [[UInt8]: [Int]] = [:]
    var first: [[UInt8]: Int] = [:]
    for (index, rule) in rules.enumerated() {
      guard let request = rule.request else { continue }
      if first[request] == nil { first[request] = index } else { others[request, default: []].append(index) }
    }
    (firstByRequest, othersByRequest) = (first, others)
    isPlain = rules.map { $0.states.isEmpty && $0.times == nil }
    patterns = rules.indices.filter { rules[$0].request == nil }
  }

  /// The rule for a request to the script of this protocol.
  func rule(for request: [UInt8], of protocolName: String, _ memory: ScriptMemory) -> Found? {
    let first = firstByRequest[request]
    if let first, isPlain[first], patterns.first ?? .max > first { return Found(rule: first, groups: []) }
    var whole = first
    if let first, !isUsable(first, protocolName, memory) {
      whole = othersByRequest[request]?.first { isUsable($0, protocolName, memory) }
    }
    for index in patterns {
      if let whole, whole < index { break }
      if isUsable(index, protocolName, memory), let groups = groups(of: rules[index], request) {
        return Found(rule: index, groups: groups)
      }
    }
    return whole.map { Found(rule: $0, groups: []) }
  }

  private func isUsable(_ index: Int, _ protocolName: String, _ memory: ScriptMemory) -> Bool {
    if isPlain[index] { return true }
    guard memory.isIn(rules[index].states) else { return false }
    return rules[index].times.map { memory.uses(of: .init(protocolName: protocolName, index: index)) < $0 } ?? true
  }

  private func groups(of rule: Script.Rule, _ request: [UInt8]) -> [Range<Int>?]? {
    if let prefix = rule.prefix {
      return request.starts(with: prefix) ? [0..<request.count, prefix.count..<request.count] : nil
    }
    return rule.regex?.match(request)
  }
}
