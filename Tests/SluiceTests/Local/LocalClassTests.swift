import Foundation
import Sluice
import SluiceModel
import SluiceTesting
import SluiceWire
import Synchronization
import Testing

#if SLUICE_MACROS
    @Model struct SyncedNote {
        @PrimaryKey var id: String
        var text = ""
    }

    @Model(.local) struct LocalDraft: Equatable {
        @PrimaryKey var id: String
        var text = "draftDefault"
        var tags: [String] = []
        var folder: Link<LocalFolder>?
    }

    @Model("LocalPlace", .local) struct LocalFolder: Equatable {
        var name = ""
        @Inverse(\LocalDraft.folder) var drafts: Backlinks<LocalDraft>
    }

    /// Classes that do not sync (rows O2 to O6).
    @Suite(.timeLimit(.minutes(10))) struct LocalClassTests {
        private static let models: [any Model.Type] = [SyncedNote.self, LocalDraft.self, LocalFolder.self]

        private let server: TestServer
        private let store: Store

        init() async throws {
            server = try TestServer()
            store = try await server.open(Self.models)
        }

        private func draft(_ id: String, _ text: String = "draftText") -> LocalDraft { LocalDraft(id: id, text: text) }

        @Test func aQueryOverALocalClassIsCompleteAtOnceAndItsWritesAreLocal() async throws {
            server.cut(store)
            let recorder = try EventRecorder(store.objects(LocalDraft.self).where { $0.text == "draftText" })
            let first = try await recorder.event { $0.isInitial }
            #expect(first.state == .complete && first.freshness == .confirmed && first.results.isEmpty)
            try await store.write { try $0.insert(draft("1")) }
            let second = try await recorder.event { !$0.insertions.isEmpty }
            #expect(second.origin == .local && second.state == .complete && second.remote == nil)
            #expect(!second.results.hasPendingWrites(at: 0))
            try await store.write { try $0.update(draft("1")) { $0.text = "other" } }
            let third = try await recorder.event(from: 2) { _ in true }
            #expect(third.removals.first?.reason == .filter)
            #expect(recorder.events.count == 3)
        }

        @Test func nothingOfALocalClassIsPendingOrWaitsForAServer() async throws {
            server.cut(store)
            let folder = LocalFolder(name: "draftFolder")
            try await store.write { tx in
                try tx.insert(folder)
                try tx.insert(LocalDraft(id: "1", text: "draftText", tags: ["a"], folder: Link(folder)))
            }
            #expect(try store.pendingObjectIDs().isEmpty && store.outgoingCount() == 0)
            try await store.uploaded(timeout: .seconds(1))
            let found = try await store.objects(LocalDraft.self).where { $0.folder.name == "draftFolder" }.synced()
            #expect(found.map(\.id) == ["1"])
            #expect(try await found[0].folder?.resolve() == folder)
            #expect(try await store.results(LocalFolder.self, id: folder.objectID).synced() == [folder])
            #expect(try await store.results(of: LocalFolder(name: "not stored")).synced().isEmpty)
            #expect(try store.objects(LocalFolder.self).first()?.drafts.count() == 1)
            #expect(try store.objects(LocalFolder.self).where { $0.drafts.count == 1 }.count() == 1)
            #expect(try store.subscriptions().isEmpty)
            #expect(try await store.can([.create, .delete], LocalDraft.self))
            let error = await #expect(throws: SyncError.self) {
                try await store.objects(LocalDraft.self).explainOnServer()
            }
            #expect(error?.code == .noServer)
        }

        @Test func aStoreWithoutAServerHasLocalClassesToo() async throws {
            let alone = try await Store.open(StoreConfiguration(models: Self.models))
            try await alone.write { try $0.insert(draft("1")) }
            #expect(try await alone.objects(LocalDraft.self).synced().count == 1)
            await #expect(throws: SyncError.self) { try await alone.objects(SyncedNote.self).synced() }
        }

        @Test func oneTransactionWritesBothAndUploadsTheSyncedPart() async throws {
            server.cut(store)
            try await store.write { tx in
                try tx.insert(draft("1"))
                try tx.insert(SyncedNote(id: "n", text: "note"))
                try tx.update(draft("1")) { $0.tags = ["x", "y"] }
                try tx.append(draft("1"), \.tags, "z")
                #expect(try tx.objects(LocalDraft.self).count() == 1)
            }
            #expect(try store.pendingObjectIDs() == [SyncedNote(id: "n").objectID])
            server.restore(store)
            try await store.uploaded()
            #expect(try store.object(LocalDraft.self, key: "1")?.tags == ["x", "y", "z"])
            let other = try await server.open([SyncedNote.self])
            #expect(try await other.objects(SyncedNote.self).synced().map(\.text) == ["note"])
            #expect(other.schema.classSchema(named: "LocalDraft") == nil)
            await #expect(throws: CancellationError.self) {
                try await store.write { tx in
                    try tx.insert(draft("2"))
                    try tx.insert(SyncedNote(id: "m"))
                    throw CancellationError()
                }
            }
            #expect(try store.objects(LocalDraft.self).count() == 1 && store.objects(SyncedNote.self).count() == 1)
        }

        @Test func nothingOfALocalClassIsWaitedForOrToldAsATransfer() async throws {
            let session = try #require(store.session)
            var transfers = session.transfers.makeAsyncIterator()
            let token = try store.objects(LocalDraft.self).observe { _ in }
            server.cut(store)
            let receipt = try await store.write { tx in
                try tx.insert(draft("1"))
                return tx.receipt
            }
            try await store.uploaded(receipt)
            let told = Mutex<[Double]>([])
            _ = try await store.objects(LocalDraft.self).synced { progress in
                told.withLock { $0.append(progress.estimate) }
            }
            #expect(told.withLock { $0 } == [1])
            for await progress in session.progress(of: .download, .outstanding) { #expect(progress.isComplete) }
            server.restore(store)
            try await store.write { tx in
                try tx.insert(draft("2"))
                try tx.insert(SyncedNote(id: "n"))
            }
            try await store.uploaded()
            #expect(await transfers.next()?.objects.map(\.identity.className) == ["SyncedNote"])
            token.stop()
        }

        @Test func aRejectedTransactionKeepsItsLocalPart() async throws {
            let server = try TestServer(
                rules:
                    #"{"classes": {"SyncedNote": {"read": true, "create": "text != 'bad'"}}, "database": {"schema": true}}"#
            )
            let store = try await server.open(Self.models, user: "ada")
            try await store.connected()
            try await store.write { tx in
                try tx.insert(draft("1"))
                try tx.insert(SyncedNote(id: "n", text: "bad"))
            }
            try await store.uploaded()
            #expect(try store.objects(SyncedNote.self).count() == 0)
            #expect(try store.objects(LocalDraft.self).count() == 1)
        }

        @Test func resetsPurgesAndLimitsLeaveLocalObjectsAlone() async throws {
            let store = try await server.open(Self.models) { $0.cacheLimits = CacheLimits(ageMax: .seconds(60)) }
            try await store.write { tx in
                try tx.insert(draft("1"))
                try tx.insert(SyncedNote(id: "n"))
            }
            try await store.uploaded()
            let recorder = try EventRecorder(store.objects(LocalDraft.self))
            try await recorder.event { $0.isInitial }
            recorder.token.stop()
            #expect(try store.objects(LocalDraft.self).count() == 1)
            let staying = try EventRecorder(store.objects(LocalDraft.self))
            try await staying.event { $0.isInitial }
            #expect(try await store.purgeUnsubscribed() == 1)
            #expect(try store.objects(SyncedNote.self).count() == 0)
            try await store.write { try $0.insert(SyncedNote(id: "m")) }
            try await store.uploaded()
            try store.session?.start(reset: true)
            try await store.connected()
            #expect(try store.objects(SyncedNote.self).count() == 0)
            server.clock.advance(by: .seconds(10_000))
            try await store.core.perform { _ in }
            #expect(try store.objects(LocalDraft.self).fetch() == [draft("1")])
            try await server.settled()
            #expect(staying.events.count == 1)
        }

        @Test func aCopyHasLocalObjectsToo() async throws {
            let path = FileManager.default.temporaryDirectory.path + "/sluice-local-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: path) }
            try await store.write { tx in
                try tx.insert(draft("1"))
                try tx.insert(SyncedNote(id: "n"))
            }
            try await store.uploaded()
            try await store.writeCopy(to: path, as: .synced)
            let copy = try await server.open(Self.models, path: path)
            #expect(try copy.objects(LocalDraft.self).count() == 1)
            #expect(copy.schema.classSchema(named: "LocalDraft")?.isLocal == true)
            await copy.close()
        }

        @Test func aStoreThatOnlyReadsWritesItsLocalClasses() async throws {
            let reader = try await server.open(Self.models) { $0.sync?.access = .readOnly }
            try await reader.write { try $0.insert(draft("1")) }
            let error = await #expect(throws: StoreError.self) {
                try await reader.write { tx in
                    try tx.insert(draft("2"))
                    try tx.insert(SyncedNote(id: "n"))
                }
            }
            #expect(error?.code == .readOnly)
            #expect(try reader.objects(LocalDraft.self).count() == 1)
        }

        @Test func whatWasWrittenBeforeThereWasAServerIsUploadedWithoutTheLocalPart() async throws {
            let path = FileManager.default.temporaryDirectory.path + "/sluice-local-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: path) }
            let alone = try await Store.open(StoreConfiguration(path: path, models: Self.models))
            try await alone.write { tx in
                try tx.insert(draft("1"))
                try tx.insert(SyncedNote(id: "n"))
            }
            await alone.close()
            let synced = try await server.open(Self.models, path: path)
            try await synced.uploaded()
            #expect(try await store.objects(SyncedNote.self).synced().map(\.id) == ["n"])
            #expect(try synced.objects(LocalDraft.self).count() == 1)
            #expect(store.schema.classSchema(named: "LocalDraft")?.isLocal == true)
            await synced.close()
        }

        /// Everything that the store sends, through a session that does what sessions do.
        @Test func notOneByteOfALocalClassTravels() async throws {
            let bytes = TravelledBytes()
            let store = try await server.open(Self.models) { configuration in
                guard let connect = configuration.environment.connect else { return }
                configuration.environment.connect = { endpoint, delegate in
                    bytes.recording(try connect(endpoint, delegate))
                }
            }
            try await store.connected()
            let folder = LocalFolder(name: "draftFolder")
            let token = try store.objects(LocalDraft.self).where { $0.text == "draftText" }.observe { _ in }
            let other = try store.observe(folder) { _ in }
            try await store.write { tx in
                try tx.insert(folder)
                try tx.insert(LocalDraft(id: "draftKey", text: "draftText", folder: Link(folder)))
                try tx.insert(SyncedNote(id: "syncedKey", text: "syncedText"))
            }
            try await store.uploaded()
            _ = try await store.objects(LocalDraft.self).synced()
            _ = try await store.objects(SyncedNote.self).synced()
            try await store.write { tx in
                try tx.update(LocalDraft(id: "draftKey")) { $0.text = "draftChange" }
                try tx.delete(folder)
            }
            try await store.declare([
                try ClassSchema("LocalLater", properties: [Property("draftLater", .scalar(.int))], isLocal: true)
            ])
            server.cut(store)
            server.restore(store)
            try await store.connected()
            try store.session?.start(reset: true)
            try await store.connected()
            _ = try await store.purgeUnsubscribed()
            token.stop()
            other.stop()
            try await server.settled()
            let (sent, text) = (bytes.all, bytes.text)
            #expect(sent.contains(Array("syncedText".utf8)) && sent.contains(Array("SyncedNote".utf8)))
            #expect(text.contains("syncedText") && text.contains("SyncedNote"))
            for trace in [
                "LocalDraft", "LocalPlace", "LocalFolder", "LocalLater", "draftKey", "draftText", "draftFolder",
                "draftChange", "draftDefault", "draftLater", "tags",
            ] { #expect(!sent.contains(Array(trace.utf8)) && !text.contains(trace), "\(trace)") }
            #expect(!sent.contains(folder.objectID.wireBytes()) && !text.contains(folder.objectID.description))
        }

        // MARK: The boundary

        private func schemaError(_ classes: ClassSchema...) -> SchemaError? {
            do throws(SchemaError) {
                _ = try Schema(classes)
                return nil
            } catch { return error }
        }

        @Test func aLinkAcrossTheBoundaryIsRefusedWithAClearError() throws {
            let synced = try ClassSchema("Owner", properties: [Property("name", .scalar(.string))])
            let local = try ClassSchema("Secret", properties: [Property("text", .scalar(.string))], isLocal: true)
            let out = try ClassSchema("Diary", properties: [Property("owner", .link("Owner"))], isLocal: true)
            let into = try ClassSchema("Page", properties: [Property("secrets", .links("Secret"))])
            #expect(schemaError(synced, local) == nil)
            let first = try #require(schemaError(synced, local, out))
            #expect(first.code == .localLink)
            #expect(
                first.message
                    == "Diary.owner links two sides: 'Diary' is local, and 'Owner' syncs; declare both alike, "
                    + "or keep the other object's key in a property that is no link")
            #expect(schemaError(synced, local, into)?.code == .localLink)
        }

        private struct SyncedTwin: KeyPathModel {
            static let className = "LocalDraft"
            var id = ""
            var objectMetadata = ObjectMetadata()
            static let modelDefinition = ModelDefinition(SyncedTwin.self) { $0.primaryKey("id", \.id) }
        }

        private struct LocalTwin: KeyPathModel {
            typealias Syncing = LocalClass
            static let className = "SyncedNote"
            var id = ""
            var objectMetadata = ObjectMetadata()
            static let modelDefinition = ModelDefinition(LocalTwin.self) { $0.primaryKey("id", \.id) }
        }

        @Test func aClassCannotChangeSidesAndTheErrorNamesTheWaysOut() async throws {
            let path = FileManager.default.temporaryDirectory.path + "/sluice-local-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: path) }
            let first = try await Store.open(StoreConfiguration(path: path, models: Self.models))
            await first.close()
            let toSynced = await #expect(throws: SchemaError.self) {
                _ = try await Store.open(StoreConfiguration(path: path, models: [SyncedTwin.self]))
            }
            #expect(toSynced?.code == .localChange)
            #expect(
                toSynced?.message == "LocalDraft is local in the store and syncs in the models; a class cannot change "
                    + "sides: give the new one another name, such as @Model(\"SyncedLocalDraft\"), and copy the objects, "
                    + "or remove the store's file if nothing in it is needed")
            let toLocal = await #expect(throws: SchemaError.self) {
                _ = try await Store.open(StoreConfiguration(path: path, models: [LocalTwin.self]))
            }
            #expect(toLocal?.code == .localChange)
            let again = try await Store.open(StoreConfiguration(path: path, models: Self.models))
            #expect(again.schema.classSchema(named: "LocalDraft")?.isLocal == true)
            await again.close()
        }

        @Test func aServerThatHasAClassOfTheNameIsAnError() async throws {
            let other = try await server.open([SyncedTwin.self])
            try await other.connected()
            let late = try await server.open(Self.models)
            let error = await #expect(throws: SyncError.self) { try await late.connected() }
            #expect(error?.code == .schema)
            #expect(
                error?.message == "LocalDraft is local in this store and syncs in the server; give the local class "
                    + "another name, such as @Model(\"LocalLocalDraft\", .local)")
        }

        @Test func aServersDatabaseHasNoLocalClasses() async throws {
            let error = await #expect(throws: (any Error).self) {
                _ = try await server.database(models: [LocalDraft.self, LocalFolder.self])
            }
            #expect("\(error.map { "\($0)" } ?? "")".contains("is local, and a server's database has only classes"))
        }
    }
#endif
