// swift-tools-version: 6.2
// Performance figures, each measured next to the same work in C. Scripts/bench builds this package for release.
import PackageDescription

/// The easim modules that the figures use. They are products only for this package; docs/dev/public-api.md lists the
/// products intended for other users.
let easim = [
  "ExternalAccessory", "ExternalAccessorySimulation", "AccessoryLoad", "AccessorySoak", "AccessoryWorlds",
  "AccessorySimulator", "AccessoryHost", "AccessoryCables", "AccessorySessions", "AccessoryProfiles", "LinuxIO",
  "AccessoryFaults", "AccessoryUSB", "Certificates", "AccessoryCore", "AccessoryFormats", "IAP2", "CLinux",
]

let package = Package(
  name: "Benchmarks",
  dependencies: [.package(name: "easim", path: "..")],
  targets: [
    .target(
      name: "BenchmarkFloors", linkerSettings: [.linkedLibrary("crypto"), .linkedLibrary("usb-1.0")]),
    .executableTarget(name: "BenchmarkHello"),
    .executableTarget(
      name: "Benchmarks",
      dependencies: ["BenchmarkFloors"] + easim.map { .product(name: $0, package: "easim") },
      swiftSettings: [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]),
  ],
  swiftLanguageModes: [.v6]
)
