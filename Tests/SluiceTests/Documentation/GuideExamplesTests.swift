#if SLUICE_MACROS
    import Foundation
    import Sluice
    import SluiceServer
    import SluiceTesting
    import Synchronization
    import Testing

    @Model struct Item {
        @PrimaryKey var name: String
        var price = 0.0
        var stock = 0
    }

    /// What the guides in docs/ show, run.
    @Suite(.timeLimit(.minutes(10))) struct GuideExamplesTests {
        private let server: TestServer
        private let store: Store

        init() async throws {
            server = try TestServer()
            store = try await server.open([Item.self])
        }

        private var cheap: Results<Item> { store.objects(Item.self).where { $0.price < 10 } }

        @Test func eventsAreToldAsTheGuideSays() async throws {
            let token = try cheap.observe { change in
                for removal in change.removals { print("gone:", removal.identity, "because of", removal.reason) }
                for index in change.insertions { print("new:", change.results[index].name) }
                for index in change.modifications { print("changed:", change.results[index].name) }
                switch change.origin {
                case .initial: print("what was here")
                case .local: print("made here")
                case .remote(let remote): print("the server accepted it at", remote.acceptedAt)
                case .status: print("only the state is new:", change.state)
                }
            }
            try await store.write { try $0.insert(Item(name: "nut", price: 1)) }
            #expect(try await completeCount() == 1)
            token.stop(stopSyncing: true, purgeLocal: false)
            #expect(try cheap.count() == 1)
            stopLater(try cheap.observe { _ in })
            #expect(try cheap.count() == 1)
        }

        @Test func oneObjectIsObservedAsTheGuideSays() async throws {
            let item = Item(name: "nut", price: 1)
            let id = item.objectID
            let byValue = try store.observe(item) { change in print(change.results.count) }
            let byKey = try store.results(Item.self, key: "nut").observe { change in print(change.results.count) }
            let byID = try store.results(Record.self, id: id).observe { change in
                if let removal = change.removals.first { print("gone:", removal.reason) }
                if let record = change.results.first { print(record.classSchema.name, record.identity) }
            }
            let records = try EventRecorder(store.results(Record.self, id: id))
            let items = try EventRecorder(store.results(Item.self, id: id))
            try await records.complete()
            try await store.write { try $0.insert(item) }
            #expect(try await records.event { !$0.insertions.isEmpty }.results.first?.objectID == id)
            #expect(try await items.event { !$0.insertions.isEmpty }.results.map(\.name) == ["nut"])
            try await store.write { try $0.delete(item) }
            #expect(try await records.event { !$0.removals.isEmpty }.removals.first?.reason == .deleted)
            for token in [byValue, byKey, byID] { token.stop() }
        }

        private func stopLater(_ token: NotificationToken) {
            token.stop(syncingFor: .seconds(600))
        }

        private func completeCount() async throws -> Int {
            for try await change in cheap.changes {
                if change.state == .complete { return change.results.count }
            }
            return -1
        }

        @Test func progressReceiptsTransfersAndMessagesAreAsTheGuideSays() async throws {
            final class Bar: Sendable {
                let estimate = Mutex(0.0)
                func set(_ estimate: Double) { self.estimate.withLock { $0 = estimate } }
            }
            let bar = Bar()
            let session = try #require(store.session)
            try await store.connected()
            let other = try await server.open([Item.self])
            try await other.connected()
            let order = Item(name: "nut", price: 1)
            let receipt = try await store.write { transaction in
                try transaction.insert(order)
                return transaction.receipt
            }
            try await store.uploaded(receipt, timeout: .seconds(10))
            do {
                for await progress in session.progress(of: .upload, .outstanding) { bar.set(progress.estimate) }
                // here everything that was written before is on the server
                let token = session.observeProgress(of: .download) { progress in bar.set(progress.estimate) }
                let items = try await store.objects(Item.self).synced(progress: { bar.set($0.estimate) })
                #expect(items.count == 1 && bar.estimate.withLock { $0 } == 1)
                token.stop()
            }
            let (told, continuation) = AsyncStream<ObjectTransfer>.makeStream()
            let watching = session.observeTransfers { continuation.yield($0) }
            do {
                let token = session.observeTransfers { transfer in
                    for object in transfer.objects { print(object.identity, object.error?.message ?? "is there") }
                }
                try await store.write { try $0.increment(order, \.stock, by: 1) }
                for await transfer in told where transfer.direction == .upload {
                    #expect(transfer.objects.count == 1)
                    break
                }
                token.stop()
            }
            watching.stop()
            let (heard, messages) = AsyncStream<SessionMessage>.makeStream()
            let listening = try #require(other.session).observeMessages(to: "room/7") { messages.yield($0) }
            do {
                let token = session.observeMessages(to: "room/7") { print($0.userID ?? "someone", $0.text) }
                try await session.send("is typing", to: "room/7")  // returns to how many stores it was passed
                while try await session.send("is typing", to: "room/7") == 0 {
                    server.clock.advance(by: .milliseconds(100))
                }
                token.stop()
            }
            for await message in heard {
                #expect(message.text == "is typing")
                break
            }
            listening.stop()
            await other.close()
        }

        @Test func aSessionIsSeenAndSteeredAsTheGuideSays() async throws {
            let item = Item(name: "nut", price: 1)
            if let session = store.session {
                print(session.status)  // "idle", or "offline: …" with the reason
                let token = session.observe { change in print("sync:", change) }
                try session.pause()
                try await store.write { try $0.insert(item) }  // is stored here
                try session.resume()  // and is uploaded now
                token.stop()
            }
            let session = try #require(store.session)
            for await change in session.changes where change.new.connection == .connected { break }
            try await store.uploaded()
            #expect(session.connection == .connected)
            let listening = Task {
                for await change in session.changes {
                    if let login = change.new.login, login != change.old?.login { print("logged in:", login) }
                    if change.new.state == .needsCredentials { print("not let in:", change.new.problem ?? "") }
                    if change.new.activity == .idle, change.old?.activity != .idle { print("caught up") }
                }
            }
            await store.close()
            await listening.value
        }

        @Test func listenersAreSetBeforeAnythingHappensAsTheGuideSays() async throws {
            var sync = SyncConfiguration(url: "ws://nobody/test")
            sync.loopback = LoopbackNetwork()
            var configuration = StoreConfiguration(models: [Item.self], sync: sync)
            configuration.startsSyncing = false
            let store = try await Store.open(configuration)
            let token = store.session?.observe { change in print("sync:", change) }
            try store.session?.start()
            let session = try #require(store.session)
            for await change in session.changes where change.new.activity == .offline { break }
            #expect(session.state == .active && session.status.problem != nil)
            token?.stop()
            await store.close()
        }

        @Test func theServerIsAskedWhenTheGuideSays() async throws {
            let other = try await server.open([Item.self])
            try await other.write { try $0.insert(Item(name: "nut", price: 1)) }
            try await other.uploaded()
            let (counts, continuation) = AsyncStream<Int>.makeStream()
            let told = try cheap.cached().observe { continuation.yield($0.results.count) }
            try await store.connected()
            try await server.settled()
            #expect(try cheap.count() == 0)
            do {
                let cheap = store.objects(Item.self).where { $0.price < 10 }
                let token = try cheap.cached().observe { change in print(change.results.count) }
                _ = try await cheap.synced(timeout: .seconds(30))  // brings what is new, which the handler is told
                token.stop()
            }
            for await count in counts where count == 1 { break }
            told.stop()
        }

        @Test func queriesInAWriteAreAsTheGuideSays() async throws {
            try await store.write { transaction in
                for number in 0..<102 { try transaction.insert(Item(name: "old\(number)", price: 0.5, stock: 1)) }
                try transaction.insert(Item(name: "rare", price: 10, stock: 0))
                try transaction.insert(Item(name: "sold", price: 10, stock: -2))
            }
            try await store.write { transaction in
                let old = transaction.objects(Item.self).where { $0.price < 1 }.sorted(by: \.price)
                if try old.count() > 100 { try transaction.delete(all: old.limit(100)) }
                try transaction.update(all: transaction.objects(Item.self).where { $0.stock == 0 }) { $0.price *= 0.9 }
                try transaction.update(all: transaction.records("Item WHERE stock < 0"), set: ["stock": .int(0)])
            }
            #expect(try store.objects(Item.self).where { $0.price < 1 }.count() == 2)
            #expect(
                try store.objects(Item.self).where { $0.stock == 0 }.sorted(by: \.name).fetch().map(\.price) == [9, 10])
        }

        @Test func whatIsNotSentYetIsToldAsTheGuideSays() async throws {
            let item = Item(name: "nut", price: 1)
            server.cut(store)
            try await store.write { try $0.insert(item) }
            #expect(try store.outgoingCount() == 1 && store.pendingObjectIDs() == [item.objectID])
            server.restore(store)
            print(try store.outgoingCount(), "transactions are not acknowledged")
            print(try store.isPending(item), try store.pendingObjectIDs().count)
            for try await change in cheap.reportingPendingWrites().changes {
                let pending = (0..<change.results.count).filter { change.results.hasPendingWrites(at: $0) }
                print("not confirmed yet:", pending)
                if pending.isEmpty { break }
            }
            try await store.uploaded()
            #expect(try !store.isPending(item))
        }

        @Test func copiesAreWrittenAsTheGuideSays() async throws {
            let folder = FileManager.default.temporaryDirectory.path + "/sluice-guide-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try await store.write { try $0.insert(Item(name: "nut", price: 1)) }
            try await store.uploaded()
            try await store.writeCopy(to: folder + "/archive.sluice")
            try await store.writeCopy(to: folder + "/seed.sluice", as: .synced)
            print(try store.size(), "bytes")
            let archive = try await Store.open(
                StoreConfiguration(path: folder + "/archive.sluice", models: [Item.self]))
            #expect(try archive.objects(Item.self).count() == 1)
            await archive.close()
        }

        @Test func resetsAndLimitsAreConfiguredAsTheGuideSays() async throws {
            let other = try await server.open([Item.self]) { configuration in
                configuration.clientReset = ClientResetPolicy(
                    .recoverUnsynced, keepsBackup: true,
                    before: { reset in print(reset, reset.backupPath ?? "") },
                    after: { _ in print("caught up") })
                configuration.cacheLimits = CacheLimits(byteCountMax: 50 << 20, ageMax: .seconds(30 * 86_400))
            }
            #expect(try await other.objects(Item.self).synced().isEmpty)
        }

        @Test func offlineWritesAreUploadedAsTheGuideSays() async throws {
            let item = Item(name: "nut", price: 1, stock: 9)
            try await store.write { try $0.insert(item) }
            let rejections = store.onWriteRejected { rejection in
                print("rejected:", rejection.object.map(String.init(describing:)) ?? "a transaction", rejection.reason)
            }
            try await store.write { transaction in
                try transaction.update(item) { $0.price = 12.5 }
                try transaction.increment(item, \.stock, by: -1)
            }
            try await store.uploaded(timeout: .seconds(30))
            let other = try await server.open([Item.self])
            let items = try await other.objects(Item.self).synced()
            #expect(items.map(\.price) == [12.5] && items.map(\.stock) == [8])
            _ = rejections
        }

        @Test func batchJobsReadAndWriteAsTheGuideSays() async throws {
            let items = (0..<2_500).map { Item(name: "item \($0)", price: Double($0)) }
            for batch in stride(from: 0, to: items.count, by: 1_000) {
                let part = items[batch..<min(batch + 1_000, items.count)]
                try await store.write { transaction in
                    for item in part { try transaction.upsert(item) }
                }
            }
            try await store.uploaded(timeout: .seconds(60))
            let dear = try await store.records("Item WHERE price > 60 SORT(price DESC) LIMIT(20)")
                .synced(timeout: .seconds(30))
            for item in dear { print(item) }
            #expect(dear.count == 20)
        }

        @Test func aServerRunsInAProgramAsTheGuideSays() async throws {
            let folder = FileManager.default.temporaryDirectory.path + "/sluice-guide-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: folder) }
            var configuration = ServerConfiguration(dataFolder: folder, port: 0, isDevelopment: true)
            configuration.log = LogSink(level: .warning) { line in print(line.message, line.metadata) }
            let server = try SyncServer(configuration)
            let port = try server.start()
            let store = try await Store.open(
                StoreConfiguration(models: [Item.self], sync: SyncConfiguration(url: "ws://127.0.0.1:\(port)/shop")))
            try await store.connected(timeout: .seconds(30))
            await store.close()
            await server.stop()
        }

        @Test func backupsAreAskedForAsTheGuideSays() {
            var configuration = ServerConfiguration(dataFolder: "/data")
            configuration.backups = ScheduledBackups(folder: "/backup", interval: .seconds(6 * 3_600), keptCount: 28)
            #expect(configuration.backups == ScheduledBackups(folder: "/backup"))
        }

        /// Compiled only: it needs a server with sockets.
        private func openReadOnly(_ url: String) async throws -> Store {
            var sync = SyncConfiguration(url: url)
            sync.access = .readOnly
            let store = try await Store.open(StoreConfiguration(models: [Item.self], sync: sync))
            return store
        }
    }
#endif
