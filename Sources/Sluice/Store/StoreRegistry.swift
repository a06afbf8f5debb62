internal import FoundationEssentials
internal import SluiceModel
internal import SluiceStorage
internal import Synchronization

/// The open stores of this process, by where they live.
final class StoreRegistry: Sendable {
    static let shared = StoreRegistry()

    private struct Entry {
        let core: StoreCore
        var holderCount = 0
    }

    private let entries = Mutex<[StoreConfiguration.Location: Entry]>([:])

    /// The core of the configuration's location: the one that is open, its schema extended, or a new one.
    func core(for configuration: StoreConfiguration) throws -> StoreCore {
        let location = configuration.location.standardized
        let schema = try configuration.wholeSchema()
        return try entries.withLock { entries in
            if let entry = entries[location] {
                guard entry.core.configuration.sync == configuration.sync else {
                    throw StoreError(
                        .invalidConfiguration, "the store is open already and syncs with something else; close it first"
                    )
                }
                try entry.core.performAndWait { try $0.declare(schema.classes) }
                entry.core.addInverses(of: configuration.models)
                return entry.core
            }
            let storage = try Self.openStorage(location, configuration, schema: schema)
            let core = try StoreCore(storage: storage, configuration: configuration)
            entries[location] = Entry(core: core)
            core.start()
            return core
        }
    }

    private static func openStorage(
        _ location: StoreConfiguration.Location, _ configuration: StoreConfiguration, schema: Schema
    ) throws -> any ClientStorage {
        let storage =
            switch location {
            case .file(let path):
                try SQLiteClientStorage.open(
                    .file(path), durability: configuration.durability == .full ? .full : .process)
            case .memory: try SQLiteClientStorage.open(.memory)
            }
        try storage.begin()
        do {
            _ = try storage.merge(schema, sides: ("the store", "the models"))
            try storage.commit()
        } catch {
            storage.rollback()
            throw error
        }
        return storage
    }

    func retain(_ core: StoreCore) {
        entries.withLock { $0[core.configuration.location.standardized]?.holderCount += 1 }
    }

    /// Lets go of a core; the last to do so closes it.
    func release(_ core: StoreCore) {
        let location = core.configuration.location.standardized
        let isLast = entries.withLock { entries in
            guard let entry = entries[location], entry.core === core else { return false }
            entries[location]?.holderCount -= 1
            guard entry.holderCount == 1 else { return false }
            entries[location] = nil
            return true
        }
        if isLast { core.close() }
    }

    func forget(_ core: StoreCore) {
        entries.withLock { entries in
            let location = core.configuration.location.standardized
            if entries[location]?.core === core { entries[location] = nil }
        }
    }
}

extension StoreConfiguration.Location {
    /// The same place has the same location.
    var standardized: StoreConfiguration.Location {
        switch self {
        case .memory: self
        case .file(let path): .file(URL(filePath: path).standardizedFileURL.path())
        }
    }
}
