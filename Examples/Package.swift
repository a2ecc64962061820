// swift-tools-version: 6.2
// Programs that use easim from outside, as an app's package does. They are compiled in each language mode.
import PackageDescription

func easim(_ products: String...) -> [Target.Dependency] {
  products.map { .product(name: $0, package: "easim") }
}

/// Returns a target with the clients in one folder, which contains links to the sources, compiled in one language mode.
func clients(_ name: String, _ settings: SwiftSetting...) -> Target {
  .executableTarget(
    name: "Clients\(name)", dependencies: easim("ExternalAccessory"), path: "Clients/\(name)", swiftSettings: settings)
}

let package = Package(
  name: "Examples",
  dependencies: [.package(name: "easim", path: "..")],
  targets: [
    .executableTarget(
      name: "Listings", dependencies: easim("ExternalAccessory"), path: "Listings",
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .executableTarget(
      name: "Guide", dependencies: easim("ExternalAccessory", "ExternalAccessoryAppStandIns"), path: "Guide",
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .target(
      name: "Browser",
      dependencies: easim("ExternalAccessory", "ExternalAccessoryAppStandIns", "ExternalAccessoryAsync"),
      path: "Browser", swiftSettings: [.swiftLanguageMode(.v6)]),
    // These targets share files through links; they compile every name in the API in each language mode.
    .target(
      name: "SurfaceSwift5", dependencies: easim("ExternalAccessory", "ExternalAccessoryAppStandIns"),
      path: "Surface/Swift5", swiftSettings: [.swiftLanguageMode(.v5)]),
    .target(
      name: "SurfaceSwift6", dependencies: easim("ExternalAccessory", "ExternalAccessoryAppStandIns"),
      path: "Surface/Swift6", swiftSettings: [.swiftLanguageMode(.v6)]),
    .target(
      name: "SurfaceMainActor", dependencies: easim("ExternalAccessory", "ExternalAccessoryAppStandIns"),
      path: "Surface/MainActor", swiftSettings: [.swiftLanguageMode(.v6), .defaultIsolation(MainActor.self)]),
    .executableTarget(
      name: "MainActorApp", dependencies: easim("ExternalAccessory"), path: "MainActorApp",
      swiftSettings: [
        .swiftLanguageMode(.v6), .defaultIsolation(MainActor.self), .enableUpcomingFeature("InferIsolatedConformances"),
      ]),
    clients("Swift5", .swiftLanguageMode(.v5)),
    clients("Swift6", .swiftLanguageMode(.v6)),
    clients("Swift5MainActor", .swiftLanguageMode(.v5), .defaultIsolation(MainActor.self)),
    clients("Swift6MainActor", .swiftLanguageMode(.v6), .defaultIsolation(MainActor.self)),
    // Code that runs only on Apple's systems, and is only compiled here. The folder is a link to Apple/Probes.
    .target(
      name: "Probes", dependencies: easim("ExternalAccessory"), path: "Probes",
      swiftSettings: [.swiftLanguageMode(.v5)]),
    // Stands for any third-party library that checks whether there is an ExternalAccessory and does not depend on
    // easim.
    .target(name: "Bystander", path: "Bystander"),
    // A load test that uses easim's library.
    .executableTarget(
      name: "Load",
      dependencies: easim(
        "AccessoryCore", "AccessoryHost", "AccessoryLoad", "AccessoryProfiles", "AccessoryWorlds", "LinuxIO"),
      path: "Load"),
    // One end of the protocol, byte by byte.
    .executableTarget(name: "Firmware", dependencies: easim("IAP2"), path: "Firmware"),
    .testTarget(
      name: "ClientTests",
      dependencies: ["ClientsSwift5", "ClientsSwift6", "ClientsSwift5MainActor", "ClientsSwift6MainActor"]
        + easim("ExternalAccessory", "ExternalAccessorySimulation"), path: "ClientTests"),
    .testTarget(
      name: "AppTests", dependencies: easim("ExternalAccessory", "ExternalAccessorySimulation"), path: "AppTests"),
    .testTarget(
      name: "SeedTests",
      dependencies: ["Browser", "Guide", "Listings"]
        + easim(
          "ExternalAccessory", "ExternalAccessoryAppStandIns", "ExternalAccessorySimulation", "ExternalAccessoryXCTest"),
      path: "SeedTests"),
  ]
)
