import AccessoryControl
import AccessoryFormats
import Glibc

extension CommandSpec {
  static let ctl = CommandSpec(
    name: "ctl", summary: "send one request to a running 'easim serve --control'",
    details: """
      Call METHOD of the control protocol with the given parameters and print its result as JSON. docs/control-reference.md
      lists the methods; 'easim ctl rpc.discover' prints them. To pass a list, repeat the parameter. Apps that you launch
      keep running after the command exits.

      --control, or the environment variable EASIM_CONTROL, selects the server.

      Exit codes: 0 done, 1 another error, 2 a wrong request, 3 no server, 4 timed out, 5 the object is gone, 6 the session
      was refused.
      """,
    examples: [
      "easim ctl accessory.add profile=lawk-view quirks=flicker", "easim ctl accessory.plug accessory=a1",
      "easim ctl --control /tmp/easim.sock accessory.list",
    ],
    run: runCtl)
}

private struct CtlOptions: CommandOptions {
  var method = ""
  var parameters: [String] = []
  var control: String?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [
    Operand(\.method, .text, as: "METHOD", offered: ControlMethods.all.map(\.name)),
    Operand(each: "KEY=VALUE…", 0...1_000, \.parameters, .text),
  ]
  static let options: [Option<Self>] = [
    Option("--control", \.control, .optional(.text), as: "PATH", "the server's unix socket")
  ]
}

private func runCtl(_ options: CtlOptions, _ console: Console) throws -> ExitCode {
  guard let path = options.control ?? getenv("EASIM_CONTROL").map({ String(cString: $0) }) else {
    throw UsageError("no server given: use --control PATH, or set EASIM_CONTROL to the path of the server's socket")
  }
  let params = try ControlWords.params(options.parameters, for: options.method)
  guard let line = ControlLine(path: path) else {
    console.err("easim: no server answers at \(path): start one with 'easim serve --control \(path.shellWord)'")
    return .unreachable
  }
  line.send("{\"jsonrpc\":\"2.0\",\"method\":\"client.detach\"}\n")
  let request: JSONObject = [
    "jsonrpc": "2.0", "id": 1, "method": options.method, "params": JSONObject(.object(params)),
  ]
  line.send(request.text + "\n")
  while let text = line.receive() {
    let answer = try JSON5.read(text, file: path, limits: .init(bytes: 64 << 20, depth: 100))
    guard answer["id"] != nil else { continue }
    if let result = answer["result"] {
      console.out(String(JSON5Writer.write(result, as: .json).dropLast()))
      return result["reached"]?.content == .boolean(false) ? .timedOut : .done
    }
    let error = answer["error"]
    let advice = error?["data"]?["advice"].map { "; \($0.word)" } ?? ""
    console.err("easim: \(error?["message"]?.word ?? "the server answered without a result")\(advice)")
    switch error?["data"]?["kind"]?.word {
    case "params", "method", "request", "unknown", "parse": return .usage
    case "gone": return .gone
    case "refused": return .refused
    default: return .checkFailed
    }
  }
  console.err("easim: the server at \(path) closed the connection")
  return .unreachable
}

enum ControlWords {
  static func params(_ words: [String], for name: String) throws -> [JSON5Member] {
    let fields = ControlMethods.all.first { $0.name == name }?.params.fields ?? []
    var members: [JSON5Member] = []
    for word in words {
      guard let equals = word.firstIndex(of: "="), equals != word.startIndex else {
        throw UsageError("'\(Excerpt.of(word))' is not a parameter: write KEY=VALUE")
      }
      let (key, text) = (String(word[..<equals]), String(word[word.index(after: equals)...]))
      let shape = fields.first { $0.key == key }?.shape
      if case .list(let element, _)? = shape, !text.hasPrefix("[") {
        let value = try value(text, element)
        if let index = members.firstIndex(where: { $0.key == key }),
          case .array(let others) = members[index].value.content
        {
          members[index].value = .array(others + [value])
        } else {
          members.append(JSON5Member(key, .array([value])))
        }
      } else {
        members.append(JSON5Member(key, try value(text, shape)))
      }
    }
    return members
  }

  private static func value(_ text: String, _ shape: Shape?) throws -> JSON5Value {
    if text.hasPrefix("{") || text.hasPrefix("[") { return try JSON5.read(text, file: "argument") }
    return JSON5Value(shape?.content(of: text) ?? .text(text))
  }
}
