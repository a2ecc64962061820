// swift-tools-version: 6.0
// A stand-in for OpenCombine, which easim's machines cannot fetch. It has the same names for the package, its products
// and modules, and the same compile-time check, but contains only what App uses.
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
