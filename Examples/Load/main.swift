import AccessoryCore
// A load test in Swift: sends 50 bursts of 10,000 bytes to a simulated accessory with a flicker, in virtual time.
import AccessoryHost
import AccessoryLoad
import AccessoryProfiles
import AccessoryWorlds
import LinuxIO

let loop = VirtualLoop(seed: 7)
var plan = BurstPlan()
plan.extent = .bursts(50)
let runner = BurstRunner(plan, on: loop)
let site = runner.addSite("echo")

let world = World(on: loop)
var profile = try ProfileLibrary().profile("echo")
profile.apply(try Quirk("flicker"))
let accessory = world.add(profile)
let app = world.device.makeApp(site, settings: BurstRunner.appSettings())

runner.start()
try accessory.plugIn()
_ = try loop.run(until: { runner.outcome != nil }, limit: .seconds(60))
print(runner.report.text)
precondition(runner.outcome == .done, "not every burst came back as it was sent")
