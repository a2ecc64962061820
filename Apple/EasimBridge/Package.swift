// swift-tools-version:5.3
// This package has never been built on an Apple machine; see README.md.
import PackageDescription

let debug: [CSetting] = [.define("DEBUG", to: "1", .when(configuration: .debug))]

let package = Package(
  name: "EasimBridge",
  platforms: [.iOS(.v12), .macOS(.v10_13)],
  products: [
    .library(name: "EasimBridge", targets: ["EasimBridge"]),
    .library(name: "EasimBridgeDynamic", type: .dynamic, targets: ["EasimBridge"]),
    .library(name: "EasimBridgeTesting", targets: ["EasimBridgeTesting"]),
  ],
  targets: [
    .target(
      name: "EasimBridge", cSettings: debug,
      linkerSettings: [.linkedFramework("ExternalAccessory"), .linkedFramework("CoreFoundation")]),
    .target(
      name: "EasimBridgeTesting", dependencies: ["EasimBridge"],
      cSettings: debug + [.headerSearchPath("../EasimBridge")], linkerSettings: [.linkedFramework("XCTest")]),
  ]
)
