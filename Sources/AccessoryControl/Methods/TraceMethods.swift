import AccessoryFormats
import AccessoryPages

extension ControlMethods {
  static let traces: [ControlMethod] = [
    ControlMethod(
      "trace.get",
      "Get a self-contained HTML page that shows what happened in a world: lanes, packets, log and verdict. By "
        + "default, the page contains only the first packets of each cable; to include the rest, call packet.record "
        + "first.",
      .init(
        "asking for a trace", .world,
        Argument(optional: "job", .text, "the id of the job whose world and result to show"),
        Argument("verdict", .text, "the word at the top of the page, such as `failed`", from: ""),
        Argument("text", .text, "the sentence at the top of the page", from: "")),
      .only("trace", "html", .text, "the page"), effect: .reads,
      errors: [.unknown, .gone],
      example: "{\"text\":\"the greeting did not arrive\"}",
      exampleResult: "{\"html\":\"<!doctype html>…\"}"
    ) { call, world, job, word, text in
      let job = try job.map { try call.server.jobs.find($0) }
      let world = try job?.world ?? call.server.world(world)
      let verdict = job.map { TraceVerdict("\($0.state)", $0.outcome?.text ?? $0.title) }
      let trace = job?.trace ?? world.trace
      return String(decoding: trace.page(verdict ?? TraceVerdict(word, text)), as: UTF8.self)
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
