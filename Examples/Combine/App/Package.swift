// swift-tools-version: 6.0
// An app with Combine, structured as docs/in-your-package.md describes.
import PackageDescription

let package = Package(
  name: "App",
  dependencies: [
    .package(name: "easim", path: "../../.."),
    .package(path: "../OpenCombine"),
  ],
  targets: [
    .target(
      name: "CombineOnLinux",
      dependencies: [
        .product(name: "OpenCombine", package: "OpenCombine", condition: .when(platforms: [.linux])),
        .product(name: "OpenCombineFoundation", package: "OpenCombine", condition: .when(platforms: [.linux])),
      ]),
    .executableTarget(
      name: "App",
      dependencies: [
        "CombineOnLinux",
        .product(name: "ExternalAccessory", package: "easim", condition: .when(platforms: [.linux])),
      ], swiftSettings: [.swiftLanguageMode(.v5)]),
  ])
