internal import Sluice
internal import SluiceExchange

/// Fetches the objects that writes refer to. Inserting an object that exists, and changing or deleting one that does
/// not, can then fail, and ids can be replaced by keys.
struct TargetFetcher: Sendable {
    let store: Store
    let timeout: Duration

    /// Fetches all targets at once.
    ///
    /// - Returns: the class and key of each target that exists.
    func fetch(_ requests: [WriteRequest]) async throws -> [WriteTarget: Identity] {
        // With the collections of which elements are changed, which have to be here.
        var targets: [WriteTarget: Set<String>] = [:]
        func note(_ target: WriteTarget, edited: [String] = []) {
            targets[target, default: []].formUnion(edited)
        }
        for request in requests {
            switch request {
            case .insert(let record): note(.identity(record.identity))
            case .update(let target, _, _, let edits): note(target, edited: edits.map(\.property))
            case .delete(let target): note(target)
            // The server merges an upsert with the object that it has.
            case .upsert: break
            }
        }
        return try await withThrowingTaskGroup(of: (WriteTarget, Identity)?.self) { group in
            for (target, edited) in targets {
                group.addTask { try await fetch(target, edited).map { (target, $0) } }
            }
            return try await group.reduce(into: [:]) { found, next in
                if let (target, identity) = next { found[target] = identity }
            }
        }
    }

    private func fetch(_ target: WriteTarget, _ edited: Set<String>) async throws -> Identity? {
        try await results(target, edited).synced(timeout: timeout).first?.identity
    }

    private func results(_ target: WriteTarget, _ edited: Set<String>) -> Results<Record> {
        switch target {
        case .id(let id, _): store.results(Record.self, id: id)
        case .identity(let identity): results(identity, edited)
        }
    }

    private func results(_ identity: Identity, _ edited: Set<String>) -> Results<Record> {
        guard let declared = store.schema.classSchema(named: identity.className), let primaryKey = declared.primaryKey
        else { return store.results(Record.self, id: identity.objectID) }
        let condition = "\(primaryKey) == $0"
        let all = store.records(ofClass: identity.className)
        let one: Results<Record> =
            switch identity.key {
            case .int(let key): all.filter(condition, key)
            case .string(let key): all.filter(condition, key)
            case .uuid(let key): all.filter(condition, key)
            case .id(let id): store.results(Record.self, id: id)
            }
        // The objects that the target links to are not needed.
        return declared.properties.filter { $0.type.element.isLink && !edited.contains($0.name) }
            .reduce(one) { $0.excluding($1.name) }
    }
}
