import AccessoryFormats
import AccessoryPages

extension ControlMethods {
  static let traces: [ControlMethod] = [
    ControlMethod(
      "trace.get",
      "Get a self-contained HTML page that shows what happened in a world: lanes, packets, log and verdict. By default "
        + "it contains only the first packets of each cable; to include the rest, call packet.record first.",
      TraceAsking.format, .only("trace", "html", .text, "the page"), effect: .reads,
      errors: [.unknown, .gone],
      example: "{\"text\":\"the greeting did not arrive\"}",
      exampleResult: "{\"html\":\"<!doctype html>…\"}"
    ) { call, asked in
      let job = try asked.job.map { try call.server.jobs.find($0) }
      let world = try job?.world ?? call.server.world(asked.world)
      let verdict = job.map { TraceVerdict("\($0.state.state)", $0.outcome?.text ?? $0.title) }
      let trace = job?.trace ?? world.trace
      return String(decoding: trace.page(verdict ?? TraceVerdict(asked.verdict, asked.text)), as: UTF8.self)
    }
  ]
}

extension ControlWorld {
  fileprivate var trace: TraceRecorder {
    let trace = TraceRecorder(
      program: "easim \(server.settings.version)", command: "the world \(id)",
      time: virtual == nil ? "real" : "virtual", packets)
    for notice in notices(after: 0, atMost: .max) { trace.add(notice.method, params: notice.json, at: notice.time) }
    return trace
  }
}

private struct TraceAsking: Equatable, Sendable {
  var world = "main"
  var job: String?
  var verdict = ""
  var text = ""

  static let format = Record("asking for a trace", "", TraceAsking()) {
    Field("world", \.world, .text, "the id of the world")
    Field("job", \.job, .optional(.text), "the id of a job whose world and result to show")
    Field("verdict", \.verdict, .text, "the word at the top of the page, such as `failed`")
    Field("text", \.text, .text, "the sentence at the top of the page")
  }
}
