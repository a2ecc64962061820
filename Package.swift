// swift-tools-version: 6.2
// The floors of the house are written beside each target; Tests/HouseTests checks that imports only ever go down.
import PackageDescription

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]

/// A library target of the house. `floor` is read by the floor test, not by SwiftPM.
func room(_ name: String, floor: Int, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: settings)
}

let package = Package(
  name: "easim",
  products: [],
  targets: [
    // Floor 0: the protocol, and the words everything else is written in.
    room("IAP2", floor: 0),
    room("AccessoryCore", floor: 0),
    .target(name: "CLinux"),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),

    // Floor 1: channels and loops; certificates; what an accessory is.
    room("AccessoryTransports", floor: 1, ["AccessoryCore", "CLinux"]),

    // What several test targets share.
    .target(
      name: "ChannelSuite", dependencies: ["AccessoryCore"], path: "Tests/Support/ChannelSuite", swiftSettings: settings
    ),

    tests("AccessoryCoreTests", ["AccessoryCore"]),
    tests("AccessoryTransportsTests", ["AccessoryCore", "AccessoryTransports", "ChannelSuite", "CLinux"]),
  ],
  swiftLanguageModes: [.v6]
)
