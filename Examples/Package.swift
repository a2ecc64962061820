// swift-tools-version: 6.2
// Programs that use easim from outside, as an app's package does: what the seeds' documents show, in each language mode.
import PackageDescription

let framework: [Target.Dependency] = [.product(name: "ExternalAccessory", package: "easim")]

let package = Package(
  name: "Examples",
  dependencies: [.package(name: "easim", path: "..")],
  targets: [
    .executableTarget(
      name: "Listings", dependencies: framework, path: "Listings", swiftSettings: [.swiftLanguageMode(.v5)]),
    .executableTarget(
      name: "Guide", dependencies: framework, path: "Guide", swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "MainActorApp", dependencies: framework, path: "MainActorApp",
      swiftSettings: [
        .swiftLanguageMode(.v6), .defaultIsolation(MainActor.self), .enableUpcomingFeature("InferIsolatedConformances"),
      ]),
    .testTarget(
      name: "AppTests",
      dependencies: framework + [.product(name: "ExternalAccessorySimulation", package: "easim")], path: "AppTests"),
  ]
)
