import Glibc

/// Whether this process runs in the guest of Scripts/bench --kernel, which has its own figures.
let isInGuest = CommandLine.arguments.contains("--in-guest")

/// All figures, in the order in which they are measured.
let allFigures: [Figure] =
  isInGuest
  ? Figure.usbs
  : Figure.echoes + Figure.loopbacks + Figure.roundTrips + Figure.packetRates + Figure.apps + [
    .packet, .receiveStep, .buildStep,
  ]
    + Figure.carries + Figure.allocations + Figure.splits + Figure.idles + Figure.crowds + Figure.flickers
    + Figure.worlds + [.idleFault] + Figure.pacings + Figure.curves + Figure.usbips + Figure.programs

let usage = """
  Scripts/bench [--kernel [--counted]] [NAME…] [--json] [--list] [--pairs N] [--seconds S] [--side WHICH]

  Measures every figure, or those named: a whole name, or the first part of several (echo, echo.tcp).
  Each stands beside its floor, measured in turns within the same run; the number to look at is the ratio.

    --kernel     as the first word: the figures of USB, in a guest with a kernel of its own
    --counted    as the second: the guest's clock counts instructions, one a nanosecond
    --list       the figures and what is asked of them
    --json       one object per figure and line
    --pairs N    pairs per figure (at least 7; 11 when left out)
    --seconds S  how long one measurement takes, about (0.15 when left out)
    --side WHICH both halves of each pair are ours, or both the floor's: for a profiler, and to see what the machine does

  Exit code: 0 when every target is met, 1 when one is missed, 2 for a wrong command line.
  """

/// Writes a whole line immediately, so that it is not delayed by the next figure, which takes seconds.
func write(_ text: String, to descriptor: Int32) {
  var left = Array("\(text)\n".utf8)[...]
  while !left.isEmpty {
    let count = left.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
    if count < 0, errno != EINTR { return }
    left = left.dropFirst(max(0, count))
  }
}

func fail(_ text: String, code: Int32) -> Never {
  write("bench: \(text)", to: STDERR_FILENO)
  exit(code)
}

var words = Array(CommandLine.arguments.dropFirst())
if words.first == OtherProcess.flag {
  let part = words.count > 1 ? words[1] : ""
  let rest = Array(words.dropFirst(2))
  do {
    if let echo = EchoPart(rawValue: part) { try echo.play(rest) }
    if let idle = IdlePart(rawValue: part) { try idle.play(rest) }
    if let crowd = CrowdPart(rawValue: part) { try crowd.play(rest) }
    if let usb = USBPart(rawValue: part) { try usb.play() }
  } catch {
    fail("\(part): \(error)", code: 1)
  }
  exit(0)
}

if words.first == CountedWork.flag {
  guard words.count == 3, let work = CountedWork(rawValue: words[1]), let batches = Int(words[2]), batches > 0 else {
    fail(
      "\(CountedWork.flag) needs \(CountedWork.allCases.map(\.rawValue).joined(separator: ", ")), and a number", code: 2
    )
  }
  do { try work.perform(batches: batches) } catch { fail("\(work.rawValue): \(error)", code: 1) }
  exit(0)
}

var plan = MeasuringPlan()
var isJSON = false
var isList = false
var names: [String] = []
while !words.isEmpty {
  let word = words.removeFirst()
  switch word {
  case "--help", "-h":
    write(usage, to: STDOUT_FILENO)
    exit(0)
  case "--in-guest": break
  case "--json": isJSON = true
  case "--list": isList = true
  case "--pairs":
    guard let value = words.first.flatMap(Int.init), value >= 7 else { fail("--pairs needs a number from 7", code: 2) }
    plan.pairs = value
    words.removeFirst()
  case "--seconds":
    guard let value = words.first.flatMap(Double.init), value > 0 else { fail("--seconds needs a time", code: 2) }
    plan.seconds = value
    words.removeFirst()
  case "--side":
    guard let side = words.first.flatMap(MeasuringPlan.Side.init) else { fail("--side needs ours or floor", code: 2) }
    plan.side = side
    words.removeFirst()
  default:
    guard allFigures.contains(where: { $0.isMeant(by: word) }) else {
      fail("no figure '\(word)'; Scripts/bench --list shows them", code: 2)
    }
    names.append(word)
  }
}

signal(SIGPIPE, SIG_IGN)
var allMet = true
for figure in allFigures where names.isEmpty || names.contains(where: figure.isMeant) {
  if isList {
    let target = figure.target.text(unit: figure.unit).map { "  (target: \($0))" } ?? ""
    write("\(figure.name)  \(figure.summary)\(target)", to: STDOUT_FILENO)
    continue
  }
  do {
    let measurement = try figure.measure(plan)
    let report = Report(figure: figure, measurement: measurement)
    write(isJSON ? report.json : report.text + "\n", to: STDOUT_FILENO)
    if figure.target.isMet(by: measurement) == false { allMet = false }
  } catch {
    fail("\(figure.name): \(error)", code: 1)
  }
}
exit(allMet ? 0 : 1)
