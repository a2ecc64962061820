// swift-tools-version: 6.2
// Each library has a floor number; Scripts/check-house checks that libraries depend only on lower floors.
import PackageDescription

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]

/// For targets that call C without importing it. An imported C module would be needed by every target that can see
/// ExternalAccessory, even by one that only tests `#if canImport(ExternalAccessory)` and does not depend on easim.
let callingC = settings + [.enableExperimentalFeature("Extern")]

/// Creates dependencies from names that are separated by spaces.
func targets(_ names: String) -> [Target.Dependency] {
  names.split(separator: " ").map { .init(stringLiteral: "\($0)") }
}

/// Creates a library target with its dependencies. `floor` is read by Scripts/check-house, not by SwiftPM.
func library(
  _ name: String, floor: Int, _ dependencies: String = "", exclude: [String] = [], swift: [SwiftSetting] = settings,
  linker: [LinkerSetting] = []
) -> Target {
  .target(
    name: name, dependencies: targets(dependencies), exclude: exclude, swiftSettings: swift, linkerSettings: linker)
}

/// Creates a target with code that several test targets share.
func support(_ name: String, _ dependencies: String = "") -> Target {
  .target(
    name: name, dependencies: targets(dependencies), path: "Tests/Support/\(name)", swiftSettings: settings)
}

func program(_ name: String, _ dependencies: String, path: String? = nil) -> Target {
  .executableTarget(name: name, dependencies: targets(dependencies), path: path, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: String, exclude: [String] = []) -> Target {
  .testTarget(name: name, dependencies: targets(dependencies), exclude: exclude, swiftSettings: settings)
}

/// The commit and its date, for `easim --version`; scripts pass them to release builds in EASIM_COMMIT and EASIM_DATE.
let origin: [CSetting] = ["EASIM_COMMIT", "EASIM_DATE"].compactMap { name in
  guard let value = Context.environment[name], !value.isEmpty,
    value.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "-" })
  else { return nil }
  return .define(name, to: "\"\(value)\"")
}

let package = Package(
  name: "easim",
  // docs/dev/public-api.md describes what each product promises.
  products: [
    .executable(name: "easim", targets: ["easim"]),
    .library(name: "ExternalAccessoryHardware", targets: ["AccessoryHardware"]),
  ]
    + [
      "ExternalAccessory", "ExternalAccessoryAppStandIns", "ExternalAccessoryAsync", "ExternalAccessorySimulation",
      "ExternalAccessoryXCTest", "IAP2", "AccessoryProfiles", "AccessoryLoad", "AccessoryWorlds", "AccessoryHost",
      "AccessorySimulator", "AccessorySessions", "AccessoryCables", "AccessoryCaptures", "AccessoryReplay", "LinuxIO",
      "AccessoryFaults", "AccessoryRuns", "AccessoryCore", "AccessoryFormats", "AccessorySoak", "AccessoryUSB",
      "Certificates",
      "AccessoryControl", "CLinux",
    ].map { .library(name: $0, targets: [$0]) },
  traits: [
    .trait(
      name: "AppleSendability",
      description: "EAAccessory, EASession and EAAccessoryManager are not Sendable, as in Apple's SDK")
  ],
  targets: [
    // System calls, and the files that are embedded in programs.
    .target(name: "CLinux"),
    // Intercepts system functions that an app calls, for tests.
    .target(name: "CAppCalls"),
    // Needed only by the program: the commit that it was built from, and libmicrohttpd, which is loaded on demand.
    .target(name: "CEasim", dependencies: ["CLinux"], cSettings: origin),
    // libsystemd's sd-bus, which is loaded on demand (CLinux loads zlib in the same way).
    .target(name: "CSystemd", dependencies: ["CLinux"]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CUSB", pkgConfig: "libusb-1.0", providers: [.apt(["libusb-1.0-0-dev", "libudev-dev"])]),

    // Below all floors: basic types for everything else, and the descriptions of file formats and options.
    library("WireBasics", floor: -2),
    library("AccessoryFormats", floor: -1, "WireBasics"),

    // The iAP2 protocol; loops, channels and addresses.
    library("IAP2", floor: 0, "WireBasics"),
    library("AccessoryCore", floor: 0, "AccessoryFormats WireBasics"),

    // Common to all runs: verdicts, shards, reports and their writers.
    library("AccessoryRuns", floor: 1, "AccessoryCore AccessoryFormats"),

    // Sockets, terminals and processes; cable faults; accessory profiles; certificates.
    library("LinuxIO", floor: 1, "AccessoryCore AccessoryFormats CLinux", swift: callingC),
    library("AccessoryFaults", floor: 1, "AccessoryCore AccessoryFormats IAP2"),
    library(
      "AccessoryProfiles", floor: 1, "AccessoryCore AccessoryFormats IAP2 CLinux", swift: callingC),
    // Links the library by its own name, so that apps need no libssl-dev.
    library(
      "Certificates", floor: 1, "AccessoryCore AccessoryFormats", swift: callingC,
      linker: [.linkedLibrary(":libcrypto.so.3")]),

    // The session layer of both roles; how an address becomes a cable; USB and Bluetooth; captures.
    library("AccessorySessions", floor: 2, "AccessoryCore AccessoryFormats IAP2"),
    library(
      "AccessoryCables", floor: 2,
      "AccessoryProfiles AccessoryFaults LinuxIO AccessoryCore AccessoryFormats CLinux",
      swift: callingC),
    library(
      "AccessoryCaptures", floor: 2, "Certificates AccessoryCore AccessoryFormats IAP2 CLinux", swift: callingC),
    library("AccessoryUSB", floor: 2, "LinuxIO AccessoryCore AccessoryFormats CLinux CUSB"),
    library("AccessoryBluetooth", floor: 2, "LinuxIO AccessoryCore AccessoryFormats CLinux CSystemd"),

    // The two roles, accessory and host; the media that only programs that use hardware link.
    library(
      "AccessorySimulator", floor: 3,
      "AccessoryCables AccessorySessions AccessoryProfiles LinuxIO Certificates AccessoryCore AccessoryFormats "
        + "IAP2"),
    library(
      "AccessoryHost", floor: 3,
      "AccessoryCables AccessorySessions AccessoryProfiles Certificates AccessoryCore AccessoryFormats IAP2"),
    library(
      "AccessoryHardware", floor: 3,
      "AccessoryBluetooth AccessoryUSB AccessoryCables AccessoryProfiles LinuxIO AccessoryCore"),

    // The live page's files, the packets that it shows, and traces, which are copies of the page that contain a run.
    library(
      "AccessoryPages", floor: 3,
      "AccessoryCables AccessorySessions AccessoryProfiles AccessoryFaults Certificates AccessoryCore AccessoryFormats "
        + "IAP2", exclude: ["files"]),

    // Worlds with both ends in one process; recordings that play either end to a live peer.
    library(
      "AccessoryWorlds", floor: 4,
      "AccessorySimulator AccessoryHost AccessoryCables AccessorySessions AccessoryProfiles AccessoryFaults "
        + "LinuxIO Certificates AccessoryCore AccessoryFormats IAP2"),
    library(
      "AccessoryReplay", floor: 4,
      "AccessorySimulator AccessoryHost AccessoryCables AccessorySessions AccessoryProfiles AccessoryCaptures "
        + "Certificates AccessoryCore AccessoryFormats IAP2"),

    // Seeded worlds and their rules; Apple's API, and stand-ins for other APIs that Linux lacks.
    library(
      "AccessorySoak", floor: 5,
      "AccessoryWorlds AccessorySimulator AccessoryHost AccessoryCables AccessorySessions AccessoryProfiles "
        + "AccessoryFaults LinuxIO Certificates AccessoryRuns AccessoryCore AccessoryFormats IAP2"),
    library(
      "ExternalAccessory", floor: 5,
      "AccessoryHost AccessoryCables AccessorySessions AccessoryProfiles LinuxIO Certificates AccessoryCore "
        + "AccessoryFormats IAP2"),
    library("ExternalAccessoryAppStandIns", floor: 5),

    // The worlds that app tests control; load tests; the check of an accessory.
    library(
      "ExternalAccessorySimulation", floor: 6,
      "ExternalAccessoryAppStandIns ExternalAccessory AccessoryWorlds AccessorySimulator AccessoryHost "
        + "AccessoryPages AccessoryCables AccessorySessions AccessoryProfiles LinuxIO AccessoryCore AccessoryFormats "
        + "IAP2 CAppCalls", swift: callingC),
    library("ExternalAccessoryAsync", floor: 6, "ExternalAccessory"),
    library(
      "AccessoryLoad", floor: 6, "AccessoryHost AccessorySessions AccessoryRuns AccessoryCore AccessoryFormats IAP2"),
    library(
      "AccessoryCheck", floor: 6,
      "AccessoryCables AccessoryProfiles LinuxIO Certificates AccessoryRuns AccessoryCore AccessoryFormats IAP2"),

    // Worlds for XCTest; the control protocol; the command-line program.
    library("ExternalAccessoryXCTest", floor: 7, "ExternalAccessorySimulation"),
    library(
      "AccessoryControl", floor: 7,
      "AccessoryLoad AccessoryReplay AccessorySoak AccessoryWorlds AccessorySimulator AccessoryHost "
        + "AccessoryCables AccessorySessions AccessoryProfiles AccessoryCaptures AccessoryFaults LinuxIO "
        + "Certificates AccessoryRuns AccessoryPages AccessoryCore AccessoryFormats IAP2"),
    program(
      "easim",
      "AccessoryControl AccessoryCheck AccessoryLoad AccessoryReplay AccessorySoak AccessoryWorlds "
        + "AccessorySimulator AccessoryHost AccessoryHardware AccessoryBluetooth AccessoryUSB AccessoryCables "
        + "AccessorySessions AccessoryProfiles AccessoryCaptures AccessoryFaults LinuxIO Certificates AccessoryPages "
        + "AccessoryRuns AccessoryCore AccessoryFormats IAP2 CEasim CLinux"),
    // A separate app, as on iOS, with EADemo's session controller. Tests run the app with `easim run`.
    program("EADemoClient", "ExternalAccessory AccessoryHardware"),

    // Code that several test targets share. ChannelsOnHardware runs the channel suite on USB and Bluetooth in a guest
    // of the kernel lane, which has no Swift Testing, so it does not depend on TestSupport. RealTimeSoak runs pairs of
    // processes for minutes or hours (Scripts/soak).
    support("TestSupport", "AccessoryCore AccessoryFormats"),
    support("ChannelSuite", "AccessoryCore AccessoryFormats CLinux"),
    support(
      "FuzzTargets", "AccessoryControl AccessoryProfiles AccessoryCaptures LinuxIO AccessoryCore AccessoryFormats IAP2"),
    program(
      "ChannelsOnHardware", "AccessoryBluetooth AccessoryUSB LinuxIO AccessoryCore ChannelSuite",
      path: "Tests/Support/ChannelsOnHardware"),
    program("RealTimeSoak", "LinuxIO AccessoryCore AccessoryFormats TestSupport", path: "Tests/Support/RealTimeSoak"),

    tests(
      "CoreTests",
      "AccessoryCables AccessoryFaults LinuxIO Certificates AccessoryRuns AccessoryCore AccessoryFormats IAP2 WireBasics "
        + "CLinux CCrypto ChannelSuite TestSupport"),
    tests("IAP2Tests", "AccessoryCore AccessoryFormats IAP2 TestSupport"),
    tests(
      "HardwareTests",
      "easim AccessorySimulator AccessoryHost AccessoryHardware AccessoryBluetooth AccessoryUSB AccessoryCables "
        + "AccessorySessions AccessoryProfiles LinuxIO Certificates AccessoryCore CSystemd ChannelSuite TestSupport"),
    tests(
      "RolesTests",
      "easim AccessoryControl AccessoryReplay AccessorySoak AccessoryWorlds AccessorySimulator AccessoryHost "
        + "AccessoryHardware AccessoryCables AccessorySessions AccessoryProfiles AccessoryCaptures AccessoryFaults "
        + "LinuxIO Certificates AccessoryCore AccessoryFormats IAP2 TestSupport"),
    tests(
      "WorldsTests",
      "AccessorySoak AccessoryWorlds AccessorySimulator AccessoryHost AccessoryHardware AccessoryCables "
        + "AccessorySessions AccessoryProfiles AccessoryFaults LinuxIO Certificates AccessoryRuns AccessoryCore "
        + "AccessoryFormats IAP2 TestSupport"),
    tests(
      "ExternalAccessoryTests",
      "easim EADemoClient ExternalAccessorySimulation ExternalAccessoryAsync ExternalAccessoryAppStandIns "
        + "ExternalAccessory AccessoryWorlds AccessorySimulator AccessoryHost AccessoryProfiles AccessoryFormats "
        + "TestSupport"),
    tests(
      "ToolsTests",
      "AccessoryControl AccessoryCheck AccessoryLoad AccessorySoak AccessoryWorlds AccessorySimulator AccessoryHost "
        + "AccessoryPages AccessoryCables AccessorySessions AccessoryProfiles AccessoryFaults LinuxIO Certificates AccessoryRuns "
        + "AccessoryCore AccessoryFormats IAP2 TestSupport"),
    tests(
      "EasimTests",
      "easim EADemoClient AccessoryControl AccessoryLoad AccessorySoak AccessoryWorlds AccessoryHost "
        + "AccessoryProfiles AccessoryFaults LinuxIO AccessoryRuns AccessoryCore AccessoryFormats IAP2 CLinux "
        + "RealTimeSoak FuzzTargets TestSupport", exclude: ["ErrorTexts/Documents", "ErrorTexts/Golden"]),
  ],
  swiftLanguageModes: [.v6]
)

// Building a single test target takes a fraction of the time: EASIM_TESTS=IAP2Tests swift test
if let wanted = Context.environment["EASIM_TESTS"] {
  package.targets.removeAll { $0.type == .test && $0.name != wanted }
}
