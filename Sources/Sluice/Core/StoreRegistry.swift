internal import Dispatch
internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// Holds the open stores of this process by location.
///
/// The lock protects only the table. Files are opened and closed, and stores are asked, while it is not held; meanwhile
/// the location is marked as busy, and callers that want it are suspended without blocking a thread.
final class StoreRegistry: Sendable {
    static let shared = StoreRegistry()

    private enum Entry {
        /// A core is being opened or closed here.
        case busy(waiters: [CheckedContinuation<Void, Never>])
        case open(StoreCore, holderCount: Int)
    }

    private enum Claim {
        /// The store is open, and the caller now holds it too.
        case open(StoreCore)
        /// Nothing is open here; the caller must open it.
        case free
        case busy
    }

    /// Names a location by the bytes of its path: texts may be equal and lead to different files.
    private enum Key: Hashable {
        case file([UInt8])
        case memory(String)

        init(_ location: StoreConfiguration.Location) {
            switch location {
            case .file(let path): self = .file(Array(path.utf8))
            case .memory(let name): self = .memory(name)
            }
        }
    }

    private let entries = Mutex<[Key: Entry]>([:])
    private let opening = DispatchQueue(label: "sluice.opening", attributes: .concurrent)

    /// Returns the core of the configuration's location: the open one, with its schema extended, or a new one. The
    /// caller holds it until ``release(_:)``.
    func core(for configuration: StoreConfiguration) async throws -> StoreCore {
        var configuration = configuration
        configuration.location = configuration.location.canonical
        let key = Key(configuration.location)
        let schema = try configuration.wholeSchema()
        while true {
            switch claim(key) {
            case .free:
                return try await open(key, configuration, schema: schema)
            case .busy:
                await change(of: key)
            case .open(let core):
                do {
                    try await core.join(configuration, schema: schema)
                    return core
                } catch {
                    release(core)
                    // Somebody closed it at the same time: open it again.
                    guard core.isClosed else { throw error }
                }
            }
        }
    }

    private func claim(_ key: Key) -> Claim {
        entries.withLock { entries in
            switch entries[key] {
            case nil:
                entries[key] = .busy(waiters: [])
                return .free
            case .busy: return .busy
            case .open(let core, let holderCount):
                entries[key] = .open(core, holderCount: holderCount + 1)
                return .open(core)
            }
        }
    }

    private func change(of key: Key) async {
        await withCheckedContinuation { continuation in
            let isBusy = entries.withLock { entries in
                guard case .busy(let waiters) = entries[key] else { return false }
                entries[key] = .busy(waiters: waiters + [continuation])
                return true
            }
            if !isBusy { continuation.resume() }
        }
    }

    /// Replaces the entry of a busy location, and resumes those who wait for it.
    private func finish(_ key: Key, _ entry: Entry?) {
        let waiters = entries.withLock { entries -> [CheckedContinuation<Void, Never>] in
            guard case .busy(let waiters) = entries[key] else { return [] }
            entries[key] = entry
            return waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Opening

    private func open(
        _ key: Key, _ configuration: StoreConfiguration, schema: Schema
    ) async throws -> StoreCore {
        do {
            let core = try await withCheckedThrowingContinuation { continuation in
                opening.async {
                    continuation.resume(
                        with: Result {
                            let storage = try Self.openStorage(configuration, schema: schema)
                            return try StoreCore(storage: storage, configuration: configuration)
                        })
                }
            }
            // Before others have it, who would find that it does not sync.
            core.start()
            finish(key, .open(core, holderCount: 1))
            return core
        } catch {
            finish(key, nil)
            throw StoreError.wrapping(error)
        }
    }

    private static func openStorage(
        _ configuration: StoreConfiguration, schema: Schema
    ) throws -> SQLiteClientStorage {
        let storage =
            switch configuration.location {
            case .file(let path): try openFile(path, configuration)
            case .memory: try SQLiteClientStorage.open(.memory)
            }
        if let obstacle = storage.obstacle, try storage.schema.includes(schema) {
            configuration.log?(.warning, "the store can only be read", [("reason", obstacle.message)])
            return storage
        }
        _ = try storage.transaction { try storage.merge(schema, sides: ("the store", "the models")) }
        return storage
    }

    /// Opens the file of a store.
    private static func openFile(
        _ path: String, _ configuration: StoreConfiguration
    ) throws -> SQLiteClientStorage {
        let storage = try SQLiteClientStorage.open(
            .file(path), durability: configuration.durability == .full ? .full : .process)
        if let notice = storage.openingNotice {
            configuration.log?(.warning, "the store is not as it was left", [("notice", notice)])
        }
        return storage
    }

    // MARK: Closing

    /// Gives up one hold on a core. When the last hold is given up, the core closes in the background.
    func release(_ core: StoreCore) {
        let key = Key(core.configuration.location)
        let isLast = entries.withLock { entries in
            guard case .open(let held, let holderCount) = entries[key], held === core else { return false }
            entries[key] = holderCount == 1 ? .busy(waiters: []) : .open(core, holderCount: holderCount - 1)
            return holderCount == 1
        }
        if isLast { core.close { [self] in finish(key, nil) } }
    }

    /// Closes a core, whoever else holds it, and waits for the calls of handlers that run.
    func close(_ core: StoreCore) async {
        let key = Key(core.configuration.location)
        let isMine = entries.withLock { entries in
            guard case .open(let held, _) = entries[key], held === core else { return false }
            entries[key] = .busy(waiters: [])
            return true
        }
        await withCheckedContinuation { continuation in core.close { continuation.resume() } }
        if isMine { finish(key, nil) }
        await core.gates.callsHaveReturned()
    }
}

extension StoreConfiguration.Location {
    /// The same location, as the same path for all paths to one file.
    fileprivate var canonical: StoreConfiguration.Location {
        switch self {
        case .memory: self
        case .file(let path): .file(FilePath.canonical(path))
        }
    }
}

extension Schema {
    /// Whether `other` adds nothing to this schema.
    ///
    /// - Throws: `SchemaError` when the two contradict each other.
    func includes(_ other: Schema) throws -> Bool {
        var merged = self
        return try merged.merge(other, sides: ("the store", "the models")).isEmpty
    }
}
