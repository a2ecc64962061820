import AccessoryProfiles

/// Finds the rule that answers a request: the first that fits in the present state.
///
/// Whole requests are looked up in a dictionary, however many rules there are.
struct RuleBook {
  /// A rule that fits, and where its groups are in the request; the first is the request.
  struct Found: Equatable {
    var rule: Int
    var groups: [Range<Int>?]
  }

  private let rules: [Script.Rule]
  private let rulesByRequest: [[UInt8]: [Int]]
  /// The rules with a prefix or a pattern, in order.
  private let patterns: [Int]

  init(_ rules: [Script.Rule]) {
    self.rules = rules
    rulesByRequest = Dictionary(
      rules.enumerated().compactMap { index, rule in rule.request.map { ($0, [index]) } }, uniquingKeysWith: +)
    patterns = rules.indices.filter { rules[$0].request == nil }
  }

  /// The rule for a request to the script of this protocol.
  func rule(for request: [UInt8], of protocolName: String, _ memory: ScriptMemory) -> Found? {
    func isUsable(_ index: Int) -> Bool {
      let rule = rules[index]
      guard memory.isIn(rule.states) else { return false }
      return rule.times.map { memory.uses(of: .init(protocolName: protocolName, index: index)) < $0 } ?? true
    }
    let whole = rulesByRequest[request]?.first(where: isUsable)
    for index in patterns {
      if let whole, whole < index { break }
      if isUsable(index), let groups = groups(of: rules[index], request) { return Found(rule: index, groups: groups) }
    }
    return whole.map { Found(rule: $0, groups: [0..<request.count]) }
  }

  private func groups(of rule: Script.Rule, _ request: [UInt8]) -> [Range<Int>?]? {
    if let prefix = rule.prefix {
      return request.starts(with: prefix) ? [0..<request.count, prefix.count..<request.count] : nil
    }
    return rule.regex?.match(request)
  }
}
