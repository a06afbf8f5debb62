// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: [.init(stringLiteral: name)] + dependencies,
        swiftSettings: settings)
}

let package = Package(
    name: "Sluice",
    products: [
        .library(name: "Sluice", targets: ["Sluice"]),
        .library(name: "SluiceServer", targets: ["SluiceServer"]),
        .library(name: "SluiceTesting", targets: ["SluiceTesting"]),
        .executable(name: "sluice", targets: ["SluiceCLI"]),
    ],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CEpoll"),
        .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"])]),

        library("SluiceModel", ["COpenSSL"]),
        library("SluiceQuery", ["SluiceModel"]),
        library("SluiceViews", ["SluiceModel", "SluiceQuery"]),
        library("SluiceWire", ["SluiceModel", "CLZ4"]),
        library("SluiceTransport", ["COpenSSL", "CEpoll"]),
        library("SluiceStorage", ["SluiceModel", "SluiceQuery", "SluiceWire", "CSQLite"]),
        library(
            "Sluice",
            [
                "SluiceModel", "SluiceQuery", "SluiceViews", "SluiceWire", "SluiceTransport",
                "SluiceStorage",
            ]),
        library(
            "SluiceServer",
            [
                "SluiceModel", "SluiceQuery", "SluiceViews", "SluiceWire", "SluiceTransport",
                "SluiceStorage",
            ]),
        library("SluiceTesting", ["Sluice", "SluiceServer"]),
        .executableTarget(
            name: "SluiceCLI", dependencies: ["Sluice", "SluiceServer"], swiftSettings: settings),

        tests("SluiceModel"),
        tests("SluiceQuery", ["SluiceModel", "CSQLite"]),
        tests("SluiceViews", ["SluiceModel", "SluiceQuery"]),
        tests("SluiceWire", ["SluiceModel"]),
        tests("SluiceTransport"),
        tests("SluiceStorage", ["SluiceModel", "SluiceQuery", "SluiceWire", "CSQLite"]),
        tests("Sluice", ["SluiceModel", "SluiceTesting"]),
        tests("SluiceServer", ["SluiceModel", "SluiceTesting"]),
        tests("SluiceTesting"),
        tests("SluiceCLI"),
    ]
)
