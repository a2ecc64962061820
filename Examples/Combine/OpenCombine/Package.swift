// swift-tools-version: 6.0
// Stands in for OpenCombine, which easim's machines cannot fetch: the same names of the package, its products and modules, and
// the same question to the compiler, but only what App uses.
import PackageDescription

let package = Package(
  name: "OpenCombine",
  products: [
    .library(name: "OpenCombine", targets: ["OpenCombine"]),
    .library(name: "OpenCombineFoundation", targets: ["OpenCombineFoundation"]),
  ],
  targets: [
    .target(name: "OpenCombine"),
    .target(name: "OpenCombineFoundation", dependencies: ["OpenCombine"]),
  ],
  swiftLanguageModes: [.v5])
