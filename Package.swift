// swift-tools-version: 6.2
import CompilerPluginSupport
import Foundation
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// The folder of the toolchain's libraries, found by the library that this manifest runs with; nil if it is not found.
let toolchainLibraries: String? = {
    guard let file = FileHandle(forReadingAtPath: "/proc/self/maps"), let data = try? file.readToEnd() else {
        return nil
    }
    let manifestLibrary = "/pm/ManifestAPI/libPackageDescription.so"
    let line = String(decoding: data, as: UTF8.self).split(separator: "\n").first { $0.hasSuffix(manifestLibrary) }
    guard let line, let start = line.firstIndex(of: "/") else { return nil }
    return String(line[start...].dropLast(manifestLibrary.count))
}()

/// The path of a folder of the toolchain's libraries; nil if it lacks a file.
func existing(_ folder: String, _ file: String) -> String? {
    guard let toolchainLibraries else { return nil }
    let path = toolchainLibraries + folder
    return FileManager.default.fileExists(atPath: path + file) ? path : nil
}

/// The folder of the toolchain's own SwiftSyntax modules. Nil where they are missing: the package then builds without
/// the `@Model` macro.
let syntaxModules = existing("/host", "/SwiftCompilerPluginMessageHandling.swiftmodule")
/// Makes the program smaller by a twentieth: functions with equal code are one, and the addresses that the loader fills
/// in are packed, which the C library reads from 2.36 on.
let compactLinking: [String] = {
    guard existing("/../../bin", "/ld.lld") != nil else { return [] }
    let folding = ["-use-ld=lld", "-Xlinker", "--icf=safe"]
    #if canImport(Glibc)
        var name = [CChar](repeating: 0, count: 64)
        confstr(Int32(_CS_GNU_LIBC_VERSION), &name, name.count)
        let text = String(decoding: name.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let version = text.split { !$0.isNumber }.compactMap { Int($0) }
        guard version.lexicographicallyPrecedes([2, 36]) else {
            return folding + ["-Xlinker", "-z", "-Xlinker", "pack-relative-relocs"]
        }
    #endif
    return folding
}()
/// In a release build the program `sluice` has Swift's libraries in it, where the toolchain has them for that, so that
/// it runs on machines without a toolchain. SwiftPM's --static-swift-stdlib would do it to all programs, and compile
/// everything anew.
let standaloneLinking: [LinkerSetting] =
    existing("_static/linux", "/libFoundationEssentials.a") == nil
    ? []
    : [
        // The toolchain has static programs export all their symbols, which keeps what nobody calls.
        .unsafeFlags(
            [
                "-static-stdlib", "-l_FoundationCShims", "-l_FoundationCollections", "-Xlinker", "--gc-sections",
                "-Xlinker",
                "--no-export-dynamic",
            ] + compactLinking,
            .when(platforms: [.linux], configuration: .release))
    ]
/// Whether `Tools/fuzz` builds for the fuzzer: its driver, and nothing that runs in the compiler.
let isFuzzing = Context.environment["SLUICE_FUZZING"] != nil
let hasMacros = syntaxModules != nil && !isFuzzing
let macroSettings: [SwiftSetting] = hasMacros ? [.define("SLUICE_MACROS")] : []
let syntaxSettings: [SwiftSetting] = syntaxModules.map { [.unsafeFlags(["-I", $0])] } ?? []
let syntaxLinking: [LinkerSetting] =
    syntaxModules.map { [.unsafeFlags(["-L", $0, "-Xlinker", "-rpath", "-Xlinker", $0])] } ?? []

/// The playground is written as a user would: Swift 6 as it comes.
let playgroundSettings: [SwiftSetting] = [.swiftLanguageMode(.v6)]

func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// For what computes little: to optimise it takes longer than it runs.
let unoptimized: SwiftSetting = .unsafeFlags(["-Onone"], .when(configuration: .release))
/// Tests call what is to be fast, and are compiled anew with each change of it.
let testSettings: [SwiftSetting] = settings + [unoptimized]

func tests(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: [.init(stringLiteral: name)] + dependencies,
        swiftSettings: testSettings)
}

let package = Package(
    name: "Sluice",
    products: [
        .library(name: "Sluice", targets: ["Sluice"]),
        .library(name: "SluiceObservation", targets: ["SluiceObservation"]),
        .library(name: "SluiceServer", targets: ["SluiceServer"]),
        .library(name: "SluiceBackend", targets: ["SluiceBackend"]),
        .library(name: "SluiceTesting", targets: ["SluiceTesting"]),
        .library(name: "SluicePostgres", targets: ["SluicePostgres"]),
        .executable(name: "sluice", targets: ["SluiceCommand"]),
    ],
    traits: [
        .trait(name: "PostgreSQL", description: "Servers that share their databases by PostgreSQL; needs libpq.")
    ],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .target(name: "COpenSSLExit", dependencies: ["COpenSSL"]),
        .systemLibrary(name: "CEpoll"),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"])]),

        .systemLibrary(name: "CPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

        library("SluiceModel", ["COpenSSL", "COpenSSLExit"]),
        library("SluiceQuery", ["SluiceModel"]),
        library("SluiceViews", ["SluiceModel", "SluiceQuery"]),
        library("SluiceJSON", ["SluiceModel"]),
        library("SluiceExchange", ["SluiceJSON", "SluiceModel"]),
        // The module for web pages and the dashboard, as bytes in the program.
        .target(
            name: "SluiceWeb", dependencies: ["SluiceModel"], path: "Web", sources: ["StaticFiles.swift"],
            resources: [.embedInCode("sluice.js"), .embedInCode("dashboard")], swiftSettings: settings),
        library("SluiceRules", ["SluiceJSON", "SluiceModel", "SluiceQuery"]),
        library("SluiceWire", ["SluiceModel", "CLZ4"]),
        library("SluiceTransport", ["COpenSSL", "COpenSSLExit", "CEpoll"]),
        library(
            "SluiceStorage",
            ["SluiceJSON", "SluiceModel", "SluiceQuery", "SluiceViews", "SluiceWire", "CLZ4", "CSQLite"]),
        library("SluiceAccess", ["SluiceJSON", "SluiceModel", "SluiceStorage", "COpenSSL"]),
        .target(
            name: "Sluice",
            dependencies: [
                "SluiceModel", "SluiceQuery", "SluiceViews", "SluiceWire", "SluiceTransport",
                "SluiceStorage",
            ] + (hasMacros ? ["SluiceMacros"] : []),
            swiftSettings: settings + macroSettings),
        library("SluiceObservation", ["Sluice", "SluiceModel"]),
        library(
            "SluiceServer",
            [
                "SluiceAccess", "SluiceExchange", "SluiceJSON", "SluiceRules", "SluiceModel", "SluiceQuery",
                "SluiceViews",
                "SluiceWire", "SluiceTransport", "SluiceStorage", "SluiceWeb",
            ]),
        library(
            "SluiceBackend",
            [
                "Sluice", "SluiceServer", "SluiceModel", "SluiceQuery", "SluiceStorage", "SluiceViews", "SluiceWire",
            ]),
        library(
            "SluiceTesting",
            [
                "Sluice", "SluiceBackend", "SluiceServer", "SluiceModel", "SluiceStorage", "SluiceTransport",
                "SluiceWire",
            ]),
        // Empty without the trait.
        library(
            "SluicePostgres",
            [
                "SluiceServer", "SluiceModel", "SluiceStorage", "CLZ4",
                .target(name: "CPQ", condition: .when(traits: ["PostgreSQL"])),
            ]),
        // A library, since test targets cannot depend on executables in a package that also tests its macros.
        library(
            "SluiceCLI",
            [
                "Sluice", "SluiceServer", "SluiceAccess", "SluiceExchange", "SluiceJSON", "SluiceModel", "SluiceQuery",
                "SluiceRules", "SluiceStorage", "SluiceViews", "CMalloc",
                .target(name: "SluicePostgres", condition: .when(traits: ["PostgreSQL"])),
            ]),
        .executableTarget(
            name: "SluiceCommand", dependencies: ["SluiceCLI"], swiftSettings: settings,
            linkerSettings: standaloneLinking),

        .executableTarget(
            name: "DepartureBoard", dependencies: ["Sluice", "SluiceServer"], path: "Playground/DepartureBoard",
            resources: [.copy("Data")], swiftSettings: playgroundSettings),
        .executableTarget(
            name: "DailyReport", dependencies: ["SluiceBackend"], path: "Playground/DailyReport",
            swiftSettings: playgroundSettings),
        .executableTarget(
            name: "Mailer", dependencies: ["SluiceBackend"], path: "Playground/Mailer",
            swiftSettings: playgroundSettings),
        .executableTarget(
            name: "DelayAlerts", dependencies: ["Sluice"], path: "Playground/DelayAlerts",
            swiftSettings: playgroundSettings),
        .executableTarget(
            name: "LateFlights", dependencies: ["SluiceBackend"], path: "Playground/LateFlights",
            swiftSettings: playgroundSettings),
        .executableTarget(
            name: "SharedDocuments", dependencies: ["Sluice", "SluiceServer"], path: "Playground/SharedDocuments",
            swiftSettings: playgroundSettings),
        .executableTarget(
            name: "ThreeNodes", dependencies: ["Sluice"], path: "Playground/ThreeNodes",
            swiftSettings: playgroundSettings),
        .executableTarget(
            name: "TwoCooks", dependencies: ["Sluice", "SluiceServer"], path: "Playground/TwoCooks",
            swiftSettings: playgroundSettings),
        .executableTarget(
            name: "UsedCars", dependencies: ["Sluice", "SluiceServer"], path: "Playground/UsedCars",
            swiftSettings: playgroundSettings),

        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "Sluice", "SluiceServer", "SluiceBackend", "SluiceModel", "SluiceQuery", "SluiceViews", "SluiceWire",
                "SluiceTransport", "SluiceStorage", "SluiceRules", "SluiceAccess", "SluiceJSON", "SluiceObservation",
                "CSQLite", "CEpoll", "CMalloc", "CAllocationCounter", "TestSupport",
                .target(name: "SluicePostgres", condition: .when(traits: ["PostgreSQL"])),
            ], path: "Benchmarks", exclude: ["RESULTS.md"], swiftSettings: settings),
        // Shared by tests and benchmarks.
        .target(name: "CAllocationCounter", path: "Tests/CAllocationCounter"),

        // What several test targets need: generated values, and programs that run.
        .target(
            name: "TestSupport", dependencies: ["SluiceModel"], path: "Tests/Support", swiftSettings: settings),
        // What every store of users has to do; each kind is tried by the tests of its target.
        .target(
            name: "UserTrials", dependencies: ["SluiceAccess", "SluiceJSON", "SluiceModel", "SluiceStorage"],
            path: "Tests/UserTrials", swiftSettings: settings),
        // The whole system on one thread, from a seed, beside the oracles that judge it.
        .target(
            name: "SluiceSimulation",
            dependencies: [
                "Sluice", "SluiceServer", "SluiceBackend", "SluiceAccess", "SluiceJSON", "SluiceRules", "SluiceModel",
                "SluiceQuery", "SluiceViews", "SluiceWire", "SluiceStorage", "SluiceTesting", "TestSupport",
            ], path: "Tests/Simulation", swiftSettings: settings),
        .executableTarget(
            name: "Soak", dependencies: ["SluiceSimulation"], path: "Tests/Soak", swiftSettings: settings),
        // Kills a server and its jobs, and compares what they have derived.
        .executableTarget(
            name: "JobKills", dependencies: ["SluiceBackend", "TestSupport"], path: "Tests/JobKills",
            swiftSettings: playgroundSettings),
        // A server program of which the tests of clusters kill some.
        .executableTarget(
            name: "AloneNode",
            dependencies: [
                "Sluice", "SluiceBackend", "SluiceServer",
                .target(name: "SluicePostgres", condition: .when(traits: ["PostgreSQL"])),
            ], path: "Tests/AloneNode", swiftSettings: playgroundSettings),
        tests("SluiceModel", ["TestSupport"]),
        tests("SluiceQuery", ["SluiceModel", "SluiceStorage", "CSQLite", "CAllocationCounter", "TestSupport"]),
        tests("SluiceJSON"),
        tests("SluiceExchange", ["SluiceJSON", "SluiceModel"]),
        tests("SluiceRules", ["SluiceJSON", "SluiceModel", "SluiceQuery", "TestSupport"]),
        tests("SluiceViews", ["SluiceModel", "SluiceQuery", "CAllocationCounter", "TestSupport"]),
        tests("SluiceWire", ["SluiceModel", "CAllocationCounter", "TestSupport"]),
        tests("SluiceTransport", ["CEpoll", "SluiceModel", "TestSupport"]),
        tests(
            "SluiceStorage", ["SluiceModel", "SluiceQuery", "SluiceViews", "SluiceWire", "CSQLite", "TestSupport"]),
        .testTarget(
            name: "SluiceTests",
            dependencies: [
                "CSQLite", "Sluice", "SluiceModel", "SluiceObservation", "SluiceQuery", "SluiceServer", "SluiceStorage",
                "SluiceTesting", "SluiceTransport", "SluiceViews", "SluiceWire", "TestSupport",
            ],
            // A fiftieth of the work at which the type checker gives up: a typed clause must need less.
            swiftSettings: testSettings + macroSettings
                + [.unsafeFlags(["-Xfrontend", "-solver-scope-threshold=20000"])]),
        tests(
            "SluiceServer",
            [
                "SluiceAccess", "SluiceExchange", "SluiceJSON", "SluiceModel", "SluiceQuery", "SluiceStorage",
                "SluiceTesting", "SluiceTransport", "SluiceViews", "SluiceWeb", "SluiceWire", "TestSupport",
            ]),
        tests(
            "SluiceBackend",
            [
                "CSQLite", "Sluice", "SluiceModel", "SluiceQuery", "SluiceServer", "SluiceStorage", "SluiceTesting",
                "TestSupport",
            ]),
        tests(
            "SluiceTesting",
            [
                "CAllocationCounter", "CSQLite", "Sluice", "SluiceAccess", "SluiceExchange", "SluiceJSON",
                "SluiceModel",
                "SluiceQuery", "SluiceRules", "SluiceServer", "SluiceSimulation", "SluiceStorage", "SluiceTransport",
                "SluiceViews",
                "SluiceWire", "TestSupport",
            ]),
        tests(
            "SluiceCLI",
            [
                "Sluice", "SluiceExchange", "SluiceJSON", "SluiceModel", "SluiceQuery", "SluiceRules", "SluiceWire",
                "TestSupport",
            ]),
        tests("SluiceAccess", ["SluiceJSON", "SluiceModel", "SluiceStorage", "TestSupport", "UserTrials"]),
        // Against a real PostgreSQL, with the trait: `make test-cluster`.
        tests(
            "SluicePostgres",
            [
                "CSQLite", "Sluice", "SluiceAccess", "SluiceBackend", "SluiceModel", "SluiceServer", "SluiceStorage",
                "SluiceWire", "TestSupport", "UserTrials",
            ]),
        // What `make fuzz` feeds, and the inputs that every test run feeds again.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "SluiceModel", "SluiceQuery", "SluiceViews", "SluiceWire", "SluiceTransport", "SluiceStorage",
                "SluiceAccess", "SluiceCLI", "SluiceExchange", "SluiceJSON", "SluiceRules", "SluiceServer",
                "TestSupport",
            ], path: "Tests/Fuzz/Targets", swiftSettings: settings),
        .testTarget(
            name: "FuzzReplayTests", dependencies: ["FuzzTargets", "SluiceWire", "TestSupport"],
            path: "Tests/Fuzz/Replay",
            swiftSettings: testSettings),
        // Real processes and sockets: the built `sluice`, and clients that behave or do not.
        .testTarget(
            name: "EndToEndTests",
            dependencies: ["Sluice", "SluiceModel", "SluiceRules", "SluiceStorage", "SluiceWire", "TestSupport"],
            swiftSettings: testSettings),
    ]
)

if isFuzzing {
    package.targets.append(
        .target(
            name: "FuzzDriver", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Driver", swiftSettings: settings))
    package.products.append(.library(name: "FuzzDriver", type: .static, targets: ["FuzzDriver"]))
}

if hasMacros {
    package.targets += [
        // The plugin is a shell around a library, so that tests need not link the plugin: SwiftPM would then build every
        // test, and every library under it, a second time, for the machine that runs the compiler.
        .target(
            name: "SluiceMacroExpansion", swiftSettings: settings + syntaxSettings, linkerSettings: syntaxLinking),
        .macro(
            name: "SluiceMacros", dependencies: ["SluiceMacroExpansion"], swiftSettings: settings + syntaxSettings,
            linkerSettings: syntaxLinking),
        .testTarget(
            name: "SluiceMacroExpansionTests", dependencies: ["SluiceMacroExpansion", "SluiceModel"],
            swiftSettings: testSettings + syntaxSettings,
            linkerSettings: syntaxLinking),
        // Models in a module as Xcode and new packages make them: everything on the main actor unless it says
        // otherwise.
        .testTarget(
            name: "MainActorTests", dependencies: ["Sluice", "SluiceObservation", "SluiceTesting"],
            swiftSettings: [.swiftLanguageMode(.v6), .defaultIsolation(MainActor.self), unoptimized]),
    ]
}

// `make test` builds programs that compute little in half the time.
if Context.environment["SLUICE_TEST_BUILD"] != nil {
    let names = ["SluiceCLI", "Benchmarks", "UserTrials"]
    for target in package.targets where names.contains(target.name) || target.path?.hasPrefix("Playground/") == true {
        target.swiftSettings = (target.swiftSettings ?? []) + [unoptimized]
    }
}

// `make test-cluster` compiles its own tests and what they need: the test program would have all test targets, and a build
// of the tests builds every program.
if let wanted = Context.environment["SLUICE_TEST_TARGETS"]?.split(separator: " ").map(String.init) {
    var needed: Set<String> = []
    func need(_ name: String) {
        guard let target = package.targets.first(where: { $0.name == name }), needed.insert(name).inserted else {
            return
        }
        for dependency in target.dependencies {
            switch dependency {
            case .targetItem(let name, _), .byNameItem(let name, _): need(name)
            default: break
            }
        }
    }
    for name in wanted + ["SluiceCommand", "AloneNode"] { need(name) }
    package.products.removeAll { $0.name != "sluice" }
    package.targets.removeAll { !needed.contains($0.name) }
}
