import Foundation
import Sluice
import SluiceModel
import SluiceTesting
import Synchronization
import Testing

@testable import Sluice

#if SLUICE_MACROS
    /// What the settings do of somebody who opens a store that is open already.
    @Suite(.timeLimit(.minutes(10))) struct OpenedAgainTests {
        /// A change of one setting that must agree.
        struct Difference: Sendable, CustomTestStringConvertible {
            let name: String
            let change: @Sendable (inout StoreConfiguration) -> Void

            init(_ name: String, _ change: @escaping @Sendable (inout StoreConfiguration) -> Void) {
                self.name = name
                self.change = change
            }

            var testDescription: String { name }
        }

        static let differences = [
            Difference("durability") { $0.durability = .full },
            Difference("purgesWhenTokenIsReleased") { $0.purgesWhenTokenIsReleased = true },
            Difference("purgesRevokedObjects") { $0.purgesRevokedObjects = false },
            Difference("rejectedWrites") { $0.rejectedWrites = .keepLocal },
            Difference("clientReset.mode") { $0.clientReset.mode = .manual },
            Difference("clientReset.keepsBackup") { $0.clientReset.keepsBackup = true },
            Difference("cacheLimits") { $0.cacheLimits = CacheLimits(byteCountMax: 1) },
            Difference("sync.urls") { $0.sync?.url = "ws://elsewhere/test" },
            Difference("sync.urlChoice") { $0.sync?.urlChoice = .random },
            Difference("sync.credentials") { $0.sync?.credentials = .session("very secret") },
            Difference("sync.variables") { $0.sync?.variables = ["a": .int(1)] },
            Difference("sync.access") { $0.sync?.access = .readOnly },
            Difference("sync.trust") { $0.sync?.trust = .selfSignedOnly },
            Difference("sync.headers") { $0.sync?.headers = ["a": "b"] },
            Difference("sync.networkInterface") { $0.sync?.networkInterface = "lo" },
            Difference("sync.sharesConnection") { $0.sync?.sharesConnection = false },
            Difference("sync.loopback") { $0.sync?.loopback = LoopbackNetwork() },
            Difference("sync.connectTimeout") { $0.sync?.connectTimeout = .seconds(1) },
            Difference("sync.reconnectDelay") { $0.sync?.reconnectDelay = .seconds(2) },
            Difference("sync.reconnectDelayMax") { $0.sync?.reconnectDelayMax = .seconds(2) },
            Difference("sync.attemptCountMax") { $0.sync?.attemptCountMax = 5 },
            Difference("sync.cancelsWaitsOnNonFatalErrors") { $0.sync?.cancelsWaitsOnNonFatalErrors = true },
            Difference("sync.heartbeat") { $0.sync?.heartbeat = .seconds(1) },
            Difference("sync.wishes") { $0.sync?.wishes = .noToken },
            Difference("sync.trustSetting") { $0.sync?.trustSetting = "--ca-file" },
        ]

        private static func withFile(_ body: (String) async throws -> Void) async throws {
            let path = FileManager.default.temporaryDirectory.path + "/sluice-again-\(UUID().uuidString)"
            defer {
                for end in ["", "-wal", "-shm", "-lock", "-marker"] {
                    try? FileManager.default.removeItem(atPath: path + end)
                }
            }
            try await body(path)
        }

        // MARK: The list is whole

        @Test func everySettingHasDecided() throws {
            let configuration = StoreConfiguration(sync: SyncConfiguration(url: "ws://server/test"))
            #expect(Mirror.labels(of: configuration) == Set(StoreSetting.allCases.map(\.rawValue)))
            let sync = try #require(configuration.sync)
            #expect(Mirror.labels(of: sync) == Set(SyncSetting.allCases.map(\.rawValue)))
            #expect(Mirror.labels(of: configuration.clientReset) == ["mode", "keepsBackup", "before", "after"])
        }

        @Test func eachSettingThatMustAgreeIsTried() {
            let tried = Set(Self.differences.map(\.name))
            for setting in StoreSetting.allCases where setting.effect == .mustAgree {
                switch setting {
                case .sync:
                    for part in SyncSetting.allCases { #expect(tried.contains("sync.\(part.rawValue)"), "\(part)") }
                case .clientReset: continue
                default: #expect(tried.contains(setting.rawValue), "\(setting)")
                }
            }
        }

        // MARK: Settings that must agree

        @Test(arguments: differences) func anotherSettingIsRefusedByName(_ difference: Difference) async throws {
            try await Self.withFile { path in
                let server = try TestServer()
                let store = try await server.open(lifecycleModels, path: path)
                let error = await #expect(throws: StoreError.self) {
                    _ = try await server.open(lifecycleModels, path: path, configure: difference.change)
                }
                #expect(error?.code == .invalidConfiguration)
                #expect(
                    error?.message
                        == "the store is open already with other settings: \(difference.name) differs; open it with the same, or close it first"
                )
                await store.close()
                // Who closes it first has what he asks for.
                _ = try? await server.open(lifecycleModels, path: path, configure: difference.change)
                    .close()
            }
        }

        @Test func allSettingsThatDifferAreNamedAndNoneIsShown() async throws {
            try await Self.withFile { path in
                let server = try TestServer()
                let store = try await server.open(lifecycleModels, path: path)
                let error = await #expect(throws: StoreError.self) {
                    _ = try await server.open(lifecycleModels, path: path) {
                        $0.durability = .full
                        $0.sync?.credentials = .session("very secret")
                    }
                }
                #expect(error?.message.contains("sync.credentials, durability differ") == true)
                #expect(error?.message.contains("very secret") == false)
                let alone = await #expect(throws: StoreError.self) {
                    _ = try await Store.open(StoreConfiguration(path: path, models: lifecycleModels))
                }
                #expect(alone?.message.contains("settings: sync differs") == true)
                withExtendedLifetime(store) {}
            }
        }

        @Test func durabilityDoesNotMatterInMemory() async throws {
            var configuration = StoreConfiguration(models: lifecycleModels)
            let store = try await Store.open(configuration)
            configuration.durability = .full
            #expect(try await Store.open(configuration).core === store.core)
        }

        // MARK: Settings that are added or replaced

        @Test func modelsAndClassesAreAdded() async throws {
            var configuration = StoreConfiguration(models: [Person.self, Vehicle.self, Garage.self])
            let store = try await Store.open(configuration)
            configuration.models = [Memo.self]
            configuration.schema = try Schema([try ClassSchema("Extra", properties: [Property("a", .scalar(.int))])])
            _ = try await Store.open(configuration)
            #expect(Set(store.schema.classNames) == ["Vehicle", "Person", "Garage", "Memo", "Extra"])
        }

        @Test func theLastMetricsAndLogAreTold() async throws {
            final class Seen: StoreMetrics {
                let writes = Mutex(0)
                let lines = Mutex<[LogLine]>([])
                func wrote(took duration: Duration, isStored: Bool) { writes.withLock { $0 += 1 } }
                var sink: LogSink { LogSink(level: .info) { [self] line in lines.withLock { $0.append(line) } } }
                var counts: [Int] { [writes.withLock { $0 }, lines.withLock { $0.count }] }
            }
            try await Self.withFile { path in
                let server = try TestServer()
                let (first, second) = (Seen(), Seen())
                let store = try await server.open(lifecycleModels, path: path) {
                    ($0.metrics, $0.log) = (first, first.sink)
                }
                try await store.connected()
                try await store.write { _ in }
                let before = first.counts
                #expect(before[0] == 1 && before[1] > 0)
                // Who brings none changes nothing.
                _ = try await server.open(lifecycleModels, path: path)
                let again = try await server.open(lifecycleModels, path: path) {
                    ($0.metrics, $0.log) = (second, second.sink)
                }
                try await again.write { _ in }
                server.cut(store)
                server.restore(store)
                try await store.connected()
                try await store.uploaded()
                #expect(second.counts[0] == 1 && second.counts[1] > 0)
                #expect(first.counts == before)
            }
        }

        @Test func theLastFunctionsOfAResetAndOfRevokedObjectsAreCalled() throws {
            let calls = Mutex<[String]>([])
            func configuration(_ name: String) -> StoreConfiguration {
                var configuration = StoreConfiguration()
                configuration.keepsRevokedObject = { _ in
                    calls.withLock { $0.append("\(name) keeps") }; return true
                }
                configuration.clientReset.before = { _ in calls.withLock { $0.append("\(name) before") } }
                configuration.clientReset.after = { _ in calls.withLock { $0.append("\(name) after") } }
                return configuration
            }
            let functions = StoreFunctions(configuration("first"))
            func call() -> [String] {
                let reset = ClientReset(reason: "", recoversWrites: true, unsentCount: 0, backupPath: nil, date: Date())
                functions.beforeReset?(reset)
                functions.afterReset?(reset)
                _ = functions.keepsRevokedObject(Identity(className: "A", key: .int(1)))
                return calls.withLock { calls in
                    defer { calls = [] }
                    return calls
                }
            }
            #expect(call() == ["first before", "first after", "first keeps"])
            functions.adopt(StoreConfiguration())
            #expect(call() == ["first before", "first after", "first keeps"])
            functions.adopt(configuration("second"))
            #expect(call() == ["second before", "second after", "second keeps"])
        }
    }

    extension Mirror {
        /// The names of the stored properties of a value.
        fileprivate static func labels(of subject: Any) -> Set<String> {
            Set(Mirror(reflecting: subject).children.compactMap(\.label))
        }
    }
#endif
