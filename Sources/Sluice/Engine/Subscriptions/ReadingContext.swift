internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// Keeps in mind in which context the user reads, as the server calls it, and what is hidden there.
///
/// A membership that was right in another context must not be resumed by its version: the log of the server does not
/// tell that the user may read something else. The client then lists its members, or begins anew where the properties
/// are others.
struct ReadingContext {
    private static let name = "context"

    private let storage: SQLiteClientStorage

    init(_ storage: SQLiteClientStorage) { self.storage = storage }

    /// Whether the server has named a context. What cannot be read counts as one.
    var isKnown: Bool {
        do { return try storage.metadata(Self.name) != nil } catch { return true }
    }

    /// The properties that are hidden from the user, by the server's positions.
    var hidden: [Int: PropertySet] {
        get throws {
            guard let bytes = try storage.metadata(Self.name), let known = try? StoredContext(wireBytes: bytes) else {
                return [:]
            }
            return Dictionary(known.hidden.map { ($0.classIndex, $0.properties) }) { $0.union($1) }
        }
    }

    /// The properties that are hidden from the user, by the store's positions. What the store does not know is left out:
    /// it has no values of it. A primary key is never hidden.
    func hidden(by map: SchemaMap) throws -> [Int: PropertySet] {
        var result: [Int: PropertySet] = [:]
        for (serverClass, properties) in try hidden {
            guard let classIndex = map.classIndex(fromServer: serverClass) else { continue }
            let known = properties.lazy.compactMap { map.properties(fromServer: [$0], ofClass: serverClass)?.first }
            var own = PropertySet(known)
            if let primaryKey = storage.schema[classIndex].primaryKeyIndex { own.remove(primaryKey) }
            if !own.isEmpty { result[classIndex, default: []].formUnion(own) }
        }
        return result
    }

    /// Takes in the context of a session that opens. Within a transaction.
    ///
    /// - Parameters:
    ///   - context: nil if the server has no rules.
    ///   - values: takes hidden values out of the store.
    func begin(
        _ context: ServerMessage.Context?, _ active: ActiveSubscriptions, _ values: HiddenValues?,
        _ transaction: StoreTransaction
    ) throws {
        guard let change = try change(to: context) else { return }
        for subscription in active.values {
            let effect = subscription.contextReplaced(isOfFields: change.isOfFields)
            guard change.isOfFields else { continue }
            try subscription.carryOut(effect, in: storage, transaction)
            // What the server has said is forgotten, figures too.
            transaction.noteRebuild(subscription.record.id)
        }
        try expire(except: [], change)
        if change.isOfFields { try values?.remove() }
    }

    /// Takes in a context that the server has brought the complete subscriptions to. Within a transaction.
    ///
    /// - Returns: whether the user may read other properties than before.
    func adopt(
        _ context: ServerMessage.Context, _ active: ActiveSubscriptions, _ values: HiddenValues
    ) throws -> Bool {
        guard let change = try change(to: context) else { return false }
        var current: Set<UInt64> = []
        for subscription in active.values {
            if subscription.phase == .complete {
                current.insert(subscription.record.id)
                continue
            }
            // The server may have the request already, and answer it in the new context from what was right in the old
            // one. Whoever lists members lists what there is.
            subscription.contextChanged(isOfFields: change.isOfFields)
            try storage.updateSubscription(subscription.record)
        }
        try expire(except: current, change)
        if change.isOfFields { try values.remove() }
        return change.isOfFields
    }

    private struct Difference {
        /// Whether the user may read other properties.
        let isOfFields: Bool
    }

    private func change(to context: ServerMessage.Context?) throws -> Difference? {
        let bytes = context.map {
            StoredContext(context: $0.context, fields: $0.fields, hidden: $0.hidden).wireBytes()
        }
        let known = try storage.metadata(Self.name)
        guard bytes != known else { return nil }
        try storage.setMetadata(Self.name, bytes)
        return Difference(isOfFields: bytes.map { Array($0.dropFirst(16)) } != known.map { Array($0.dropFirst(16)) })
    }

    private func expire(except current: Set<UInt64>, _ change: Difference) throws {
        try storage.noteHoles(except: current)
        guard change.isOfFields else { return }
        for var record in storage.dormantSubscriptions {
            record.version = 0
            try storage.updateSubscription(record)
        }
    }
}

/// What a store keeps of the context.
private struct StoredContext: WireCodable {
    var context: ObjectID
    var fields: ObjectID
    var hidden: [ServerMessage.HiddenProperties]

    init(context: ObjectID, fields: ObjectID, hidden: [ServerMessage.HiddenProperties]) {
        self.context = context
        self.fields = fields
        self.hidden = hidden
    }

    func encode(into writer: inout ByteWriter) {
        context.encode(into: &writer)
        fields.encode(into: &writer)
        writer.array(hidden) { $1.encode(into: &$0) }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        context = try ObjectID(from: &reader)
        fields = try ObjectID(from: &reader)
        hidden = try reader.array(minimumSize: 2) { reader throws(WireError) in
            try ServerMessage.HiddenProperties(from: &reader)
        }
    }
}
