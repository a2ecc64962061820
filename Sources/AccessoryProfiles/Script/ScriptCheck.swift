import AccessoryFormats

/// Checks the scripts of a profile, which share states and may send bytes in each other's sessions.
extension ProfileCheck {
  private struct Placed {
    var script: Script
    var path: String
    /// The protocols whose sessions run the script.
    var protocols: [String]
  }

  func checkScripts() {
    let scripts = placedScripts()
    let states = declaredStates(scripts)
    for placed in scripts {
      checkAnswers(of: placed)
      checkFraming(of: placed)
      checkStates(of: placed, states, declaredAt: scripts.map { "\($0.path).states" })
      checkReachability(of: placed)
      checkWildcards(of: placed)
      for (list, path) in answerLists(of: placed) { checkTargets(list, path, of: placed, scripts) }
    }
    checkEntries(states, scripts)
    for placed in scripts { checkIdleness(of: placed, scripts) }
  }

  private func placedScripts() -> [Placed] {
    var placed: [Placed] = []
    if case .script(let script) = profile.behavior {
      let protocols = profile.protocols.filter { $0.behavior == nil }.map(\.name)
      placed.append(Placed(script: script, path: "behavior", protocols: protocols))
    }
    for (entry, path) in zip(profile.protocols, protocolPaths) {
      if case .script(let script)? = entry.behavior {
        placed.append(Placed(script: script, path: "\(path).behavior", protocols: [entry.name]))
      }
    }
    return placed
  }

  private func elements<Element>(_ list: [Element], _ path: String) -> [(Element, String)] {
    Array(zip(list, object.problems.paths(of: path, count: list.count)))
  }

  private func rules(of placed: Placed) -> [(Script.Rule, String)] {
    elements(placed.script.rules, "\(placed.path).rules")
  }

  private func timers(of placed: Placed) -> [(Script.Timer, String)] {
    elements(placed.script.timers, "\(placed.path).timers")
  }

  private func answerLists(of placed: Placed) -> [(answers: [Script.Answer], path: String)] {
    rules(of: placed).map { ($0.0.answers, "\($0.1).answers") }
      + timers(of: placed).map { ($0.0.answers, "\($0.1).answers") }
      + [(placed.script.wrongChecksum, "\(placed.path).wrongChecksum")]
  }

  // MARK: Framing

  private func checkFraming(of placed: Placed) {
    let script = placed.script
    if script.framing == .delimiter([]) {
      error(
        "\(placed.path).framing.delimiter",
        "an empty delimiter cannot end a request")
    }
    if script.framing == .any {
      for (rule, path) in rules(of: placed) where rule.prefix != nil || rule.regex != nil {
        error(
          "\(path).\(rule.prefix == nil ? "regex" : "prefix")",
          "with the framing 'any', only a whole 'request' can be recognized: use a delimiter, a fixed length or a "
            + "frame",
          reliesOn: ["\(placed.path).framing"])
      }
    }
    if !script.wrongChecksum.isEmpty {
      if case .frame(let frame) = script.framing, frame.checksum != nil { return }
      error("\(placed.path).wrongChecksum", "the framing has no checksum", reliesOn: ["\(placed.path).framing"])
    }
  }

  private func checkIdleness(of placed: Placed, _ scripts: [Placed]) {
    let script = placed.script
    guard script.rules.isEmpty, script.otherwise == nil, script.timers.isEmpty else { return }
    let targets = scripts.flatMap(\.script.allAnswers).compactMap(\.protocolName)
    if placed.protocols.contains(where: targets.contains) { return }
    warning("\(placed.path).rules", "without rules or 'otherwise', the script never answers")
  }

  // MARK: States

  private func declaredStates(_ scripts: [Placed]) -> [String] {
    let declaring = scripts.filter { !$0.script.states.isEmpty }
    for placed in declaring.dropFirst() {
      error(
        "\(placed.path).states",
        "all scripts of an accessory share their states, and \(declaring[0].path).states declares them already")
    }
    for placed in declaring {
      for (index, (state, path)) in elements(placed.script.states, "\(placed.path).states").enumerated()
      where placed.script.states[..<index].contains(state) {
        error(path, "the state '\(state)' is listed twice")
      }
    }
    return declaring.flatMap(\.script.states)
  }

  private func checkStates(of placed: Placed, _ states: [String], declaredAt: [String]) {
    func check(_ used: [String], next: String?, _ path: String) {
      for (state, path) in used.map({ ($0, "\(path).in") }) + (next.map { [($0, "\(path).goto")] } ?? [])
      where !states.contains(state) {
        error(
          path,
          states.isEmpty
            ? "no script declares its 'states', such as states: ['\(state)', …]"
            : "unknown state '\(state)'\(Suggestion.hint(for: state, in: states))", reliesOn: declaredAt)
      }
    }
    for (rule, path) in rules(of: placed) { check(rule.states, next: rule.next, path) }
    for (timer, path) in timers(of: placed) { check(timer.states, next: timer.next, path) }
    for (answers, path) in answerLists(of: placed) {
      for (answer, path) in elements(answers, path) { check([], next: answer.next, path) }
    }
  }

  private func checkEntries(_ states: [String], _ scripts: [Placed]) {
    let entered = scripts.flatMap { placed in
      placed.script.rules.compactMap(\.next) + placed.script.timers.compactMap(\.next)
        + placed.script.allAnswers.compactMap(\.next)
    }
    for placed in scripts where !placed.script.states.isEmpty {
      for (state, path) in elements(placed.script.states, "\(placed.path).states").dropFirst()
      where !entered.contains(state) {
        warning(path, "no 'goto' leads to the state '\(state)'", reliesOn: scripts.map(\.path))
      }
    }
  }

  // MARK: Answers

  private func checkAnswers(of placed: Placed) {
    for (rule, path) in rules(of: placed) {
      let groups = rule.regex?.groupCount ?? (rule.prefix == nil ? 0 : 1)
      check(
        rule.answers, "\(path).answers", groups: groups, names: rule.regex?.names ?? [:],
        reliesOn: ["\(path).regex", "\(path).prefix"])
    }
    for (timer, path) in timers(of: placed) { check(timer.answers, "\(path).answers", groups: -1, names: [:]) }
    check(placed.script.wrongChecksum, "\(placed.path).wrongChecksum", groups: -1, names: [:])
  }

  private func check(
    _ answers: [Script.Answer], _ path: String, groups: Int, names: [String: Int], reliesOn: [String] = []
  ) {
    for (answer, path) in elements(answers, path) {
      for part in answer.send?.parts ?? [] {
        switch part {
        case .group(let number) where number > groups:
          let what = groups < 0 ? "no request here" : groups == 0 ? "only ${0}, the request" : "${0} to ${\(groups)}"
          error("\(path).send", "there is no '${\(number)}': there is \(what)", reliesOn: reliesOn)
        case .namedGroup(let name) where names[name] == nil:
          let known = names.keys.sorted()
          let near = Suggestion.nearest(to: name, in: known).map { ", did you mean '${\($0)}'?" }
          error("\(path).send", "unknown '${\(name)}'\(near ?? ScriptTemplate.hint(for: name))", reliesOn: reliesOn)
        default: break
        }
      }
    }
  }

  private func checkTargets(_ answers: [Script.Answer], _ path: String, of placed: Placed, _ scripts: [Placed]) {
    for (answer, path) in elements(answers, path) {
      var script: Script? = placed.script
      if let name = answer.protocolName {
        let names = profile.protocols.map(\.name)
        script = scripts.first { $0.protocols.contains(name) }?.script
        if !names.contains(name) {
          error(
            "\(path).to", "unknown protocol '\(Excerpt.of(name))'\(Suggestion.hint(for: name, in: names))",
            reliesOn: ["accessory.protocols"])
        } else if script == nil {
          error(
            "\(path).to",
            "the behavior of '\(name)' is not a script, so no answer can be sent there: use { type: 'script', rules: "
              + "[] }",
            reliesOn: ["accessory.protocols", "behavior"])
        }
      }
      if answer.isUnframed, let script {
        if case .frame = script.framing { continue }
        error("\(path).unframed", "the script there has no frames", reliesOn: ["\(placed.path).framing"])
      }
    }
  }

  // MARK: Rules that never answer

  private func checkReachability(of placed: Placed) {
    let rules = rules(of: placed)
    for (index, (rule, path)) in rules.enumerated() {
      guard let why = whyUnreachable(rule, after: rules[..<index].map(\.0), placed.script.framing) else { continue }
      let key = rule.request != nil ? "request" : rule.prefix != nil ? "prefix" : "regex"
      warning("\(path).\(key)", "this rule never answers: \(why)", reliesOn: ["\(placed.path).framing"])
    }
  }

  private func whyUnreachable(_ rule: Script.Rule, after earlier: [Script.Rule], _ framing: Script.Framing) -> String? {
    for other in earlier where other.isUsed(whenever: rule) {
      if let why = whyCovered(rule, by: other) { return why }
    }
    let fixed = rule.request ?? rule.prefix ?? []
    switch framing {
    case .fixed(let length):
      if let request = rule.request, request.count != length {
        return "its request has \(request.count) bytes, but every request has \(length)"
      }
      if fixed.count > length { return "its prefix has \(fixed.count) bytes, but every request has \(length)" }
    case .delimiter(let delimiter) where !delimiter.isEmpty && fixed.contains(delimiter):
      return "its \(rule.request == nil ? "prefix" : "request") contains the delimiter, which is not part of a request"
    case .frame(let frame) where fixed.count > frame.longest - frame.lengthWidth: return "frames cannot be that long"
    case .any:
      guard let request = rule.request else { return nil }
      if request.isEmpty { return "its request is empty" }
      if earlier.contains(where: { $0.request.map { request != $0 && request.starts(with: $0) } ?? false }) {
        return "an earlier rule matches sooner"
      }
    case .delimiter, .frame: break
    }
    return nil
  }

  private func whyCovered(_ rule: Script.Rule, by other: Script.Rule) -> String? {
    if let request = other.request {
      return request == rule.request ? "an earlier rule has the same request" : nil
    }
    if let prefix = other.prefix {
      let begins = (rule.request ?? rule.prefix).map { $0.starts(with: prefix) } ?? prefix.isEmpty
      return begins ? "an earlier rule answers everything that begins with its prefix" : nil
    }
    guard let regex = other.regex else { return nil }
    if regex.text == rule.regex?.text { return "an earlier rule has the same regex" }
    if ["(.*)", ".*"].contains(regex.text) { return "an earlier rule's regex matches everything" }
    return rule.request.flatMap(regex.match) == nil ? nil : "an earlier rule's regex matches this request"
  }

  // MARK: Wildcards that are taken literally

  private func checkWildcards(of placed: Placed) {
    for (rule, path) in rules(of: placed) {
      for (key, bytes) in [("request", rule.request), ("prefix", rule.prefix)] {
        guard let bytes, let found = Self.wildcard(in: bytes) else { continue }
        warning("\(path).\(key)", "'\(found)' is literal text here: use 'regex' or 'prefix' for a wildcard")
      }
      checkInserted(rule.response, "\(path).response")
    }
    checkInserted(placed.script.otherwise ?? [], "\(placed.path).otherwise")
  }

  private func checkInserted(_ bytes: [UInt8], _ path: String) {
    guard let start = bytes.firstRange(of: "${".utf8)?.lowerBound,
      let end = bytes[start...].firstIndex(of: UInt8(ascii: "}"))
    else { return }
    let found = Excerpt.of(String(decoding: bytes[start...end], as: UTF8.self))
    warning(path, "'\(found)' is literal text here: values are inserted only into 'answers'")
  }

  /// Returns text that looks like a wildcard, or nil if there is none. Strings that real protocols use, such as
  /// `*IDN?`, do not count as wildcards.
  private static func wildcard(in bytes: [UInt8]) -> String? {
    let signs = [".*", ".+", "\\d", "\\w", "\\s", "[0-9]", "[a-z]", "[A-Z]", "(?", "${"]
    if let found = signs.first(where: { bytes.contains($0.utf8) }) { return found }
    let ends = [" *", "=*", ":*", ",*"]
    return ends.contains { bytes.suffix(2).elementsEqual($0.utf8) } ? "*" : nil
  }
}

extension Script.Rule {
  /// Returns true if this rule, which comes before `other`, matches every request that `other` matches.
  fileprivate func isUsed(whenever other: Script.Rule) -> Bool {
    guard times == nil else { return false }
    return states.isEmpty || (!other.states.isEmpty && other.states.allSatisfy(states.contains))
  }
}
