extension CommandSpec {
  static let all: [CommandSpec] = [
    .demo, .run, .list, .watch, .info, .check, .send, .pipe, .proxy, .burst, .report, .console, .pair, .unpair, .plug,
    .decode,
    .trace, .redact,
    .replay,
    .profile, .quirk, .fault, .scenario, .soak, .serve, .ctl, .extcap, .doctor, .completion, .man,
  ]
}
