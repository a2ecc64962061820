// swift-tools-version: 6.2
// The number beside each target is its floor; Scripts/check-house checks that dependencies only go down.
import PackageDescription

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]

/// For targets that call C without importing it. An imported C module would be needed by every target that can see
/// ExternalAccessory, even by one that only asks `#if canImport(ExternalAccessory)` and does not depend on easim.
let callingC = settings + [.enableExperimentalFeature("Extern")]

/// A library target. `floor` is read by Scripts/check-house, not by SwiftPM.
func library(
  _ name: String, floor: Int, _ dependencies: [Target.Dependency] = [], exclude: [String] = [],
  resources: [Resource] = [], swift: [SwiftSetting] = settings, linker: [LinkerSetting] = []
) -> Target {
  .target(
    name: name, dependencies: dependencies, exclude: exclude, resources: resources, swiftSettings: swift,
    linkerSettings: linker)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: settings)
}

/// The commit and its day, for `easim --version`. Scripts give them to release builds: EASIM_COMMIT and EASIM_DATE.
let origin: [CSetting] = ["EASIM_COMMIT", "EASIM_DATE"].compactMap { name in
  guard let value = Context.environment[name], !value.isEmpty,
    value.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "-" })
  else { return nil }
  return .define(name, to: "\"\(value)\"")
}

let package = Package(
  name: "easim",
  products: [
    .executable(name: "easim", targets: ["easim"]),
    .library(name: "IAP2", targets: ["IAP2"]),
    .library(name: "AccessoryProfiles", targets: ["AccessoryProfiles"]),
    .library(name: "ExternalAccessory", targets: ["ExternalAccessory"]),
    .library(name: "ExternalAccessoryHardware", targets: ["AccessoryHardware"]),
    .library(name: "ExternalAccessoryAppStandIns", targets: ["ExternalAccessoryAppStandIns"]),
    .library(name: "ExternalAccessoryAsync", targets: ["ExternalAccessoryAsync"]),
    .library(name: "ExternalAccessorySimulation", targets: ["ExternalAccessorySimulation"]),
    .library(name: "ExternalAccessoryXCTest", targets: ["ExternalAccessoryXCTest"]),
    .library(name: "AccessoryLoad", targets: ["AccessoryLoad"]),

    // For the package of benchmarks; docs/dev/public-api.md says which products are stable.
    .library(name: "AccessoryCore", targets: ["AccessoryCore"]),
    .library(name: "AccessoryCaptures", targets: ["AccessoryCaptures"]),
    .library(name: "AccessoryTransports", targets: ["AccessoryTransports"]),
    .library(name: "AccessoryUSB", targets: ["AccessoryUSB"]),
    .library(name: "Certificates", targets: ["Certificates"]),
    .library(name: "AccessorySessions", targets: ["AccessorySessions"]),
    .library(name: "AccessoryCables", targets: ["AccessoryCables"]),
    .library(name: "AccessorySimulator", targets: ["AccessorySimulator"]),
    .library(name: "AccessoryHost", targets: ["AccessoryHost"]),
    .library(name: "AccessoryWorlds", targets: ["AccessoryWorlds"]),
    .library(name: "AccessoryReplay", targets: ["AccessoryReplay"]),
    .library(name: "AccessorySoak", targets: ["AccessorySoak"]),
    .library(name: "CLinux", targets: ["CLinux"]),
    .library(name: "AccessoryControl", targets: ["AccessoryControl"]),
    .library(name: "PropertyLists", targets: ["PropertyLists"]),
  ],
  targets: [
    // Below all floors: what the protocol and everything else are written with.
    library("WireBasics", floor: -1),
    .target(name: "CLinux"),
    // Which commit this is.
    .target(name: "CBuild", cSettings: origin),
    // The files of the live page, embedded by the compiler.
    .target(name: "CPage", exclude: ["files"]),
    // Libraries that are loaded when they are needed: libmicrohttpd, and sd-bus of libsystemd.
    .target(name: "CMicroHTTPD", dependencies: ["CLinux"]),
    .target(name: "CSystemd", dependencies: ["CLinux"]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CLibUSB", pkgConfig: "libusb-1.0", providers: [.apt(["libusb-1.0-0-dev"])]),
    .systemLibrary(name: "CUdev", pkgConfig: "libudev", providers: [.apt(["libudev-dev"])]),
    .systemLibrary(name: "CPlist", pkgConfig: "libplist-2.0", providers: [.apt(["libplist-dev"])]),

    // Floor 0: the protocol; loops, channels, addresses and text.
    library("IAP2", floor: 0, ["WireBasics"]),
    library("AccessoryCore", floor: 0, ["WireBasics"]),

    // Floor 1: real channels and loops; certificates; what an accessory is.
    // Library is a link to profiles/, whose files are compiled into the code.
    library(
      "AccessoryProfiles", floor: 1, ["AccessoryCore", "IAP2"],
      exclude: ["Library/schema", "Library/scenarios"], resources: [.embedInCode("Library")]),
    library("AccessoryCaptures", floor: 1, ["AccessoryCore", "IAP2"]),
    library("AccessoryTransports", floor: 1, ["AccessoryCore", "CLinux", "IAP2"], swift: callingC),
    library("AccessoryUSB", floor: 1, ["AccessoryCore", "CLinux", "CLibUSB", "CUdev"]),
    // By the name of the library itself, so that apps need no libssl-dev.
    library("Certificates", floor: 1, ["AccessoryCore"], swift: callingC, linker: [.linkedLibrary(":libcrypto.so.3")]),

    // Floor 2: the shared session layer.
    library("AccessorySessions", floor: 2, ["AccessoryCore", "IAP2"]),

    // Floor 2: Info.plists for programs without Foundation.
    library("PropertyLists", floor: 2, ["AccessoryProfiles", "AccessoryCore", "CPlist"]),

    // Floor 2: from an address to a cable, for both roles.
    library(
      "AccessoryCables", floor: 2,
      ["AccessoryCaptures", "AccessoryProfiles", "AccessoryTransports", "AccessoryCore", "CLinux"],
      swift: callingC),

    // Floor 2: Bluetooth, whose connections are channels of floor 1.
    library(
      "AccessoryBluetooth", floor: 2, ["AccessoryTransports", "AccessoryCore", "CLinux", "CSystemd"]),

    // Floor 3: what only programs with hardware link: USB and Bluetooth.
    library(
      "AccessoryHardware", floor: 3,
      [
        "AccessoryBluetooth", "AccessoryCables", "AccessoryProfiles", "AccessoryTransports", "AccessoryUSB",
        "AccessoryCore",
      ]),

    // Floor 3: the two roles, as a user thinks of them.
    library(
      "AccessorySimulator", floor: 3,
      [
        "AccessoryCables", "AccessorySessions", "AccessoryProfiles", "AccessoryTransports", "Certificates",
        "AccessoryCore", "IAP2",
      ]),
    library(
      "AccessoryHost", floor: 3,
      [
        "AccessoryCables", "AccessorySessions", "AccessoryProfiles", "AccessoryTransports", "Certificates",
        "AccessoryCore", "IAP2",
      ]),

    // Floor 4: both ends in one process.
    library(
      "AccessoryWorlds", floor: 4,
      [
        "AccessorySimulator", "AccessoryHost", "AccessoryCables", "AccessorySessions", "AccessoryProfiles",
        "AccessoryTransports", "Certificates", "AccessoryCore", "IAP2",
      ], resources: [.embedInCode("Library")]),

    // Floor 4: either end of a recording, played to the live other end.
    library(
      "AccessoryReplay", floor: 4,
      [
        "AccessorySimulator", "AccessoryHost", "AccessoryCables", "AccessorySessions", "AccessoryProfiles",
        "AccessoryCaptures", "Certificates", "AccessoryCore", "IAP2",
      ]),

    // Floor 5: seeded worlds and their rules.
    library(
      "AccessorySoak", floor: 5,
      [
        "AccessoryWorlds", "AccessorySimulator", "AccessoryHost", "AccessoryCables", "AccessorySessions",
        "AccessoryProfiles", "AccessoryTransports", "AccessoryCore", "IAP2",
      ]),

    // Floor 5: Apple's API.
    library(
      "ExternalAccessory", floor: 5,
      [
        "AccessoryHost", "AccessoryCables", "AccessorySessions", "AccessoryProfiles", "AccessoryTransports",
        "Certificates", "AccessoryCore", "IAP2",
      ]),

    // What apps of Apple's systems have beside it and Linux has not.
    library("ExternalAccessoryAppStandIns", floor: 5),

    // Floor 6: what tests hold in their hands.
    library(
      "ExternalAccessorySimulation", floor: 6,
      [
        "ExternalAccessory", "ExternalAccessoryAppStandIns", "AccessoryWorlds", "AccessorySimulator", "AccessoryHost",
        "AccessorySessions", "AccessoryProfiles", "AccessoryTransports", "AccessoryCore", "IAP2",
      ]),

    library("ExternalAccessoryAsync", floor: 6, ["ExternalAccessory"]),

    // Floor 7: the same for those whose tests are XCTest's.
    library("ExternalAccessoryXCTest", floor: 7, ["ExternalAccessorySimulation"]),

    // Floor 6: load tests, as a library.
    library(
      "AccessoryLoad", floor: 6,
      ["AccessoryHost", "AccessorySessions", "AccessoryCore", "IAP2"]),

    // Floor 6: is an accessory right? The device's side of a conformance run.
    library(
      "AccessoryCheck", floor: 6,
      ["AccessoryCables", "AccessoryTransports", "Certificates", "AccessoryCore", "IAP2"]),

    // Floor 7: the control protocol: worlds, accessories, apps and sessions for programs in any language.
    library(
      "AccessoryControl", floor: 7,
      [
        "AccessoryLoad", "AccessoryReplay", "AccessoryCaptures", "AccessorySoak", "AccessoryWorlds",
        "AccessorySimulator", "AccessoryHost", "AccessoryCables",
        "AccessorySessions",
        "AccessoryProfiles", "AccessoryTransports", "Certificates", "AccessoryCore", "IAP2", "CPage",
      ]),

    // Floor 7: the command line.
    .executableTarget(
      name: "easim",
      dependencies: [
        "AccessoryControl", "AccessoryCheck", "AccessoryLoad", "AccessoryReplay", "AccessorySoak", "AccessoryWorlds",
        "AccessorySimulator", "AccessoryHost", "AccessoryHardware", "AccessoryBluetooth", "AccessoryCables",
        "AccessorySessions", "AccessoryProfiles",
        "AccessoryCaptures", "AccessoryTransports", "AccessoryUSB", "Certificates", "AccessoryCore", "IAP2", "CBuild",
        "PropertyLists", "CLinux", "CMicroHTTPD",
      ], swiftSettings: settings),

    // An app of its own, as it would be on iOS: EADemo's session controller. Tests run it against `easim run`.
    .executableTarget(
      name: "EADemoClient", dependencies: ["ExternalAccessory", "AccessoryHardware"], swiftSettings: settings),

    // What several test targets share.
    .target(
      name: "ChannelSuite", dependencies: ["AccessoryCore", "CLinux"], path: "Tests/Support/ChannelSuite",
      swiftSettings: settings
    ),

    // The same suite on USB and Bluetooth, for a guest of the kernel lane.
    .executableTarget(
      name: "ChannelsOnHardware",
      dependencies: ["ChannelSuite", "AccessoryBluetooth", "AccessoryUSB", "AccessoryTransports", "AccessoryCore"],
      path: "Tests/Support/ChannelsOnHardware", swiftSettings: settings),

    .target(
      name: "FuzzTargets",
      dependencies: [
        "AccessoryControl", "AccessoryProfiles", "AccessoryCaptures", "AccessoryTransports", "AccessoryCore", "IAP2",
        "PropertyLists",
      ],
      path: "Tests/Support/FuzzTargets",
      swiftSettings: settings),
    .target(name: "TestSupport", path: "Tests/Support/TestSupport", swiftSettings: settings),
    // Two processes for minutes and hours, and what becomes of them: Scripts/soak.
    .executableTarget(
      name: "RealTimeSoak", dependencies: ["AccessoryCore", "TestSupport"], path: "Tests/Support/RealTimeSoak",
      swiftSettings: settings),
    tests("RealTimeSoakTests", ["RealTimeSoak", "easim", "TestSupport"]),
    tests(
      "SeededWorldsTests",
      [
        "AccessorySoak", "AccessoryWorlds", "AccessoryHardware", "AccessoryHost", "AccessorySimulator",
        "AccessoryCables", "AccessorySessions", "AccessoryProfiles", "AccessoryTransports", "Certificates",
        "AccessoryCore", "IAP2", "TestSupport",
      ]),

    // The program as a user runs it; declared, so that it is built first.
    tests(
      "EasimTests",
      [
        "easim", "EADemoClient", "AccessoryControl", "AccessoryHost", "AccessoryTransports", "AccessoryCore", "CLinux",
        "IAP2", "TestSupport",
      ]),

    // What users read when something is wrong, held against committed texts.
    tests(
      "ErrorTextTests",
      [
        "easim", "AccessoryLoad", "AccessorySoak", "AccessoryWorlds", "AccessoryCore", "AccessoryProfiles",
        "AccessoryTransports", "IAP2", "TestSupport",
      ],
      exclude: ["Documents", "Golden"]),

    tests(
      "AccessoryCapturesTests", ["AccessoryCaptures", "AccessoryTransports", "AccessoryCore", "IAP2", "TestSupport"]),
    tests("AccessoryCoreTests", ["AccessoryCore", "TestSupport"]),
    tests("FuzzReplayTests", ["FuzzTargets"]),
    tests("WireBasicsTests", ["WireBasics"]),
    tests("IAP2Tests", ["IAP2"]),
    tests(
      "AccessoryProfilesTests",
      ["AccessoryProfiles", "AccessoryCore", "AccessorySoak", "AccessoryWorlds", "IAP2", "TestSupport"]),
    tests(
      "AccessoryTransportsTests",
      ["AccessoryCore", "AccessoryTransports", "ChannelSuite", "CLinux", "IAP2", "TestSupport"]),
    tests(
      "AccessoryUSBTests", ["AccessoryUSB", "AccessoryTransports", "AccessoryCore", "ChannelSuite", "TestSupport"]),
    tests(
      "AccessoryBluetoothTests",
      [
        "AccessoryHardware", "AccessoryBluetooth", "AccessoryHost", "AccessorySimulator", "AccessoryCables",
        "AccessorySessions", "AccessoryProfiles", "AccessoryTransports", "Certificates", "AccessoryCore", "CSystemd",
        "TestSupport", "easim",
      ]),
    tests("CertificatesTests", ["Certificates", "AccessoryCore", "CCrypto", "CLinux"]),
    tests(
      "AccessoryCablesTests",
      [
        "AccessoryHardware", "AccessoryHost", "AccessorySimulator", "AccessoryCables", "AccessorySessions",
        "AccessoryProfiles", "AccessoryTransports", "Certificates", "AccessoryCore", "TestSupport",
      ]),
    tests(
      "AccessoryHostTests",
      [
        "AccessoryWorlds", "AccessoryHost", "AccessorySimulator", "AccessorySessions", "AccessoryProfiles",
        "AccessoryTransports", "AccessoryCore", "IAP2", "TestSupport",
      ]),
    tests(
      "AccessorySimulatorTests",
      [
        "AccessorySimulator", "AccessoryWorlds", "AccessoryHost", "AccessorySessions", "AccessoryProfiles",
        "AccessoryTransports", "AccessoryCore", "IAP2", "TestSupport",
      ]),
    tests(
      "AccessoryWorldsTests",
      [
        "AccessoryWorlds", "AccessorySimulator", "AccessoryHost", "AccessoryCables", "AccessoryProfiles",
        "AccessorySessions", "AccessoryTransports", "Certificates", "AccessoryCore", "IAP2", "TestSupport",
      ]),
    tests(
      "ExternalAccessoryTests",
      [
        "AccessoryCore", "AccessoryHost", "AccessoryProfiles", "AccessorySessions", "AccessorySimulator",
        "AccessoryWorlds", "CLinux", "EADemoClient", "ExternalAccessory", "ExternalAccessoryAppStandIns",
        "ExternalAccessoryAsync",
        "ExternalAccessorySimulation", "IAP2", "PropertyLists", "TestSupport", "easim",
      ]),
    tests(
      "AccessoryReplayTests",
      [
        "AccessoryReplay", "AccessoryWorlds", "AccessorySimulator", "AccessoryHost", "AccessoryCables",
        "AccessorySessions", "AccessoryProfiles", "AccessoryCaptures", "AccessoryTransports", "AccessoryCore", "IAP2",
        "TestSupport",
      ]),
    tests(
      "AccessoryCheckTests",
      [
        "AccessoryCheck", "AccessorySimulator", "AccessoryCables", "AccessorySessions", "AccessoryProfiles",
        "AccessoryTransports", "Certificates", "AccessoryCore", "IAP2", "TestSupport",
      ]),
    tests(
      "AccessoryControlTests",
      [
        "AccessoryControl", "AccessoryTransports", "AccessoryCore", "TestSupport",
      ]),
    tests(
      "AccessoryLoadTests",
      [
        "AccessoryLoad", "AccessoryWorlds", "AccessorySimulator", "AccessoryHost", "AccessorySessions",
        "AccessoryProfiles", "AccessoryTransports", "AccessoryCore", "IAP2", "TestSupport",
      ]),
  ],
  swiftLanguageModes: [.v6]
)

// One test target at a time builds in a fraction of the time: EASIM_TESTS=IAP2Tests swift test
if let wanted = Context.environment["EASIM_TESTS"] {
  package.targets.removeAll { $0.type == .test && $0.name != wanted }
}
