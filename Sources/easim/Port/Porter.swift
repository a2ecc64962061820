/// Finds what Linux asks of a Swift file that was written for Apple's systems, and the edits for it. Each edit keeps the file
/// right on Apple's systems, too.
///
/// A rule gives an edit only where everything that it depends on is in sight: the whole call, the method that it names, the
/// type around it. Everything else is advice.
struct Porter {
  private let source: SwiftSource
  private let types: SwiftTypes
  private var found: [PortFinding] = []
  /// The `@objc` tokens of methods that no selector names any more.
  private var freed: Set<Int> = []
  /// The `#selector` tokens that an edit replaces.
  private var handled: Set<Int> = []

  private var tokens: [SwiftSource.Token] { source.tokens }

  /// What there is to change in a file, in order.
  static func findings(in source: SwiftSource) -> [PortFinding] {
    var porter = Porter(source)
    porter.look()
    return porter.found.sorted { $0.offset < $1.offset }
  }

  private init(_ source: SwiftSource) {
    self.source = source
    types = SwiftTypes(source)
  }

  private mutating func look() {
    observers()
    for index in tokens.indices {
      submodule(index)
      platform(index)
      actor(index)
      timer(index)
      advice(index)
    }
    leftSelectors()
    objc()
  }

  private mutating func add(_ index: Int, _ advice: String, _ edits: [PortFinding.Edit] = []) {
    found.append(PortFinding(offset: tokens[index].range.lowerBound, advice: advice, edits: edits))
  }

  private func edit(_ range: ClosedRange<Int>, _ text: String) -> PortFinding.Edit {
    PortFinding.Edit(
      range: tokens[range.lowerBound].range.lowerBound..<tokens[range.upperBound].range.upperBound, replacement: text)
  }

  // MARK: - One rule each

  private mutating func submodule(_ index: Int) {
    guard source.reads(["import", "ExternalAccessory", "."], at: index), index + 3 < tokens.count,
      tokens[index + 3].kind == .word
    else { return }
    add(
      index, "there are no submodules on Linux: import ExternalAccessory",
      [edit(index...index + 3, "import ExternalAccessory")])
  }

  private mutating func platform(_ index: Int) {
    guard tokens[index].text == "#if",
      let line = tokens[index...].firstIndex(where: { $0.kind == .newline }),
      tokens[index..<line].contains(where: { $0.text == "os" })
    else { return }
    let condition = tokens[index + 1..<line].map(\.text).joined()
    guard condition.contains("os(iOS)") else { return }
    let body = branch(from: line)
    let names = tokens[body].filter { $0.kind == .word }.map(\.text)
    guard names.contains("ExternalAccessory") || names.contains(where: Self.isExternalAccessoryName) else { return }
    let others = ["UIKit", "SwiftUI", "CoreBluetooth", "UIApplication", "UIDevice", "UIViewController"]
    let foreign = names.filter { others.contains($0) }
    if condition == "os(iOS)", foreign.isEmpty {
      add(
        index, "this is false on Linux: ask for the framework, not for the system",
        [edit(index + 1...line - 1, "canImport(ExternalAccessory)")])
    } else {
      let reason = foreign.isEmpty ? "" : ", and move \(foreign[0]) out of it"
      add(index, "this is false on Linux: use #if canImport(ExternalAccessory)\(reason)")
    }
  }

  private static func isExternalAccessoryName(_ name: String) -> Bool {
    name.hasPrefix("EAAccessory") || name.hasPrefix("EASession") || name.hasPrefix("EAWiFi")
      || name.hasPrefix("EABluetooth")
  }

  /// The tokens from an `#if` to its `#else`, `#elseif` or `#endif`.
  private func branch(from start: Int) -> Range<Int> {
    var depth = 0
    for index in start..<tokens.count {
      switch tokens[index].text {
      case "#if": depth += 1
      case "#endif" where depth > 0: depth -= 1
      case "#else" where depth == 0, "#elseif" where depth == 0, "#endif": return start..<index
      default: break
      }
    }
    return start..<tokens.count
  }

  private mutating func actor(_ index: Int) {
    guard tokens[index].text == "actor", let colon = source.end(of: [":", "NSObject"], at: index + 2),
      index + 1 < tokens.count, tokens[index + 1].kind == .word,
      let open = tokens[colon...].firstIndex(where: { $0.text == "{" }), let close = source.close(of: open)
    else { return }
    let text = "an actor with the base NSObject compiles on Linux and does not link"
    let usesBase = tokens[open..<close].contains { $0.text == "super" || $0.text == "override" }
    let isForeign = tokens[open..<close].contains { $0.text == "@objc" }
    let bases = tokens[colon..<open].filter { $0.kind != .newline }
    guard !usesBase, !isForeign else {
      return add(index, text + ": drop NSObject, and what overrides it or needs @objc")
    }
    // ": NSObject, A" becomes ": A"; ": NSObject" alone goes with its colon.
    if bases.first?.text == ",", let next = tokens[colon...].firstIndex(where: { $0.text == "," }) {
      let first = tokens[colon - 1].range.lowerBound
      let last = tokens[next + 1].range.lowerBound
      add(index, text + ": drop NSObject", [.init(range: first..<last, replacement: "")])
    } else if bases.isEmpty {
      let range = tokens[index + 1].range.upperBound..<tokens[colon - 1].range.upperBound
      add(index, text + ": drop NSObject", [.init(range: range, replacement: "")])
    } else {
      add(index, text + ": drop NSObject")
    }
  }

  private mutating func advice(_ index: Int) {
    let rules: [([String], String)] = [
      (
        ["import", "UIKit"],
        "there is no UIKit: import ExternalAccessoryAppStandIns on Linux, or move this to another target"
      ),
      (
        ["import", "Combine"], "there is no Combine: a target named Combine that exports OpenCombine, or AsyncSequence"
      ),
      (["NSPredicate", "(", "format"], "there are no format strings: NSPredicate { object, _ in … }"),
      (["accessoryDidDisconnect", "?", "("], "optional methods are default methods on Linux: leave the ? out there"),
      ([".", "stream", "?", "("], "optional methods are default methods on Linux: leave the ? out there"),
      (["@objcMembers"], "there is no Objective-C on Linux: drop it, with the selectors that need it"),
      (
        ["perform", "(", "#selector"],
        "there is no perform(_:on:with:): add Timer(fire: Date(), …) { … } to that run loop"
      ),
    ]
    for (words, text) in rules where tokens[index].text == words[0] && source.reads(words, at: index) {
      add(index, text)
      if words.last == "#selector", let end = source.end(of: words, at: index) { handled.insert(end - 1) }
    }
    if source.reads(["NSLog", "("], at: index), let close = source.close(of: index + 1),
      tokens[index + 2].text.contains("%@"), close > index + 3
    {
      add(index, "NSLog with %@ needs objects of Foundation on Linux: interpolate the value instead")
    }
  }

  private mutating func leftSelectors() {
    for index in tokens.indices where tokens[index].text == "#selector" && !handled.contains(index) {
      add(index, "there is no #selector on Linux: pass a closure")
    }
  }

  private mutating func objc() {
    let named = tokens.indices.filter { tokens[$0].text == "#selector" && !handled.contains($0) }.compactMap { index in
      tokens[index...].prefix(8).last { $0.kind == .word && $0.text != "self" }?.text
    }
    for index in tokens.indices where tokens[index].text == "@objc" {
      let rest = tokens[index...].prefix(8)
      let name = rest.firstIndex { $0.text == "func" }.flatMap { rest.dropFirst($0 + 1 - index).first?.text } ?? ""
      guard freed.contains(index), !named.contains(name) else {
        add(index, "there is no Objective-C on Linux: drop @objc, with the selectors that need it")
        continue
      }
      let end = index + 1 < tokens.count ? tokens[index + 1].range.lowerBound : tokens[index].range.upperBound
      let isAlone = tokens[index + 1].kind == .newline
      let range = tokens[index].range.lowerBound..<(isAlone ? nextWord(after: index) : end)
      add(index, "no selector names this method any more: drop @objc", [.init(range: range, replacement: "")])
    }
  }

  /// The offset of the next token that is not a newline.
  private func nextWord(after index: Int) -> Int {
    tokens[(index + 1)...].first { $0.kind != .newline }?.range.lowerBound ?? source.bytes.count
  }
}

// MARK: - Calls with a selector

extension Porter {
  /// The arguments of a call, by label, as tokens.
  private func arguments(_ open: Int) -> (labels: [String], values: [Range<Int>], close: Int)? {
    guard let close = source.close(of: open) else { return nil }
    var (labels, values, depth, begin) = ([String](), [Range<Int>](), 0, open + 1)
    func take(_ end: Int) -> (String, Range<Int>) {
      var first = begin
      while first < end, tokens[first].kind == .newline { first += 1 }
      if first + 1 < end, tokens[first].kind == .word, tokens[first + 1].text == ":" {
        return (tokens[first].text, first + 2..<end)
      }
      return ("", first..<end)
    }
    for index in open + 1..<close {
      if "([{".contains(tokens[index].text) { depth += 1 }
      if ")]}".contains(tokens[index].text) { depth -= 1 }
      if tokens[index].text == ",", depth == 0 {
        let (label, value) = take(index)
        (labels, values, begin) = (labels + [label], values + [value], index + 1)
      }
    }
    let (label, value) = take(close)
    return (labels + [label], values + [value], close)
  }

  private func text(_ tokens: Range<Int>) -> String {
    guard let first = self.tokens[tokens].first, let last = self.tokens[tokens].last(where: { $0.kind != .newline })
    else { return "" }
    return source.text(first.range.lowerBound..<last.range.upperBound)
  }

  /// The method that `#selector(…)` names, if it is in the type around and takes at most one argument of this type.
  private func method(_ value: Range<Int>, in type: SwiftTypes.Declaration, takes wanted: String) -> SwiftTypes.Method?
  {
    let words = tokens[value].filter { $0.kind != .newline }.map(\.text)
    guard words.first == "#selector", words.count > 3 else { return nil }
    var name = Array(words.dropFirst(2).dropLast())
    if name.starts(with: ["self", "."]) || name.starts(with: [type.name, "."]) { name.removeFirst(2) }
    guard let plain = name.first, name.count == 1 || name[1] == "(" else { return nil }
    let methods = types.methods(plain, of: type.name)
    guard methods.count == 1, let method = methods.first, method.parameters.count <= 1,
      method.parameters.allSatisfy({ $0.type == wanted })
    else { return nil }
    return method
  }

  private func closure(_ method: SwiftTypes.Method, _ value: String) -> String {
    guard let parameter = method.parameters.first else { return "{ [weak self] _ in self?.\(method.name)() }" }
    let label = parameter.label == "_" ? "" : "\(parameter.label): "
    return "{ [weak self] \(value) in self?.\(method.name)(\(label)\(value)) }"
  }

  private mutating func timer(_ index: Int) {
    guard tokens[index].text == "Timer", tokens[max(0, index - 1)].text != "." else { return }
    let isScheduled = source.reads(["Timer", ".", "scheduledTimer", "("], at: index)
    let open = index + (isScheduled ? 3 : 1)
    guard isScheduled || source.reads(["Timer", "("], at: index), let call = arguments(open),
      call.labels == ["timeInterval", "target", "selector", "userInfo", "repeats"]
    else { return }
    let selector = call.values[2].first { tokens[$0].text == "#selector" }
    let interval = text(call.values[0])
    let isPlain = tokens[call.values[0]].allSatisfy { $0.kind != .punctuation || $0.text == "." }
    guard let type = types.around(index), ["class", "extension"].contains(type.keyword), !type.isOnMainActor,
      text(call.values[1]) == "self", text(call.values[3]) == "nil", isScheduled || isPlain,
      let method = method(call.values[2], in: type, takes: "Timer"), let selector
    else {
      if let selector { handled.insert(selector) }
      return add(index, "there are no timers with a selector: Timer.scheduledTimer(withTimeInterval:repeats:) { … }")
    }
    handled.insert(selector)
    if let objc = method.objc { freed.insert(objc) }
    let repeats = text(call.values[4])
    let begin =
      isScheduled
      ? "Timer.scheduledTimer(withTimeInterval: \(interval), repeats: \(repeats))"
      : "Timer(fire: Date(timeIntervalSinceNow: \(interval)), interval: \(interval), repeats: \(repeats))"
    add(
      index, "there are no timers with a selector: a block, which does not hold its target",
      [edit(index...call.close, "\(begin) \(closure(method, "timer"))")])
  }

  private mutating func observers() {
    let calls = tokens.indices.filter { source.reads(["addObserver", "(", "self", ",", "selector", ":"], at: $0) }
    for (name, group) in Dictionary(grouping: calls, by: { types.around($0)?.name ?? "" }) {
      guard let plans = plan(group, name) else {
        for index in group {
          add(
            index,
            "there are no observers with a selector: addObserver(forName:object:queue:) { … }, and keep its token")
        }
        continue
      }
      for plan in plans { found.append(plan) }
    }
    for index in calls {
      if let call = arguments(index + 1) {
        handled.formUnion(call.values.joined().filter { tokens[$0].text == "#selector" })
      }
    }
  }

  /// The edits for all observers of one type, with a property for their tokens; nil where one of them is not sure.
  private mutating func plan(_ calls: [Int], _ name: String) -> [PortFinding]? {
    let property = "observerTokens"
    guard let type = types.declarations.first(where: { $0.name == name && $0.keyword == "class" }),
      !types.declarations.contains(where: { $0.name == name && $0.isOnMainActor }),
      !tokens.contains(where: { $0.text == property })
    else { return nil }
    var (plans, objc): ([PortFinding], [Int]) = ([], [])
    for index in calls {
      guard let begin = statement(endingAt: index), let call = arguments(index + 1),
        call.labels == ["", "selector", "name", "object"],
        call.close + 1 >= tokens.count || ["\n", "}", ";"].contains(tokens[call.close + 1].text),
        let method = method(call.values[1], in: type, takes: "Notification")
      else { return nil }
      if let token = method.objc { objc.append(token) }
      let center = source.text(tokens[begin].range.lowerBound..<tokens[index].range.lowerBound)
      let new =
        "\(property).append(\(center)addObserver(forName: \(text(call.values[2])), object: \(text(call.values[3])), "
        + "queue: nil) \(closure(method, "notification")))"
      plans.append(
        PortFinding(
          offset: tokens[begin].range.lowerBound,
          advice: "there are no observers with a selector: a block, and its token",
          edits: [edit(begin...call.close, new)]))
    }
    for index in tokens.indices where tokens[index].text == "removeObserver" && type.body.contains(index) {
      guard let begin = statement(endingAt: index), let end = source.end(of: ["(", "self", ")"], at: index + 1) else {
        return nil
      }
      let center = source.text(tokens[begin].range.lowerBound..<tokens[index].range.lowerBound)
      plans.append(
        PortFinding(
          offset: tokens[begin].range.lowerBound, advice: "remove the tokens instead of the observer",
          edits: [edit(begin...end - 1, "\(property).forEach { \(center)removeObserver($0) }")]))
    }
    let body = tokens[type.body.lowerBound - 1].range.upperBound
    let indent = String(repeating: " ", count: indentation(of: type.body))
    plans.append(
      PortFinding(
        offset: body, advice: "a place for the tokens of observers",
        edits: [
          .init(range: body..<body, replacement: "\n\(indent)private var \(property): [any NSObjectProtocol] = []")
        ]))
    freed.formUnion(objc)
    return plans
  }

  /// The beginning of the statement whose call is at `index`: only "a.b.c." may come before it on its line.
  private func statement(endingAt index: Int) -> Int? {
    var begin = index
    while begin >= 2, tokens[begin - 1].text == ".", tokens[begin - 2].kind == .word { begin -= 2 }
    guard begin < index, begin == 0 || ["\n", "{", ";"].contains(tokens[begin - 1].text) else { return nil }
    return begin
  }

  private func indentation(of body: Range<Int>) -> Int {
    guard let first = tokens[body].first(where: { $0.kind != .newline }) else { return 2 }
    let column = source.place(of: first.range.lowerBound).column - 1
    return column > 0 && column <= 16 ? column : 2
  }
}
