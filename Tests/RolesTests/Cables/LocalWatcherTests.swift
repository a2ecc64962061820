import AccessoryCore
import AccessoryHost
import AccessorySimulator
import Glibc
import TestSupport
import Testing

@testable import AccessoryCables

@Suite(.waits) struct LocalWatcherTests {
  struct Scene {
    let lab: LocalLab
    let watcher: LocalWatcher
    let accessory: SimulatedAccessory

    init() throws {
      lab = try LocalLab()
      try lab.directory.make()
      watcher = lab.watcher()
      try watcher.start()
      accessory = try lab.accessory(try lab.profile(serial: "S1"))
      try accessory.plugIn()
      lab.run(until: { lab.changes.count == 1 })
    }
  }

  @Test func comingAndGoingIsToldWithoutTakingACable() throws {
    let scene = try Scene()
    let (lab, accessory) = (scene.lab, scene.accessory)
    accessory.unplug()
    lab.run(until: { lab.changes.count == 2 })
    #expect(lab.changes == ["arrived S1 [\"com.example.echo\"]", "left S1: removed from the local directory"])
    #expect(scene.watcher.accessories.isEmpty)
    #expect(lab.files == [])
  }

  @Test func whatIsThereAlreadyIsToldAtOnceAndOnce() throws {
    let lab = try LocalLab()
    for serial in ["S1", "S2", "S3"] {
      let accessory = try lab.accessory(try lab.profile(serial: serial))
      try accessory.plugIn()
      defer { accessory.unplug() }
      // Each card is kept until the watcher has seen it.
      let watcher = lab.watcher()
      try watcher.start()
      #expect(lab.changes == ["arrived \(serial) [\"com.example.echo\"]"])
      lab.settle()
      #expect(lab.changes.count == 1)
      lab.changes = []
      watcher.stop()
    }
  }

  @Test(arguments: [0, 3])
  func aLocalDirectoryThatIsNotThereYetIsWaitedFor(depth: Int) throws {
    let lab = try LocalLab(depth: depth)
    let watcher = lab.watcher()
    try watcher.start()
    lab.settle()
    #expect(lab.changes == [])
    for level in 1...(depth + 1) where level <= depth { mkdir(lab.root + String(repeating: "/d", count: level), 0o700) }
    let accessory = try lab.accessory(try lab.profile(serial: "S1"))
    try accessory.plugIn()
    lab.run(until: { !lab.changes.isEmpty })
    #expect(lab.changes == ["arrived S1 [\"com.example.echo\"]"])
    accessory.unplug()
  }

  @Test func aLocalDirectoryThatIsRemovedAndComesBackIsFollowed() throws {
    let scene = try Scene()
    let (lab, accessory) = (scene.lab, scene.accessory)
    rename(lab.directory.path, lab.root + "/away")
    lab.run(until: { lab.changes.count == 2 })
    #expect(lab.changes.last == "left S1: the local directory was removed")
    rename(lab.root + "/away", lab.directory.path)
    lab.run(until: { lab.changes.count == 3 })
    #expect(lab.changes.last == "arrived S1 [\"com.example.echo\"]")
    accessory.unplug()
    lab.run(until: { lab.changes.count == 4 })
  }

  @Test func anAccessoryThatIsGoneBeforeItsCardIsReadIsToldAllTheSame() throws {
    let lab = try LocalLab()
    try lab.directory.make()
    let watcher = lab.watcher()
    try watcher.start()
    let accessory = try lab.accessory(try lab.profile(serial: "S1"))
    // The loop does not run between these steps, so the watcher runs too late to read any card.
    for _ in 0..<3 {
      try accessory.plugIn()
      accessory.unplug()
    }
    lab.run(until: { lab.changes.count == 3 })
    #expect(lab.changes == ["passed ?", "passed ?", "passed ?"])
    try accessory.plugIn()
    lab.run(until: { lab.changes.count == 4 })
    accessory.unplug()
    try accessory.plugIn()
    accessory.unplug()
    lab.run(until: { lab.changes.count == 6 })
    #expect(lab.changes.last == "passed S1", "it is known from its earlier attachment")
  }

  @Test func moreThanTheKernelKeepsIsSaidAndThePresentIsRight() throws {
    let scene = try Scene()
    let (lab, staying) = (scene.lab, scene.accessory)
    let setting = try #require(SmallFile.read("/proc/sys/fs/inotify/max_queued_events"))
    let limit = try #require(Int(String(decoding: setting.dropLast(), as: UTF8.self)))
    let (from, to) = (lab.directory.path + "/x", lab.directory.path + "/y")
    close(open(from, O_CREAT | O_WRONLY, 0o600))
    for _ in 0...(limit / 4) {
      rename(from, to)
      rename(to, from)
    }
    unlink(from)
    let late = try lab.accessory(try lab.profile(serial: "S2"))
    try late.plugIn()
    staying.unplug()
    lab.run(until: { lab.changes.count == 4 })
    #expect(lab.changes[1].hasPrefix("warning the local directory"))
    #expect(
      Set(lab.changes[2...]) == ["left S1: removed from the local directory", "arrived S2 [\"com.example.echo\"]"])
    late.unplug()
  }

  @Test func aCardThatNobodyCanReadIsAWarningAndNotAnAccessory() throws {
    let scene = try Scene()
    let (lab, accessory) = (scene.lab, scene.accessory)
    let card = try #require(lab.files.first { $0.hasSuffix(".json") })
    let draft = lab.directory.path + "/draft"
    let file = open(draft, O_CREAT | O_WRONLY, 0o600)
    write(file, "{oops", 5)
    close(file)
    rename(draft, lab.directory.path + "/" + card)
    lab.run(until: { lab.changes.count == 2 })
    #expect(lab.changes[1].contains("\(card):1:6"), "\(lab.changes)")
    accessory.unplug()
    lab.run(until: { lab.changes.count == 3 })
  }
}
