import AccessoryFormats
import AccessoryProfiles

/// Finds the rule that answers a request, which is the first rule that matches in the current state.
///
/// Rules for complete requests are looked up in a dictionary, so the number of these rules does not affect the speed.
struct RuleBook {
  /// A rule that matches a request, with the ranges of the groups if the rule has a pattern. Group 0 is the whole
  /// request.
  struct Found: Equatable {
    var rule: Int
    var groups: [Range<Int>?]
  }

  private let rules: [Script.Rule]
  private let byRequest: [[UInt8]: [Int]]
  private let patterns: [Int]

  init(_ rules: [Script.Rule]) {
    self.rules = rules
    byRequest = rules.indices.reduce(into: [:]) { byRequest, index in
      if let request = rules[index].request { byRequest[request, default: []].append(index) }
    }
    patterns = rules.indices.filter { rules[$0].request == nil }
  }

  func rule(for request: [UInt8], of protocolName: String, _ memory: ScriptMemory) -> Found? {
    let whole = byRequest[request]?.first { isUsable($0, protocolName, memory) }
    for index in patterns {
      if let whole, whole < index { break }
      if isUsable(index, protocolName, memory), let groups = groups(of: rules[index], request) {
        return Found(rule: index, groups: groups)
      }
    }
    return whole.map { Found(rule: $0, groups: []) }
  }

  /// Describes the rule that comes closest to matching an unanswered request, and says why the rule does not match.
  /// Returns nil if no rule begins like the request.
  func nearest(to request: [UInt8], of protocolName: String, _ memory: ScriptMemory) -> String? {
    if let rule = rules.first(where: { groups(of: $0, request) != nil || $0.request == request }) {
      let isElsewhere = !memory.isIn(rule.states)
      return "the rule for \(ShownBytes.of(rule.request ?? rule.prefix ?? request)) "
        + (isElsewhere
          ? "applies only in \(rule.states.joined(separator: " and "))"
          : "has answered \((rule.times ?? 0).counted("time")), which is its limit")
    }
    let others = rules.compactMap { $0.request ?? $0.prefix }
    let nearest = others.map { (zip($0, request).prefix { $0 == $1 }.count, $0) }
    guard let same = nearest.map(\.0).max(), same > 0, let wanted = nearest.first(where: { $0.0 == same })?.1,
      let difference = ShownBytes.difference(of: request, from: wanted)
    else { return nil }
    return "the nearest rule is \(ShownBytes.of(wanted)): \(difference)"
  }

  private func isUsable(_ index: Int, _ protocolName: String, _ memory: ScriptMemory) -> Bool {
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
