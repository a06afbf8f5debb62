internal import Dispatch
internal import FoundationEssentials
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

    private let entries = Mutex<[StoreConfiguration.Location: Entry]>([:])
    private let opening = DispatchQueue(label: "sluice.opening", attributes: .concurrent)

    /// Returns the core of the configuration's location: the open one, with its schema extended, or a new one. The
    /// caller holds it until ``release(_:)``.
    func core(for configuration: StoreConfiguration) async throws -> StoreCore {
        let location = configuration.location.standardized
        let schema = try configuration.wholeSchema()
        while true {
            switch claim(location) {
            case .free:
                return try await open(location, configuration, schema: schema)
            case .busy:
                await change(of: location)
            case .open(let core):
                do {
                    return try await join(core, configuration, schema: schema)
                } catch {
                    release(core)
                    // Somebody closed it at the same time: open it again.
                    guard core.isClosed else { throw error }
                }
            }
        }
    }

    private func claim(_ location: StoreConfiguration.Location) -> Claim {
        entries.withLock { entries in
            switch entries[location] {
            case nil:
                entries[location] = .busy(waiters: [])
                return .free
            case .busy: return .busy
            case .open(let core, let holderCount):
                entries[location] = .open(core, holderCount: holderCount + 1)
                return .open(core)
            }
        }
    }

    private func change(of location: StoreConfiguration.Location) async {
        await withCheckedContinuation { continuation in
            let isBusy = entries.withLock { entries in
                guard case .busy(let waiters) = entries[location] else { return false }
                entries[location] = .busy(waiters: waiters + [continuation])
                return true
            }
            if !isBusy { continuation.resume() }
        }
    }

    /// Replaces the entry of a busy location, and resumes those who wait for it.
    private func finish(_ location: StoreConfiguration.Location, _ entry: Entry?) {
        let waiters = entries.withLock { entries -> [CheckedContinuation<Void, Never>] in
            guard case .busy(let waiters) = entries[location] else { return [] }
            entries[location] = entry
            return waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Opening

    private func open(
        _ location: StoreConfiguration.Location, _ configuration: StoreConfiguration, schema: Schema
    ) async throws -> StoreCore {
        do {
            let core = try await withCheckedThrowingContinuation { continuation in
                opening.async {
                    continuation.resume(
                        with: Result {
                            let storage = try Self.openStorage(location, configuration, schema: schema)
                            return try StoreCore(storage: storage, configuration: configuration)
                        })
                }
            }
            finish(location, .open(core, holderCount: 1))
            core.start()
            return core
        } catch {
            finish(location, nil)
            throw StoreError.wrapping(error)
        }
    }

    private func join(
        _ core: StoreCore, _ configuration: StoreConfiguration, schema: Schema
    ) async throws -> StoreCore {
        guard core.configuration.sync == configuration.sync else {
            throw StoreError(
                .invalidConfiguration, "the store is open already and syncs with something else; close it first")
        }
        try await core.perform { try $0.declare(schema.classes) }
        core.addInverses(of: configuration.models)
        return core
    }

    private static func openStorage(
        _ location: StoreConfiguration.Location, _ configuration: StoreConfiguration, schema: Schema
    ) throws -> any ClientStorage {
        let storage =
            switch location {
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
    ) throws -> any ClientStorage {
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
        let location = core.configuration.location.standardized
        let isLast = entries.withLock { entries in
            guard case .open(let held, let holderCount) = entries[location], held === core else { return false }
            entries[location] = holderCount == 1 ? .busy(waiters: []) : .open(core, holderCount: holderCount - 1)
            return holderCount == 1
        }
        if isLast { core.close { [self] in finish(location, nil) } }
    }

    /// Closes a core, whoever else holds it, and waits for the calls of handlers that run.
    func close(_ core: StoreCore) async {
        let location = core.configuration.location.standardized
        let isMine = entries.withLock { entries in
            guard case .open(let held, _) = entries[location], held === core else { return false }
            entries[location] = .busy(waiters: [])
            return true
        }
        await withCheckedContinuation { continuation in core.close { continuation.resume() } }
        if isMine { finish(location, nil) }
        await core.gates.callsHaveReturned()
    }
}

extension StoreConfiguration.Location {
    /// The same location in a form that is equal for all paths to one place.
    var standardized: StoreConfiguration.Location {
        switch self {
        case .memory: self
        case .file(let path): .file(URL(filePath: path).standardizedFileURL.path())
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
